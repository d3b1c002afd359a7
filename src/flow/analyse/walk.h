/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A walk over a trace, thread by thread, that attributes each call to a session. Visitors build on it: call trees,
 * profiles, the calls of one session. Calls always nest: missing or truncated ones are closed here.
 *
 * A segment's session is known at its first socket operation; until then (or always, if there is none) `session` is
 * DEMUX_NONE. It is final at the end of the segment. If a connection's next request starts inside a segment (demux_by
 * DEMUX_REQUEST), its calls are left and entered again.
 */
#pragma once

#include "flow/analyse/demux.h"

struct walk {
	struct demux *demux;
	const struct flow_trace *trace;
	size_t thread;
	VEC(struct walk_frame) frames; /* the open calls */
	size_t root;                   /* depth of the open segment's root call; SIZE_MAX: none */
	uint32_t session;              /* of the open segment */
	uint32_t op_session;           /* of the current operation; DEMUX_NONE */
	bool is_cut;                   /* leaving without a return: the call continues, or its end is unknown */
	bool is_end_unknown;           /* the latter: the thread ended inside, or events were lost */
	bool is_request;               /* the current operation starts a request */

	/* Not all dispatchers are known (demux_new): search for more, stop at the first. */
	bool learns, has_learned;

	/* Private. */
	uint64_t short_ticks;
	uint64_t before_ticks;   /* time of the event before the current one */
	uint32_t thread_session; /* DEMUX_THREAD: its session, otherwise DEMUX_NONE */
	struct walk_pending {
		bool is_open; /* a signature is pending until the arguments are known */
		struct demux_call call;
	} pending;
	bool has_data;            /* the open segment exchanged data */
	bool has_taken;           /* the open segment popped a value: the rest belongs to the session of the push */
	uint32_t taken;           /* that session, or DEMUX_NONE */
	bool has_ended;           /* the thread ended, or its process did */
	bool has_stack;           /* after a loss: the open calls are known again, by the next event */
	size_t taken_depth;       /* open calls around such a segment, or the value; SIZE_MAX: none */
	uint32_t outside;         /* session of the thread outside all calls: few functions are recorded */
	uint32_t signature_count; /* of this thread */
	SPILL(struct walk_socket {
		uint32_t is_answered_not : 1; /* the last data was a request */
		uint32_t requests : 31;
	})
	sockets; /* by index */
};

struct walk_visitor {
	void (*enter)(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks);
	/* The innermost call ends; it is still in walk->frames. */
	void (*leave)(void *context, const struct walk *walk, uint64_t ticks);
	/* These may be NULL. */
	/* Replaces both for a leaf call inside a segment; its caller is innermost in walk->frames. */
	void (*leaf)(void *context, const struct walk *walk, uint32_t fn, uint64_t start_ticks, uint64_t end_ticks);
	void (*operation)(void *context, const struct walk *walk, const struct flow_operation *operation);
	void (*value)(void *context, const struct walk *walk, const struct flow_event *event);
	void (*delay)(void *context, const struct walk *walk, const struct flow_event *event); /* waited for a CPU */
	void (*end)(void *context, const struct walk *walk, uint64_t ticks);                   /* end of the thread */
};

void walk_init(struct walk *walk, struct demux *demux);
void walk_done(struct walk *walk);
#define _cleanup_walk_ _cleanup_(walk_done)

/* Slow paths. */
void walk_begin_thread(struct walk *walk, size_t thread);
void walk_end_thread(struct walk *walk, const struct walk_visitor *visitor, void *context);
void walk_other(struct walk *walk, const struct walk_visitor *visitor, void *context, const struct flow_event *event);
void walk_signature(struct walk *walk, const struct flow_event *event);
void walk_prepare_signature(struct walk *walk);

/* Whether the next event says which calls are open. */
bool walk_has_stack(const struct flow_cursor *cursor);

/* From now on, at this depth, until something else indicates otherwise. */
void walk_work_for(struct walk *walk, size_t depth, uint32_t session);
/* The open segment follows a popped value, and nothing else identifies its session. */
void walk_leave_taken(struct walk *walk);

/* Session that the program currently works for, if known; DEMUX_NONE. */
uint32_t walk_owner(const struct walk *walk);

/* Whether the innermost call is the root of a segment. */
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
 * A segment without an operation belongs to the session its caller just served, unless it takes long: then it waits for
 * something, likely the next session. Passed work counts however long it takes. A signal interrupts whatever runs: its
 * handler belongs to no session then.
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
			 ticks - walk->frames.items[depth - 1].ticks <= walk->short_ticks &&
			 likely(!walk->demux->is_handler[walk->frames.items[depth - 1].fn]))
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

/* Fast path over short calls and returns, up to any other event. */
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

/* The entire thread; pass a constant visitor so that its functions are inlined. */
static inline __attribute__((always_inline)) void walk_thread(struct walk *walk, const struct walk_visitor *visitor,
							      void *context, size_t thread)
{
	struct flow_cursor cursor;
	struct flow_event event;

	walk_begin_thread(walk, thread);
	flow_cursor_begin(&cursor, walk->trace, thread);
	for (;;) {
		walk_short(walk, visitor, context, &cursor);
		walk->before_ticks = cursor.ticks;
		if (!flow_cursor_next(&cursor, &event) || unlikely(walk->has_learned))
			break;
		if (unlikely(walk->pending.is_open))
			walk_signature(walk, &event);
		if (event.kind == FLOW_CALL)
			walk_enter(walk, visitor, context, event.fn, event.ticks);
		else if (event.kind == FLOW_RETURN)
			walk_leave(walk, visitor, context, event.ticks);
		else if (unlikely(event.kind == FLOW_LOST) && walk_has_stack(&cursor))
			walk->has_stack = true;
		else
			walk_other(walk, visitor, context, &event);
	}
	walk_end_thread(walk, visitor, context);
}
