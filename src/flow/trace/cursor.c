/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of one thread in order, and of all threads merged by time. */
#include "flow/trace/checksum.h"
#include "flow/trace/trace.h"

#include "base/spill.h"

/* Bytes mapped in, and released, at a time. */
#define WINDOW_BYTES ((size_t)512 << 10)
/* Windows between two trims of the spilled tables. */
#define TRIM_WINDOWS 4

void flow_cursor_begin(struct flow_cursor *cursor, const struct flow_trace *trace, size_t thread)
{
	*cursor = (struct flow_cursor){
		.fn_index = trace->fn_index,
		.trace = trace,
		.thread = &trace->threads[thread],
	};
}

static bool give(struct flow_cursor *cursor, struct flow_event *event, enum flow_kind kind, uint64_t value)
{
	*event = (struct flow_event){.ticks = cursor->ticks, .kind = kind, .value = value};
	return true;
}

/* The words are invalid: skips the rest of the chunk. */
static bool give_up_chunk(struct flow_cursor *cursor, struct flow_event *event)
{
	cursor->at = cursor->end;
	cursor->then = NULL;
	cursor->returns = 0;
	cursor->damaged++;
	return give(cursor, event, FLOW_LOST, 0);
}

/* Releases what was read: a trace, and what analyses keep of it, may exceed memory. */
static void leave_window(struct flow_cursor *cursor)
{
	if (cursor->window_bytes)
		flow_trace_release(cursor->trace, cursor->window, cursor->window_bytes);
	cursor->window_bytes = 0;
	if (++cursor->windows % TRIM_WINDOWS == 0)
		spill_trim();
}

/* A summary without sessions has no words. */
static const uint32_t *chunk_end(const struct flow_chunk_ref *chunk)
{
	return chunk->word_count ? chunk->words + chunk->word_count : chunk->words;
}

/* Prefetches this chunk and those that follow it in the file: faulting in each page takes longer than reading it. */
static void enter_window(struct flow_cursor *cursor)
{
	const struct flow_thread *thread = cursor->thread;
	const uint8_t *from = (const uint8_t *)thread->chunks[cursor->chunk].words, *to = from;
	size_t at = cursor->chunk;

	do {
		to = (const uint8_t *)chunk_end(&thread->chunks[at++]);
	} while (to && at < thread->chunk_count && (size_t)(to - from) < WINDOW_BYTES &&
		 (const uint8_t *)thread->chunks[at].words == to + sizeof(struct flow_chunk));
	cursor->window = from;
	cursor->window_bytes = (size_t)(to - from);
	cursor->window_end = at;
	flow_trace_want(cursor->trace, cursor->window, cursor->window_bytes);
}

/* False at the end; ret_gap: something is missing before this chunk. */
static bool next_chunk(struct flow_cursor *cursor, bool *ret_gap)
{
	struct flow_chunk_ref *chunk;

	*ret_gap = false;
	if (cursor->chunk >= cursor->window_end) {
		leave_window(cursor);
		if (cursor->chunk >= cursor->thread->chunk_count)
			return false;
		enter_window(cursor);
	}
	chunk = &cursor->thread->chunks[cursor->chunk++];
	*ret_gap = chunk->header.seq != cursor->next_seq;
	cursor->next_seq = chunk->header.seq + 1;
	cursor->at = chunk->words;
	cursor->end = chunk_end(chunk);
	cursor->again_total = 0;
	cursor->many_total = 0;
	cursor->ticks = max_of(cursor->ticks, chunk->header.start_ticks);
	if (!chunk->verified && flow_chunk_checksum(&chunk->header, chunk->words) != chunk->header.checksum) {
		cursor->at = cursor->end;
		cursor->damaged++;
		*ret_gap = true;
	} else {
		/* Verified once; later reads skip the check. */
		chunk->verified = true;
	}
	return true;
}

static bool give_other(struct flow_cursor *cursor, struct flow_event *event)
{
	static const uint8_t kinds[64] = {
		[FLOW_O_LOST] = FLOW_LOST,      [FLOW_O_STACK] = FLOW_STACK,
		[FLOW_O_UNWIND] = FLOW_UNWIND,  [FLOW_O_START] = FLOW_THREAD_START,
		[FLOW_O_END] = FLOW_THREAD_END, [FLOW_O_PROCESS] = FLOW_PROCESS,
		[FLOW_O_SOCKET] = FLOW_SOCKET,  [FLOW_O_OPERATION] = FLOW_OPERATION,
		[FLOW_O_VALUE] = FLOW_VALUE,    [FLOW_O_ARGS] = FLOW_ARGS,
		[FLOW_O_DELAY] = FLOW_DELAY,
	};
	uint32_t word = cursor->at[0], kind = word >> 2 & 63, count = word >> 8 & 255;

	if (count < 2 || count > (size_t)(cursor->end - cursor->at - 1))
		return give_up_chunk(cursor, event);
	cursor->ticks += flow_u64(cursor->at + 1);
	*event = (struct flow_event){
		.ticks = cursor->ticks,
		.kind = kinds[kind] ? kinds[kind] : (uint32_t)FLOW_UNKNOWN,
		.arg = word >> 16,
		.word_count = count - 2,
		.words = cursor->at + 3,
	};
	cursor->at += 1 + count;
	if (kind == FLOW_O_UNWIND && event->word_count >= 1)
		event->value = event->words[0];
	if ((kind == FLOW_O_LOST || kind == FLOW_O_VALUE || kind == FLOW_O_DELAY) && event->word_count >= 2)
		event->value = flow_u64(event->words);
	/* An operation is reported at its end: later events happened after it. */
	if (kind == FLOW_O_OPERATION && event->word_count >= 2) {
		cursor->ticks += flow_u64(event->words);
		event->ticks = cursor->ticks;
	}
	return true;
}

/* Bounds the events that repeats may produce. */
static bool may_go_on(struct flow_cursor *cursor, uint32_t more)
{
	cursor->again_total += more;
	return cursor->again_total <= FLOW_AGAIN_MAX;
}

/* Starts a repeat of earlier words of the chunk. True when it produced an event. */
static bool begin_again(struct flow_cursor *cursor, struct flow_event *event)
{
	const struct flow_chunk_ref *chunk = &cursor->thread->chunks[cursor->chunk - 1];
	uint32_t words = *cursor->at >> 2 & FLOW_AGAIN_WORDS_MAX, times = *cursor->at >> 18 & FLOW_AGAIN_TIMES_MAX;
	size_t before = (size_t)(cursor->at - chunk->words);

	if (cursor->then || !words || !times || cursor->end - cursor->at < 2 || cursor->at[1] > before ||
	    words > before - cursor->at[1] || !may_go_on(cursor, min_of(words * times, FLOW_AGAIN_MAX)))
		return give_up_chunk(cursor, event);
	cursor->then = cursor->at + 2;
	cursor->then_end = cursor->end;
	cursor->again = chunk->words + cursor->at[1];
	cursor->again_left = times - 1;
	cursor->at = cursor->again;
	cursor->end = cursor->again + words;
	return false;
}

/* Ends a repeat. */
static void end_again(struct flow_cursor *cursor)
{
	if (cursor->again_left) {
		cursor->again_left--;
		cursor->at = cursor->again;
		return;
	}
	cursor->at = cursor->then;
	cursor->end = cursor->then_end;
	cursor->then = NULL;
}

/* At most as many returns as calls: those of this chunk, of a stack record in it, and those open before. */
static bool may_return(struct flow_cursor *cursor, uint32_t count)
{
	const struct flow_chunk_ref *chunk = &cursor->thread->chunks[cursor->chunk - 1];

	cursor->many_total += count;
	return cursor->many_total <= 2 * (uint64_t)chunk->word_count + cursor->again_total + FLOW_STACK_MAX;
}

/* A word that holds several returns, and possibly a call after them. True when it produced an event. */
static bool take_many(struct flow_cursor *cursor, struct flow_event *event, uint32_t word)
{
	bool call = (word & 3) == FLOW_TAG_CALL;
	uint32_t count = (word & ~FLOW_MANY) >> (call ? 14 : 2);

	if (count > FLOW_MANY_MAX || !count)
		return give_up_chunk(cursor, event);
	if (!cursor->returns) {
		cursor->returns = count + 1;
		if (!may_return(cursor, count) || (cursor->then && !may_go_on(cursor, count)))
			return give_up_chunk(cursor, event);
	}
	if (--cursor->returns)
		return give(cursor, event, FLOW_RETURN, 0);
	cursor->at++;
	if (call) {
		(void)give(cursor, event, FLOW_CALL, 0);
		event->fn = cursor->fn_index[word >> 2 & (FLOW_SHORT_FN - 1)];
	}
	return call;
}

/* True when it produced an event; false: go on with the next word. */
static bool take_word(struct flow_cursor *cursor, struct flow_event *event)
{
	uint32_t word = *cursor->at;

	if (!word || (cursor->then && word & 2))
		return give_up_chunk(cursor, event);
	if ((word & FLOW_AGAIN_MASK) == FLOW_AGAIN)
		return begin_again(cursor, event);
	if ((word & 3) == FLOW_TAG_CALL_LONG) {
		uint32_t fn;

		if (cursor->end - cursor->at < 2)
			return give_up_chunk(cursor, event);
		fn = cursor->at[1];
		cursor->ticks += word >> 2;
		cursor->at += 2;
		(void)give(cursor, event, FLOW_CALL, 0);
		event->fn = fn < cursor->trace->fn_index_count ? cursor->fn_index[fn] : 0;
		return true;
	}
	if ((word & 0xff) == (FLOW_TAG_OTHER | FLOW_O_TIME << 2)) {
		uint32_t count = word >> 8 & 255;

		if (count < 2 || count > (size_t)(cursor->end - cursor->at - 1))
			return give_up_chunk(cursor, event);
		cursor->ticks += flow_u64(cursor->at + 1);
		cursor->at += 1 + count;
		return false;
	}
	if ((word & 3) == FLOW_TAG_OTHER)
		return give_other(cursor, event);
	if (word & FLOW_MANY)
		return take_many(cursor, event, word);
	return flow_cursor_next(cursor, event);
}

bool flow_cursor_next_other(struct flow_cursor *cursor, struct flow_event *ret_event)
{
	for (;;) {
		bool gap;

		if (cursor->at < cursor->end) {
			if (take_word(cursor, ret_event))
				return true;
			continue;
		}
		if (cursor->then) {
			end_again(cursor);
			continue;
		}
		if (!next_chunk(cursor, &gap))
			return false;
		if (gap)
			return give(cursor, ret_event, FLOW_LOST, 0);
	}
}

/* --- merge: a heap of cursors, each with its next event --- */

struct strand {
	struct flow_cursor cursor;
	struct flow_event event;
	size_t thread;
};

struct flow_merge {
	struct strand *strands;
	size_t count;
};

static bool is_before(const struct strand *a, const struct strand *b)
{
	return a->event.ticks != b->event.ticks ? a->event.ticks < b->event.ticks : a->thread < b->thread;
}

static void sink(struct flow_merge *merge, size_t at)
{
	for (;;) {
		size_t child = at * 2 + 1;
		struct strand swap;

		if (child >= merge->count)
			return;
		if (child + 1 < merge->count && is_before(&merge->strands[child + 1], &merge->strands[child]))
			child++;
		if (!is_before(&merge->strands[child], &merge->strands[at]))
			return;
		swap = merge->strands[at];
		merge->strands[at] = merge->strands[child];
		merge->strands[child] = swap;
		at = child;
	}
}

struct flow_merge *flow_merge_new(const struct flow_trace *trace)
{
	struct flow_merge *merge = xzalloc(sizeof(*merge));

	merge->strands = xrealloc_array(NULL, max_of(trace->thread_count, 1u), sizeof(*merge->strands));
	for (size_t i = 0; i < trace->thread_count; i++) {
		struct strand *strand = &merge->strands[merge->count];

		flow_cursor_begin(&strand->cursor, trace, i);
		strand->thread = i;
		merge->count += flow_cursor_next(&strand->cursor, &strand->event);
	}
	for (size_t i = merge->count / 2; i-- > 0;)
		sink(merge, i);
	return merge;
}

void flow_merge_free(struct flow_merge *merge)
{
	if (merge)
		free(merge->strands);
	free(merge);
}

bool flow_merge_next(struct flow_merge *merge, struct flow_event *ret_event, size_t *ret_thread)
{
	struct strand *first = &merge->strands[0];

	if (!merge->count)
		return false;
	*ret_event = first->event;
	*ret_thread = first->thread;
	if (!flow_cursor_next(&first->cursor, &first->event))
		*first = merge->strands[--merge->count];
	sink(merge, 0);
	return true;
}
