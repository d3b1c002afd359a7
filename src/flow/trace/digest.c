/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/digest_parts.h"

/* 0: full. */
COLD uint32_t digest_find_node(struct digest *d, uint32_t prev, uint32_t child, uint32_t times)
{
	uint32_t at = digest_hash(prev, child, times), id;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t *slot = &d->slots[(at + i) & (DIGEST_SLOTS - 1)];

		if (*slot && digest_node_is(&d->nodes[*slot], prev, child, times))
			return *slot;
		if (*slot)
			continue;
		id = d->head.node_count;
		if (id >= DIGEST_NODES)
			return 0;
		/* Killed in here, a process leaves an unreferenced node at worst. */
		d->nodes[id] = (struct digest_node){.prev = prev, .child = child, .times = times};
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		d->head.node_count = id + 1;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		*slot = id;
		return id;
	}
	return 0;
}

/* --- calls --- */

static inline void enter(struct digest *d, struct digest_thread *t, uint32_t fn, uint64_t ticks)
{
	struct digest_frame *f;

	if (unlikely(t->depth >= DIGEST_DEPTH)) {
		t->depth++;
		d->head.cut++;
		return;
	}
	f = &t->frames[t->depth];
	*f = (struct digest_frame){.fn = fn, .at = UINT32_MAX, .run.state = digest_leaf(d, fn), .ticks = ticks};
	if (unlikely(t->root == NO_ROOT) && (fn >= DIGEST_FN || !d->is_dispatcher[fn])) {
		t->root = t->depth;
		t->session = 0;
		t->has_data = 0;
	}
	t->depth++;
}

static COLD void end_segment(struct digest *d, struct digest_thread *t, uint32_t node, uint64_t ticks)
{
	uint64_t start = t->frames[t->depth].ticks;

	/* Without an operation of its own, a short call belongs to the session its caller just served. */
	if (!t->session && t->depth && ticks - start <= d->short_ticks)
		t->session = t->frames[t->depth - 1].session;
	if (t->session)
		digest_add_segment(d, t, node, start, ticks);
	else
		digest_add_rest(d, t, node, start, ticks);
	t->root = NO_ROOT;
	t->session = 0;
}

static inline void leave(struct digest *d, struct digest_thread *t, uint64_t ticks)
{
	struct digest_frame *f;
	uint32_t node;

	if (unlikely(!t->depth) || unlikely(--t->depth >= DIGEST_DEPTH))
		return;
	f = &t->frames[t->depth];
	if (unlikely(t->root == NO_ROOT)) {
		d->head.dispatched++;
		return;
	}
	node = digest_run_end(d, &f->run);
	d->nodes[node].count++;
	d->nodes[node].ticks += ticks - f->ticks;
	if (likely(t->depth > t->root)) {
		struct digest_frame *up = f - 1;

		if (unlikely(f->touched) && !up->first)
			up->first = up->run.cells + (up->run.times != 0) + 1;
		digest_run_add(d, &up->run, node, up->fn);
	} else {
		end_segment(d, t, node, ticks);
	}
}

static void leave_all(struct digest *d, struct digest_thread *t, uint64_t ticks)
{
	t->depth = min_of(t->depth, DIGEST_DEPTH);
	while (t->depth)
		leave(d, t, ticks);
	t->root = NO_ROOT;
}

/* --- chunks --- */

static void take_other(struct digest *d, struct digest_thread *t, const uint32_t *w, uint64_t *ticks)
{
	uint32_t kind = *w >> 2 & 63, count = *w >> 8 & 255;

	*ticks += flow_u64(w + 1);
	w += 3;
	count -= 2;
	d->head.events += kind != FLOW_O_TIME && kind != FLOW_O_LOST && kind != FLOW_O_STACK;
	if (kind == FLOW_O_LOST && count >= 2) {
		leave_all(d, t, *ticks);
	} else if (kind == FLOW_O_STACK) {
		for (uint32_t i = 0; i < count; i++)
			enter(d, t, w[i], *ticks);
	} else if (kind == FLOW_O_UNWIND && count) {
		for (uint32_t i = 0; i < w[0] && t->depth; i++)
			leave(d, t, *ticks);
	} else if (kind == FLOW_O_END) {
		leave_all(d, t, *ticks);
	} else if (kind == FLOW_O_SOCKET && count >= FLOW_WORDS(struct flow_socket_words)) {
		digest_take_socket(d, w, *ticks);
	} else if (kind == FLOW_O_VALUE && count >= 2) {
		digest_take_value(d, t, (w[-3] >> 16), flow_u64(w), *ticks);
	} else if (kind == FLOW_O_OPERATION && count >= FLOW_WORDS(struct flow_op_words)) {
		uint64_t start = *ticks;

		*ticks += flow_u64(w);
		digest_take_operation(
			d, t,
			&(struct digest_operation){(w[-3] >> 16), start, *ticks, w[2], (int32_t)w[4], flow_u64(w + 5)});
	}
}

/* --- memoised calls, in chunks without time --- */

/* Position in a chunk while folding. */
struct place {
	const uint32_t *words, *end;
	uint32_t at;
	uint32_t plain;    /* since this word: only calls and returns without time */
	uint32_t returned; /* returns of the current word consumed by a memoised call */
	bool untimed;
};

static uint32_t returns_in(uint32_t word)
{
	if (!(word & FLOW_MANY))
		return 0;
	return (word & 3) == FLOW_TAG_CALL     ? (word & ~FLOW_MANY) >> 14
	       : (word & 3) == FLOW_TAG_RETURN ? (word & ~FLOW_MANY) >> 2
					       : 0;
}

/* Matches a memoised call and consumes all of it at once. */
static inline bool take_known(struct digest *d, struct digest_thread *t, struct place *p, uint32_t fn)
{
	const struct digest_memo *memo = &d->memos[fn];
	const uint32_t *w = p->words + p->at;
	struct digest_frame *up = &t->frames[t->depth - 1];
	uint32_t count = memo->count;

	if (!count || (size_t)(p->end - w) <= count || returns_in(w[count]) < memo->returns)
		return false;
	for (uint32_t i = 1; i < count; i++)
		if (w[i] != memo->words[i])
			return false;
	p->returned = memo->returns;
	p->at += count - 1;
	d->head.calls += count;
	d->head.events += count * 2;
	d->nodes[memo->node].count++;
	digest_run_add(d, &up->run, memo->node, up->fn);
	return true;
}

static inline void take_call(struct digest *d, struct digest_thread *t, struct place *p, uint64_t ticks)
{
	uint32_t fn = p->words[p->at] >> 2 & (FLOW_SHORT_FN - 1);

	/* Only inside a segment, where no call can become the root of another one. */
	if (p->untimed && t->root < t->depth && t->depth < DIGEST_DEPTH && take_known(d, t, p, fn))
		return;
	d->head.events++;
	d->head.calls++;
	enter(d, t, fn, ticks);
	if (p->untimed && t->depth <= DIGEST_DEPTH)
		t->frames[t->depth - 1].at = p->at;
}

/* Memoises the call that ends with the given return of the current word. */
static COLD void learn_known(struct digest *d, const struct digest_frame *f, const struct place *p, uint32_t returns)
{
	struct digest_memo *memo = &d->memos[f->fn];
	uint32_t count = p->at - f->at;

	/* Replace the memo only after repeated misses. */
	if (memo->count && ++memo->misses < 8)
		return;
	memo->misses = 0;
	memo->node = digest_run_end(d, &f->run);
	memo->count = count;
	memo->returns = returns;
	memcpy(memo->words, p->words + f->at, count * sizeof(*memo->words));
}

/* Returns counted in one word, and possibly a call after them. */
static inline void take_many(struct digest *d, struct digest_thread *t, struct place *p, uint64_t ticks)
{
	uint32_t word = p->words[p->at], count = returns_in(word);

	for (uint32_t i = p->returned; i < count && t->depth; i++) {
		const struct digest_frame *f = digest_innermost(t);

		d->head.events++;
		if (f && t->root != NO_ROOT && f->at >= p->plain && f->at != UINT32_MAX && p->at - f->at > 3 &&
		    p->at - f->at <= DIGEST_MEMO_WORDS && f->fn < FLOW_SHORT_FN)
			learn_known(d, f, p, i + 1);
		leave(d, t, ticks);
	}
	p->returned = 0;
	if ((word & 3) == FLOW_TAG_CALL)
		take_call(d, t, p, ticks);
}

/* A word other than an untimed call or return. */
static bool take_word(struct digest *d, struct digest_thread *t, struct place *p, uint64_t *ticks)
{
	const uint32_t *w = p->words + p->at;
	uint32_t tag = *w & 3, count = *w >> 8 & 255;

	p->plain = p->at + 1;
	if (tag == FLOW_TAG_RETURN) {
		*ticks += *w >> 2;
		leave(d, t, *ticks);
		d->head.events++;
		return true;
	}
	if (tag == FLOW_TAG_CALL_LONG && p->end - w >= 2) {
		*ticks += *w >> 2;
		enter(d, t, w[1], *ticks);
		d->head.events++;
		d->head.calls++;
		p->at++;
		return true;
	}
	if (tag != FLOW_TAG_OTHER || count < 2 || count >= (size_t)(p->end - w))
		return false;
	take_other(d, t, w, ticks);
	p->at += count;
	return true;
}

void digest_fold(struct digest *d, struct digest_thread *t, const struct flow_chunk *chunk, const uint32_t *words)
{
	struct place p = {.words = words, .end = words + chunk->bytes / 4, .untimed = chunk->flags & FLOW_UNTIMED};
	uint32_t count = chunk->bytes / 4;
	uint64_t ticks = chunk->start_ticks;

	d->head.first = min_of(d->head.first, ticks);
	d->head.untimed |= chunk->flags & FLOW_UNTIMED;
	d->head.lost += chunk->lost;
	for (uint32_t i = 0; i < min_of(t->depth, DIGEST_DEPTH); i++)
		t->frames[i].at = UINT32_MAX;
	for (; p.at < count; p.at++) {
		uint32_t word = words[p.at], tag = word & 3;

		if (word & FLOW_MANY && tag <= FLOW_TAG_RETURN) {
			take_many(d, t, &p, ticks);
		} else if (tag == FLOW_TAG_CALL) {
			if (word >> 14)
				p.plain = p.at + 1;
			ticks += word >> 14;
			take_call(d, t, &p, ticks);
		} else if (!take_word(d, t, &p, &ticks)) {
			break;
		}
	}
	d->head.last = max_of(d->head.last, ticks);
}

void digest_begin(struct digest *d, uint64_t short_ticks)
{
	d->head.first = UINT64_MAX;
	d->short_ticks = short_ticks;
	d->head.row_count = 1; /* the row for overflow */
	d->rows[DIGEST_OTHERS].first = UINT64_MAX;
	d->head.node_count = NODE_BLOCK;
	(void)digest_find_node(d, 0, DIGEST_BLOCK, 0);
	(void)digest_find_node(d, 0, DIGEST_PIECES, 0);
}

void digest_thread_begin(struct digest_thread *t, const struct flow_chunk *chunk)
{
	t->thread = chunk->thread;
	t->pid = chunk->pid;
	t->tid = chunk->tid;
	t->depth = 0;
	t->root = NO_ROOT;
	t->session = 0;
}

void digest_thread_end(struct digest *d, struct digest_thread *t, uint64_t ticks)
{
	leave_all(d, t, ticks);
}

/* --- checking the digest of a killed program --- */

static bool check_run(const struct digest *d, const struct digest_run *run)
{
	uint32_t count = d->head.node_count;

	return run->state < count && run->last < count && run->pieces < count;
}

bool digest_check(struct digest *d)
{
	uint32_t count = d->head.node_count;

	if (count <= NODE_PIECES || count > DIGEST_NODES || !d->head.row_count || d->head.row_count > DIGEST_ROWS)
		return false;
	for (uint32_t i = 1; i < count; i++) {
		const struct digest_node *node = &d->nodes[i];

		if (node->next >= count || node->prev >= i || (node->times && node->child >= i))
			return false;
	}
	for (uint32_t i = 0; i < DIGEST_FN; i++)
		if (d->leaves[i] >= count)
			return false;
	for (uint32_t i = 0; i < DIGEST_SLOTS; i++)
		if (d->slots[i] >= count)
			return false;
	for (uint32_t i = 0; i < FLOW_SHORT_FN; i++)
		if (d->memos[i].node >= count || d->memos[i].count > DIGEST_MEMO_WORDS)
			return false;
	for (uint32_t i = 0; i < DIGEST_ROWS * 2; i++)
		if (d->row_slots[i] >= d->head.row_count)
			return false;
	for (uint32_t i = 0; i < d->head.row_count; i++)
		if (d->rows[i].tree >= count)
			return false;
	for (uint32_t i = 0; i < DIGEST_SESSIONS; i++)
		for (uint32_t k = 0; k < DIGEST_STRANDS; k++)
			if (!check_run(d, &d->sessions[i].strands[k].run))
				return false;
	return true;
}

bool digest_thread_check(const struct digest *d, const struct digest_thread *t)
{
	if (t->root != NO_ROOT && t->root >= t->depth)
		return false;
	for (uint32_t i = 0; i < min_of(t->depth, DIGEST_DEPTH); i++)
		if (!check_run(d, &t->frames[i].run))
			return false;
	return true;
}
