/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/walk.h"

#include "flow/trace/digest.h"

/* Keys of sessions: kind and value. */
enum key_kind { KEY_THREAD = 1, KEY_ARGUMENT };

static uint64_t key_of(enum key_kind kind, uint64_t high, uint64_t low)
{
	return (uint64_t)kind << 61 ^ high << 28 ^ low;
}

void walk_init(struct walk *walk, struct demux *demux)
{
	*walk = (struct walk){.demux = demux, .trace = demux->trace, .root = SIZE_MAX, .session = DEMUX_NONE};
	walk->short_ticks = demux->trace->ticks_per_second / 100;
	spill_fill(&walk->sockets, demux->sockets.count);
	/* Each walk finds out again for whom the program uses its outgoing connections. */
	for (size_t i = 0; i < demux->sockets.count; i++) {
		if (demux->sockets.items[i].owner != i)
			demux->sockets.items[i].owner = (uint32_t)i;
		spill_trim_at(i);
	}
}

void walk_done(struct walk *walk)
{
	vec_done(&walk->frames);
	spill_done(&walk->sockets);
}

void walk_begin_thread(struct walk *walk, size_t thread)
{
	const struct digest_row *summary = walk->trace->threads[thread].summary;

	walk->thread = thread;
	walk->frames.count = 0;
	walk->root = SIZE_MAX;
	walk->session = DEMUX_NONE;
	walk->pending.is_open = false;
	walk->outside = DEMUX_NONE;
	walk->signature_count = 0;
	walk->has_taken = false;
	walk->taken_depth = SIZE_MAX;
	walk->thread_session = DEMUX_NONE;
	walk->has_ended = walk->has_stack = false;
	/* A summarised session looks like a thread that serves it. */
	if (summary ? summary->bucket != DIGEST_REST : walk->demux->by == DEMUX_THREAD)
		walk->thread_session =
			demux_session_of(walk->demux, key_of(KEY_THREAD, thread, 0),
					 &(struct demux_session){.socket = DEMUX_NONE, .thread = (uint32_t)thread});
}

/* Closes open calls, whose end is unknown, down to that depth. */
static void leave_to(struct walk *walk, const struct walk_visitor *visitor, void *context, size_t depth, uint64_t ticks)
{
	walk->is_cut = walk->is_end_unknown = true;
	while (walk->frames.count > depth)
		walk_leave(walk, visitor, context, ticks);
	walk->is_cut = walk->is_end_unknown = false;
}

static void leave_all(struct walk *walk, const struct walk_visitor *visitor, void *context, uint64_t ticks)
{
	leave_to(walk, visitor, context, 0, ticks);
}

/* A call that has not returned lasts to the end of its process, or of the recording. */
static uint64_t open_until(const struct walk *walk, const struct flow_thread *thread)
{
	uint64_t end = walk->trace->last_ticks;

	vec_each(&walk->demux->exits, process)
		if (process->pid == thread->pid && process->ticks >= thread->start_ticks)
			end = min_of(end, process->ticks);
	return max_of(thread->end_ticks, end);
}

void walk_end_thread(struct walk *walk, const struct walk_visitor *visitor, void *context)
{
	const struct flow_thread *thread = &walk->trace->threads[walk->thread];
	uint64_t end = walk->frames.count && !walk->has_ended ? open_until(walk, thread) : thread->end_ticks;

	leave_all(walk, visitor, context, end);
	if (visitor->end)
		visitor->end(context, walk, end);
}

/* --- signatures --- */

void walk_prepare_signature(struct walk *walk)
{
	const struct flow_trace *trace = walk->trace;
	size_t depth = walk->frames.count;
	const struct walk_frame *frame = &walk->frames.items[depth - 1], *caller = depth > 1 ? frame - 1 : NULL;
	const struct flow_function *function = &trace->functions[frame->fn];

	walk->pending.is_open = true;
	walk->pending.call = (struct demux_call){
		.function = function->name,
		.module = trace->modules[function->module].name,
		.caller = caller ? trace->functions[caller->fn].name : "",
		.after = caller && caller->after ? trace->functions[caller->after].name : "",
		.depth = (uint32_t)depth - 1,
		.tid = trace->threads[walk->thread].tid,
		.comm = trace->threads[walk->thread].name,
		.arg0 = UINT64_MAX,
		.arg1 = UINT64_MAX,
		.arg2 = UINT64_MAX,
		.arg3 = UINT64_MAX,
	};
}

static uint32_t signature_session(struct walk *walk)
{
	struct demux_session session = {.socket = DEMUX_NONE, .thread = (uint32_t)walk->thread};
	struct value value = {};

	if (!walk->demux->has_key)
		return demux_call_of(walk->demux, walk->signature_count++, &session);
	value = record_get(&RECORD_OF(&walk->pending.call), walk->demux->key);
	if (value.class != VALUE_UINT)
		return DEMUX_NONE;
	return demux_session_of(walk->demux, key_of(KEY_ARGUMENT, 0, value.uint), &session);
}

/* Called at the event after the call: its arguments, if recorded. */
void walk_signature(struct walk *walk, const struct flow_event *event)
{
	struct demux_call *call = &walk->pending.call;

	walk->pending.is_open = false;
	if (event->kind == FLOW_ARGS) {
		(void)flow_event_argument(event, 0, &call->arg0);
		(void)flow_event_argument(event, 1, &call->arg1);
		(void)flow_event_argument(event, 2, &call->arg2);
		(void)flow_event_argument(event, 3, &call->arg3);
	}
	if (walk->root != SIZE_MAX || !walk->frames.count || !expr_matches(walk->demux->signature, &RECORD_OF(call)))
		return;
	walk->root = walk->frames.count - 1;
	walk->session = signature_session(walk);
}

/* --- operations --- */

/* Whether this operation starts a request of the connection. */
static bool is_request_begin(struct walk *walk, uint32_t socket, const struct flow_operation *operation)
{
	const struct demux_socket *s = &walk->demux->sockets.items[socket];
	const struct demux_requests *requests = &walk->demux->requests.items[s->requests];
	const uint64_t *ticks = vec_from(&walk->demux->request_ticks, requests->first);
	struct walk_socket *state = &walk->sockets.items[socket];
	bool is_read = operation->op == FLOW_OP_READ, begins;

	if (!demux_is_data(operation))
		return false;
	if (!s->many_threads) {
		begins = is_read && !state->is_answered_not;
		state->is_answered_not = is_read;
		state->requests += begins;
		return begins;
	}
	/* Requests started up to now, in order of time. */
	state->requests = 0;
	begins = false;
	for (size_t low = 0, high = requests->count; low < high;) {
		size_t middle = (low + high) / 2;

		if (ticks[middle] <= operation->end_ticks) {
			begins = is_read && ticks[middle] == operation->end_ticks;
			state->requests = (uint32_t)middle + 1;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return begins;
}

static uint32_t socket_session(struct walk *walk, uint32_t socket)
{
	struct demux *demux = walk->demux;
	struct demux_session session = {.socket = socket, .thread = (uint32_t)walk->thread, .next = DEMUX_NONE};
	struct demux_socket *s = &demux->sockets.items[socket];
	uint32_t requests = walk->sockets.items[socket].requests;

	if (demux->by == DEMUX_REQUEST) {
		session.request = requests > 1 ? requests - 1 : 0;
		return demux_request_of(demux, &session);
	}
	if (unlikely(s->session == DEMUX_NONE)) {
		s->session = (uint32_t)demux->sessions.count;
		spill_push(&demux->sessions, session);
	}
	return s->session;
}

/*
 * A new request of the same connection starts inside the open segment: ends one segment and starts another. The time of
 * the read between the two is the client's.
 */
static void cut_segment(struct walk *walk, const struct walk_visitor *visitor, void *context,
			const struct flow_operation *operation)
{
	size_t depth = walk->frames.count, root = walk->root;

	walk->is_cut = true;
	for (size_t i = depth; i-- > root;) {
		walk->frames.count = i + 1;
		visitor->leave(context, walk, operation->start_ticks);
	}
	walk->is_cut = false;
	walk->session = walk->op_session;
	for (size_t i = root; i < depth; i++) {
		walk->frames.items[i].ticks = operation->end_ticks;
		walk->frames.count = i + 1;
		visitor->enter(context, walk, walk->frames.items[i].fn, operation->end_ticks);
	}
}

/* The last data of the client was an answer, as far as that is known. */
static bool is_answered(const struct walk *walk, uint32_t client)
{
	const struct walk_socket *state = &walk->sockets.items[client];

	return !walk->demux->sockets.items[client].many_threads && state->requests && !state->is_answered_not;
}

/* An outgoing connection belongs to the client for whom it was opened, or last written to: it may be from a pool. */
static void adopt(struct walk *walk, uint32_t index, uint64_t ticks)
{
	struct demux_socket *s = &walk->demux->sockets.items[index];
	uint32_t session = walk->root != SIZE_MAX ? walk->session
			   : walk->frames.count   ? walk->frames.items[walk->frames.count - 1].session
						  : DEMUX_NONE;

	if (s->role != DEMUX_MADE)
		return;
	if (session != DEMUX_NONE && walk->demux->sessions.items[session].socket != DEMUX_NONE) {
		s->owner = walk->demux->sessions.items[session].socket;
	} else if (session == DEMUX_NONE && walk->demux->ties.count) {
		uint32_t client = demux_tie_find(walk->demux, index, ticks);

		client = client != DEMUX_NONE ? client : s->owner;
		/* Who was answered no longer uses it. */
		s->owner = is_answered(walk, client) ? index : client;
	}
}

/* The part of a segment before it served the session belongs to none. */
static void begin_segment_at(struct walk *walk, uint64_t arrival)
{
	for (size_t i = walk->root; i < walk->frames.count; i++)
		walk->frames.items[i].ticks = max_of(walk->frames.items[i].ticks, arrival);
}

/*
 * A segment that waited for its connection starts at the arrival: a client after a long pause is not slow. The few
 * microseconds of an accept that did not wait are kept.
 */
static void begin_at_arrival(struct walk *walk, uint64_t arrival)
{
	if (arrival - walk->frames.items[walk->frames.count - 1].ticks > walk->trace->ticks_per_second / 20000)
		begin_segment_at(walk, arrival);
}

static uint32_t operation_session(struct walk *walk, uint32_t index, const struct flow_operation *operation)
{
	const struct demux_socket *s;

	if (operation->op == FLOW_OP_CONNECT || operation->op == FLOW_OP_WRITE)
		adopt(walk, index, operation->start_ticks);
	s = &walk->demux->sockets.items[index];
	if (s->role == DEMUX_SERVED) {
		walk->is_request = is_request_begin(walk, index, operation);
		return socket_session(walk, index);
	}
	/* Not made for a client: it is no session. */
	return s->role == DEMUX_MADE && s->owner != index ? socket_session(walk, s->owner) : DEMUX_NONE;
}

/* The open call, or the thread without one, works for that session from now on. */
static void set_outside(struct walk *walk, uint32_t session)
{
	*(walk->frames.count ? &walk->frames.items[walk->frames.count - 1].session : &walk->outside) = session;
}

/* Finds the session of an operation; an unassigned segment becomes that session's. */
static void attribute(struct walk *walk, const struct walk_visitor *visitor, void *context,
		      const struct flow_operation *operation)
{
	uint32_t index = demux_socket_find(walk->demux, operation->socket);
	bool by_socket = walk->demux->by <= DEMUX_REQUEST;

	walk->op_session = by_socket ? DEMUX_NONE : walk->root != SIZE_MAX ? walk->session : walk->thread_session;
	walk->is_request = false;
	if (index == DEMUX_NONE)
		return;
	if (!by_socket) {
		walk->is_request = walk->demux->sockets.items[index].role == DEMUX_SERVED &&
				   is_request_begin(walk, index, operation);
		return;
	}
	walk->op_session = operation_session(walk, index, operation);
	if (walk->op_session == DEMUX_NONE)
		return;
	if (walk->root == SIZE_MAX) {
		set_outside(walk, walk->op_session);
		walk->taken_depth = SIZE_MAX;
		return;
	}
	if (walk->session == DEMUX_NONE && operation->op == FLOW_OP_ACCEPT && operation->result >= 0)
		begin_at_arrival(walk, operation->end_ticks);
	/* What is only registered for polling is not served yet: the call may wait for all of them. */
	if (walk->session == DEMUX_NONE && operation->op == FLOW_OP_WATCH)
		return;
	if (walk->is_request && walk->has_data && walk->session != walk->op_session)
		cut_segment(walk, visitor, context, operation);
	else if (walk->session == DEMUX_NONE || (walk->is_request && !walk->has_data))
		walk->session = walk->op_session;
	walk->has_data |= demux_is_data(operation);
}

bool walk_has_stack(const struct flow_cursor *cursor)
{
	struct flow_cursor ahead = *cursor;
	struct flow_event event;

	return flow_cursor_next(&ahead, &event) && event.kind == FLOW_STACK && event.arg != 1;
}

static void take_stack(struct walk *walk, const struct walk_visitor *visitor, void *context,
		       const struct flow_event *event)
{
	uint32_t kept = 0;

	/* Calls that were open before a loss, and still are, go on: only what is between was lost. */
	while (walk->has_stack && kept < event->word_count && kept < walk->frames.count &&
	       walk->frames.items[kept].fn == flow_event_stack(walk->trace, event, kept))
		kept++;
	walk->has_stack = false;
	if (event->arg != 1)
		leave_to(walk, visitor, context, kept, event->ticks);
	for (uint32_t i = kept; i < event->word_count; i++)
		walk_enter(walk, visitor, context, flow_event_stack(walk->trace, event, i), event->ticks);
}

/* Session of a value pushed now. */
uint32_t walk_owner(const struct walk *walk)
{
	if (walk->root != SIZE_MAX && walk->session != DEMUX_NONE)
		return walk->session;
	return walk->root != SIZE_MAX && walk->root ? walk->frames.items[walk->root - 1].session
	       : walk->frames.count                 ? walk->frames.items[walk->frames.count - 1].session
						    : DEMUX_NONE;
}

void walk_work_for(struct walk *walk, size_t depth, uint32_t session)
{
	walk->has_taken = false;
	walk->taken_depth = session == DEMUX_NONE ? SIZE_MAX : depth;
	if (depth)
		walk->frames.items[depth - 1].session = session;
	else
		walk->outside = session;
}

void walk_leave_taken(struct walk *walk)
{
	size_t depth = walk->frames.count;

	/* A call that does not return may be waiting for the next session. */
	if (!walk->is_cut)
		walk->session = depth > 1 ? walk->frames.items[depth - 2].session : walk->outside;
}

/*
 * Popped a value that another thread pushed. The segment waited for it before, and belonged to none; the rest belongs
 * to the session of the push.
 */
static void pop_value(struct walk *walk, const struct flow_event *event)
{
	uint32_t session = demux_push_find(walk->demux, event->value, event->ticks);

	if (walk->root == SIZE_MAX) {
		walk_work_for(walk, walk->frames.count, session);
	} else if (walk->session == DEMUX_NONE) {
		walk->has_taken = true;
		walk->taken = walk->session = session;
		if (session != DEMUX_NONE)
			begin_segment_at(walk, event->ticks);
	}
}

/* Something about functions that was not known. */
static bool learn_operation(struct walk *walk, const struct flow_operation *operation)
{
	uint32_t after = walk->frames.count ? walk->frames.items[walk->frames.count - 1].after : 0;
	bool is_handler = after && demux_see_interrupt(walk->demux, operation, after, walk->before_ticks);

	return demux_see_operation(walk->demux, walk->frames.items, walk->frames.count, operation) || is_handler;
}

void walk_other(struct walk *walk, const struct walk_visitor *visitor, void *context, const struct flow_event *event)
{
	struct flow_operation operation;

	if (flow_event_operation(event, &operation)) {
		if (walk->learns)
			walk->has_learned |= learn_operation(walk, &operation);
		if (operation.op == FLOW_OP_WAIT && walk->root == SIZE_MAX)
			set_outside(walk, DEMUX_NONE);
		attribute(walk, visitor, context, &operation);
		if (visitor->operation)
			visitor->operation(context, walk, &operation);
	} else if (event->kind == FLOW_UNWIND) {
		walk->is_cut = true;
		for (uint64_t i = 0; i < event->value && walk->frames.count; i++)
			walk_leave(walk, visitor, context, event->ticks);
		walk->is_cut = false;
	} else if (event->kind == FLOW_LOST) {
		walk->outside = DEMUX_NONE;
		leave_all(walk, visitor, context, event->ticks);
	} else if (event->kind == FLOW_STACK) {
		take_stack(walk, visitor, context, event);
	} else if (event->kind == FLOW_THREAD_END || (event->kind == FLOW_PROCESS && event->arg == FLOW_PROCESS_EXIT)) {
		walk->has_ended = true;
	} else if (event->kind == FLOW_DELAY && visitor->delay) {
		visitor->delay(context, walk, event);
	} else if (event->kind == FLOW_VALUE) {
		if (event->arg == FLOW_VALUE_POP && walk->demux->by <= DEMUX_REQUEST)
			pop_value(walk, event);
		if (visitor->value)
			visitor->value(context, walk, event);
	}
}
