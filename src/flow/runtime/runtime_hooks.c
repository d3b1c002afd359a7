/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hooks called by -finstrument-functions: a fast path for the usual case, a slow one for everything else. */
#include "flow/runtime/runtime.h"

EXPORT void __cyg_profile_func_enter(void *fn, void *site);
EXPORT void __cyg_profile_func_exit(void *fn, void *site);

/* Time since the last record. A mark about lost events may have been added meanwhile, at a later time. */
static uint64_t time_passed(const struct flow_slot *t, uint64_t *now)
{
	*now = *now > t->last ? *now : t->last;
	return *now - t->last;
}

static void add_call(struct flow_slot *t, uint64_t now, uint32_t id)
{
	uint64_t passed;

	if (!slot_reserve(t, 5))
		return;
	passed = time_passed(t, &now);
	if (passed >= FLOW_LONG_TICKS) {
		(void)slot_add_other(t, now, flow_word_other(FLOW_O_TIME, 0, 0), NULL);
		t->extra++; /* a time record is not an event */
		passed = 0;
	}
	t->last = now;
	t->calls++;
	if (passed < FLOW_SHORT_TICKS && id < FLOW_SHORT_FN) {
		*t->at++ = flow_word_call(id, (uint32_t)passed);
	} else {
		t->at[0] = flow_word_call_long((uint32_t)passed);
		t->at[1] = id;
		t->extra++;
		t->at += 2;
	}
}

static void add_return(struct flow_slot *t, uint64_t now)
{
	uint64_t passed;

	if (!slot_reserve(t, 4))
		return;
	passed = time_passed(t, &now);
	if (passed >= FLOW_LONG_TICKS) {
		(void)slot_add_other(t, now, flow_word_other(FLOW_O_TIME, 0, 0), NULL);
		t->extra++;
		passed = 0;
	}
	t->last = now;
	*t->at++ = flow_word_return((uint32_t)passed);
}

static uint64_t stamp(const struct flow_slot *t, uint32_t depth)
{
	uint64_t now;

	if (depth >= t->stamp_depth)
		return t->last;
	now = now_ticks();
	return now > t->last ? now : t->last;
}

static void enter_long(struct flow_slot *t, void *fn)
{
	const struct fn_entry *entry = fn_find(fn);
	uint32_t depth = t->depth;
	uint64_t now;

	if (!entry || fn_excluded(entry))
		return;
	if (depth >= FLOW_STACK_MAX) {
		if (depth == FLOW_STACK_MAX)
			t->deep = stack_address();
		t->depth++;
		return;
	}
	if (depth < live->max_depth) {
		now = stamp(t, depth);
		if (t->frames) {
			/* Reserve first, so that the position is final. */
			uint32_t *at = slot_reserve(t, 5);

			t->frames[depth] = (struct flow_frame){at, t->last, now, flow_slot_chunk(t)->seq, 0};
		}
		add_call(t, now, fn_id(entry));
	}
	slot_stack(t)[depth] = fn;
	t->depth = depth + 1;
	t->noted = depth + 1;
}

/* Takes back a call that was too short, if nothing was recorded since. */
static bool take_back(struct flow_slot *t, uint32_t depth, uint64_t now)
{
	const struct flow_frame *frame = &t->frames[depth];
	uint32_t words;

	if (now - frame->start >= live->min_ticks || !frame->at || frame->seq != flow_slot_chunk(t)->seq ||
	    frame->at >= t->at)
		return false;
	words = (uint32_t)(t->at - frame->at);
	/* A lone call is one word or two, possibly after a time record. */
	if (words == 2 && (frame->at[0] & 3) == FLOW_TAG_CALL_LONG)
		t->extra--;
	else if (words != 1 || (frame->at[0] & 3) != FLOW_TAG_CALL)
		return false;
	t->at = frame->at;
	t->last = frame->last;
	t->calls--;
	return true;
}

static void leave_one(struct flow_slot *t)
{
	uint32_t depth = t->depth - 1;
	uint64_t now;

	if (depth < t->stamp_depth && depth < live->max_depth) {
		now = stamp(t, depth);
		if (!t->frames || t->resync || !take_back(t, depth, now))
			add_return(t, now);
		t->noted = depth;
	}
	t->depth = depth;
}

/* Calls above the returning one ended by longjmp. */
void slot_unwind(struct flow_slot *t, uint32_t depth)
{
	uint32_t recorded = min_of(t->depth, live->max_depth), kept = min_of(depth, live->max_depth);

	if (recorded > kept)
		(void)slot_add_other(t, t->last, flow_word_other(FLOW_O_UNWIND, 1, 0), &(uint32_t){recorded - kept});
	t->depth = depth;
	t->noted = depth;
}

static void exit_long(struct flow_slot *t, void *fn)
{
	const struct fn_entry *entry = fn_find(fn);
	void **stack = slot_stack(t);
	uint32_t depth = t->depth;

	if (!entry || fn_excluded(entry))
		return;
	if (depth > FLOW_STACK_MAX) {
		if (stack_address() <= t->deep) {
			t->depth--;
			return;
		}
		t->depth = depth = FLOW_STACK_MAX; /* all deeper calls are gone */
	}
	while (depth && stack[depth - 1] != fn)
		depth--;
	if (!depth)
		return; /* called before recording started */
	if (depth != t->depth)
		slot_unwind(t, depth);
	leave_one(t);
}

/* While paused, only the open calls are tracked. True when nothing else remains to be done. */
static bool track_paused(struct flow_slot *t, void *fn, bool enter)
{
	const struct fn_entry *entry = fn_home(fn);
	uint32_t depth = t->depth;

	if (!live->paused || !t->resync || entry->fn != fn)
		return false;
	if (enter && depth < FLOW_STACK_MAX)
		slot_stack(t)[depth++] = fn;
	else if (!enter && depth - 1 < FLOW_STACK_MAX && slot_stack(t)[depth - 1] == fn)
		depth--;
	else
		return false;
	t->skipped++;
	t->resync = 1;
	slot_give(t, depth);
	return true;
}

/* The slot is entered, and left. */
static void record_slow(struct flow_slot *t, void *fn, bool enter, int saved)
{
	if (enter)
		enter_long(t, fn);
	else
		exit_long(t, fn);
	slot_leave(t);
	errno = saved;
}

/* The fast path cannot continue; the slot is entered. */
static COLD void enter_slow(struct flow_slot *t, void *fn, bool enter)
{
	int saved = errno;

	if (track_paused(t, fn, enter))
		return;

	flow_slot_count(t);
	record_slow(t, fn, enter, saved);
}

static COLD void hook_long(void *fn, bool enter)
{
	struct flow_slot *t;
	int saved = errno;

	if (!live)
		return;
	t = current ? current : slot_get();
	if (!t || !slot_enter(t)) {
		errno = saved;
		return;
	}
	record_slow(t, fn, enter, saved);
}

/* Untimed returns before a timed event. Several words fit behind the limit. */
static inline uint32_t *add_returned(struct flow_slot *t, uint32_t *at, uint32_t depth)
{
	uint32_t returned = t->noted - depth;

	if (returned) {
		*at++ = FLOW_TAG_RETURN | returned << 2 | FLOW_MANY;
		t->returns++;
		t->noted = depth;
		t->at = at;
	}
	return at;
}

/*
 * Fast paths. All exceptions show in few places: an invalid depth (slot busy, no slot, or calls too deep), a slot at
 * its limit (also cleared to request attention), a function not in its home entry. Calls to other functions are tail
 * calls, so no frame is needed. Untimed calls have the fewest branches and stores; flow_slot_count derives their number
 * later.
 */
static inline void put_call(struct flow_slot *t, void *fn, uint64_t depth, uint32_t *at, uint32_t word)
{
	slot_stack(t)[depth] = fn;
	t->noted = (uint32_t)depth + 1;
	*at = word;
	t->at = at + 1;
	slot_give(t, depth + 1);
}

void __cyg_profile_func_enter(void *fn, void *site)
{
	struct flow_slot *t = hook_slot;
	const struct fn_entry *entry = fn_home(fn);
	uint64_t depth = t->state, now, passed;
	uint32_t *at;

	(void)site;
	if (likely(depth - t->stamp_depth < t->untimed)) {
		uint32_t returned;

		slot_take(t);
		at = t->at;
		if (unlikely(at >= t->limit || entry->fn != fn))
			return enter_slow(t, fn, true);
		returned = t->noted - (uint32_t)depth;
		return put_call(t, fn, depth, at, entry->word | returned << 14 | (-returned & FLOW_MANY));
	}
	if (unlikely(depth >= FLOW_STACK_MAX))
		return hook_long(fn, true);
	slot_take(t);
	at = t->at;
	if (unlikely(at >= t->limit || entry->fn != fn))
		return enter_slow(t, fn, true);
	at = add_returned(t, at, (uint32_t)depth);
	now = read_counter();
	passed = now - t->last;
	if (unlikely(passed >= FLOW_SHORT_TICKS))
		return enter_slow(t, fn, true);
	t->last = now;
	put_call(t, fn, depth, at, entry->word | (uint32_t)passed << 14);
}

void __cyg_profile_func_exit(void *fn, void *site)
{
	struct flow_slot *t = hook_slot;
	uint64_t depth = t->state - 1, now, passed;
	uint32_t *at;

	(void)site;
	/* An untimed return is counted in the next word: a single store, hence atomic. */
	if (likely(depth - t->stamp_depth < t->untimed)) {
		if (unlikely(slot_stack(t)[depth] != fn))
			return hook_long(fn, false);
		t->state = depth;
		return;
	}
	if (unlikely(depth >= FLOW_STACK_MAX))
		return hook_long(fn, false);
	slot_take(t);
	at = t->at;
	if (unlikely(at >= t->limit || slot_stack(t)[depth] != fn))
		return enter_slow(t, fn, false);
	at = add_returned(t, at, (uint32_t)depth + 1);
	now = read_counter();
	passed = now - t->last;
	if (unlikely(passed >= FLOW_LONG_TICKS))
		return enter_slow(t, fn, false);
	t->last = now;
	t->noted = (uint32_t)depth;
	t->returns++;
	*at = flow_word_return((uint32_t)passed);
	t->at = at + 1;
	slot_give(t, depth);
}
