/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk over a trace, thread by thread, that says at each call whose session it belongs to. Visitors build on it: call
 * trees, profiles, the calls of one session. The calls of a thread nest for sure: what is missing or cut off is closed
 * here.
 *
 * A segment's session is known at its first operation on a socket; until then (and for good, when there is none)
 * `session` is DEMUX_NONE. At its end the answer is final. Where a connection's next request begins inside a segment
 * (demux_by DEMUX_REQUEST), its calls are left and entered again.
 */
#pragma once

#include "flow/analyse/demux.h"

struct walk {
	struct demux *demux;
	const struct flow_trace *trace;
	size_t thread;
	VEC(struct walk_frame) frames; /* the open calls */
	size_t root;                   /* depth of the open segment's outermost call; SIZE_MAX: no segment is open */
	uint32_t session;              /* of the open segment */
	uint32_t op_session;           /* of the operation that a visitor is shown, DEMUX_NONE */
	bool is_cut;                   /* leaving: not a return; the call goes on, or its end is not known */
	bool is_request;               /* of the operation: a request begins with it */

	/* Dispatchers are not all known for sure (demux_new): look for more, and stop at the first. */
	bool learns, has_learned;

	/* The walk's own. */
	uint64_t short_ticks;
	uint32_t thread_session; /* of demux_by DEMUX_THREAD, otherwise DEMUX_NONE */
	struct walk_pending {
		bool is_open; /* a signature is to be looked at once its arguments are known */
		struct demux_call call;
	} pending;
	bool has_data;            /* the open segment exchanged data */
	bool has_taken;           /* the open segment took up a value: what follows it is for whom that was pushed */
	uint32_t taken;           /* that session, or DEMUX_NONE */
	size_t taken_depth;       /* calls that were open around such a segment, or the value; SIZE_MAX: none was */
	uint32_t outside;         /* for whom the thread works outside of all calls: few functions are recorded */
	uint32_t signature_count; /* of this thread */
	SPILL(struct walk_socket {
		uint32_t is_answered_not : 1; /* the last data was a request's */
		uint32_t requests : 31;
	})
	sockets; /* by index */
};

struct walk_visitor {
	void (*enter)(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks);
	/* The innermost call ends; it is still in walk->frames. */
	void (*leave)(void *context, const struct walk *walk, uint64_t ticks);
	/* These may be NULL. */
	/* Instead of both, for a call inside a segment that calls nothing; walk->frames has its caller innermost. */
	void (*leaf)(void *context, const struct walk *walk, uint32_t fn, uint64_t start_ticks, uint64_t end_ticks);
	void (*operation)(void *context, const struct walk *walk, const struct flow_operation *operation);
	void (*value)(void *context, const struct walk *walk, const struct flow_event *event);
	void (*end)(void *context, const struct walk *walk, uint64_t ticks); /* of the thread */
};

void walk_init(struct walk *walk, struct demux *demux);
void walk_done(struct walk *walk);
#define _cleanup_walk_ _cleanup_(walk_done)

/* The parts that are not in a hurry. */
void walk_begin_thread(struct walk *walk, size_t thread);
void walk_end_thread(struct walk *walk, const struct walk_visitor *visitor, void *context);
void walk_other(struct walk *walk, const struct walk_visitor *visitor, void *context, const struct flow_event *event);
void walk_signature(struct walk *walk, const struct flow_event *event);
void walk_prepare_signature(struct walk *walk);

/* From now on, where so many calls are open, until something else tells otherwise. */
void walk_work_for(struct walk *walk, size_t depth, uint32_t session);
/* The open segment follows a value that was fetched, and nothing else tells whose it is. */
void walk_leave_taken(struct walk *walk);

/* The session that the program works for at this moment, as far as known; DEMUX_NONE. */
uint32_t walk_owner(const struct walk *walk);

/* Whether the innermost call is the outermost one of a segment. */
static inline bool walk_at_root(const struct walk *walk)
{
	return walk->frames.count == walk->root + 1;
}

static inline __attribute__((always_inline)) void walk_enter(struct walk *walk, const struct walk_visitor *visitor,
							     void *context, uint32_t fn, uint64_t ticks)
{
	if (walk->root == SIZE_MAX && walk->demux->by != DEMUX_SIGNATURE && !walk->demux->is_dispatcher[fn]) {
		walk->root = walk->frames.count;
		walk->has_data = false;
		walk->session = walk->thread_session;
	}
	vec_push(&walk->frames,
		 (struct walk_frame){.fn = fn, .session = DEMUX_NONE, .touched = DEMUX_NONE, .ticks = ticks});
	visitor->enter(context, walk, fn, ticks);
	if (unlikely(walk->demux->by == DEMUX_SIGNATURE) && walk->root == SIZE_MAX)
		walk_prepare_signature(walk);
}

/*
 * A segment without an operation of its own belongs to whom its caller was just working for, unless it takes long: then
 * it waits for something, and that is likely to be the next one. What was handed over is worked for however long it
 * takes.
 */
static inline __attribute__((always_inline)) void walk_leave(struct walk *walk, const struct walk_visitor *visitor,
							     void *context, uint64_t ticks)
{
	size_t depth = walk->frames.count;

	if (unlikely(!depth))
		return;
	if (walk_at_root(walk)) {
		if (walk->session == DEMUX_NONE && unlikely(walk->taken_depth == depth - 1))
			walk_leave_taken(walk);
		else if (walk->session == DEMUX_NONE &&
			 ticks - walk->frames.items[depth - 1].ticks <= walk->short_ticks)
			walk->session = depth > 1 ? walk->frames.items[depth - 2].session : walk->outside;
		visitor->leave(context, walk, ticks);
		walk->root = SIZE_MAX;
		walk->session = DEMUX_NONE;
		if (unlikely(walk->has_taken))
			walk_work_for(walk, depth - 1, walk->taken);
	} else {
		visitor->leave(context, walk, ticks);
	}
	if (depth > 1)
		walk->frames.items[depth - 2].after = walk->frames.items[depth - 1].fn;
	walk->frames.count--;
}

/* Calls and returns in the short form, which nearly all have, up to anything else. */
static inline __attribute__((always_inline)) void walk_short(struct walk *walk, const struct walk_visitor *visitor,
							     void *context, struct flow_cursor *cursor)
{
	const uint32_t *at = cursor->at, *end = cursor->end;
	uint64_t ticks = cursor->ticks;

	while (at != end && !(*at & FLOW_WORD_NOT_SHORT) && likely(!walk->pending.is_open)) {
		uint32_t word = *at++, fn;

		if ((word & 3) == FLOW_TAG_RETURN) {
			ticks += word >> 2;
			walk_leave(walk, visitor, context, ticks);
			continue;
		}
		ticks += word >> 14;
		fn = cursor->fn_index[word >> 2 & (FLOW_SHORT_FN - 1)];
		if (visitor->leaf && walk->root != SIZE_MAX && at != end &&
		    (*at & (FLOW_WORD_NOT_SHORT | 3)) == FLOW_TAG_RETURN) {
			uint64_t start = ticks;

			ticks += *at++ >> 2;
			visitor->leaf(context, walk, fn, start, ticks);
			walk->frames.items[walk->frames.count - 1].after = fn;
		} else {
			walk_enter(walk, visitor, context, fn, ticks);
		}
	}
	cursor->at = at;
	cursor->ticks = ticks;
}

/* The whole thread; give a constant visitor, and its functions become part of the loop. */
static inline __attribute__((always_inline)) void walk_thread(struct walk *walk, const struct walk_visitor *visitor,
							      void *context, size_t thread)
{
	struct flow_cursor cursor;
	struct flow_event event;

	walk_begin_thread(walk, thread);
	flow_cursor_begin(&cursor, walk->trace, thread);
	for (;;) {
		walk_short(walk, visitor, context, &cursor);
		if (!flow_cursor_next(&cursor, &event) || unlikely(walk->has_learned))
			break;
		if (unlikely(walk->pending.is_open))
			walk_signature(walk, &event);
		if (event.kind == FLOW_CALL)
			walk_enter(walk, visitor, context, event.fn, event.ticks);
		else if (event.kind == FLOW_RETURN)
			walk_leave(walk, visitor, context, event.ticks);
		else
			walk_other(walk, visitor, context, &event);
	}
	walk_end_thread(walk, visitor, context);
}
