/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <sys/socket.h>

#include "flow/analyse/demux.h"

/* Sockets beyond any sensible trace are not distinguished. */
#define SOCKETS_MAX ((size_t)1 << 24)
/* The recorder numbers sockets from 1. */
#define SMALL_NUMBER ((uint32_t)1 << 22)

/* Chunks of a thread that nearly always suffice to find its dispatchers. */
#define BEGINNING 4

const char *const demux_by_names[] = {"connection", "request", "thread", NULL};

static const struct field call_fields[] = {
	FIELD(struct demux_call, function, TEXT, "name of the function"),
	FIELD(struct demux_call, module, TEXT, "its program or library"),
	FIELD(struct demux_call, caller, TEXT, "function that calls it"),
	FIELD(struct demux_call, after, TEXT, "previous function called by the same caller"),
	FIELD(struct demux_call, depth, COUNT, "depth of the call"),
	FIELD(struct demux_call, tid, ID, "thread"),
	FIELD(struct demux_call, comm, TEXT, "thread name"),
	FIELD(struct demux_call, arg0, HEX, "first argument, if recorded"),
	FIELD(struct demux_call, arg1, HEX, "second argument, if recorded"),
	FIELD(struct demux_call, arg2, HEX, "third argument, if recorded"),
	FIELD(struct demux_call, arg3, HEX, "fourth argument, if recorded"),
};
static RECORD_TYPE(call_type, "flow_call", struct demux_call, call_fields, "a function call, for signatures");

uint32_t demux_socket_find_large(const struct demux *demux, uint32_t socket)
{
	const uint32_t *index = socket ? map_get(&demux->socket_index, &socket) : NULL;

	return index ? *index - 1 : DEMUX_NONE;
}

/* Index of this socket, plus 1; NULL: too many. */
static uint32_t *index_of(struct demux *demux, uint32_t socket)
{
	if (socket >= SMALL_NUMBER)
		return map_put(&demux->socket_index, &socket, NULL);
	if (socket >= demux->sockets_by_number.count)
		spill_fill(&demux->sockets_by_number, (size_t)socket + 1);
	return &demux->sockets_by_number.items[socket];
}

/* NULL: no socket, or too many. */
static struct demux_socket *socket_of(struct demux *demux, uint32_t socket)
{
	uint32_t *index = socket ? index_of(demux, socket) : NULL;

	if (!index)
		return NULL;
	if (!*index) {
		*index = (uint32_t)demux->sockets.count + 1;
		spill_push(&demux->sockets, (struct demux_socket){.socket = socket,
								  .fd = -1,
								  .owner = *index - 1,
								  .thread = DEMUX_NONE,
								  .session = DEMUX_NONE,
								  .recent = DEMUX_NONE});
	}
	return &demux->sockets.items[*index - 1];
}

uint32_t demux_session_of(struct demux *demux, uint64_t key, const struct demux_session *session)
{
	uint32_t *index;
	bool is_new;

	index = map_put(&demux->session_index, &key, &is_new);
	if (!index)
		return DEMUX_NONE;
	if (is_new) {
		*index = (uint32_t)demux->sessions.count;
		spill_push(&demux->sessions, *session);
	}
	return *index;
}

static uint32_t add_session(struct demux *demux, const struct demux_session *session, uint32_t next)
{
	spill_push(&demux->sessions, *session);
	demux->sessions.items[demux->sessions.count - 1].next = next;
	return (uint32_t)demux->sessions.count - 1;
}

/* A chain per connection, in order of requests. The next request is near the last one found. */
uint32_t demux_request_of(struct demux *demux, const struct demux_session *session)
{
	struct demux_socket *socket = &demux->sockets.items[session->socket];
	uint32_t at = socket->session, next;

	if (at == DEMUX_NONE || demux->sessions.items[at].request > session->request) {
		at = add_session(demux, session, at);
		socket->session = socket->recent = at;
		return at;
	}
	if (demux->sessions.items[socket->recent].request <= session->request)
		at = socket->recent;
	while (next = demux->sessions.items[at].next,
	       next != DEMUX_NONE && demux->sessions.items[next].request <= session->request)
		at = next;
	if (demux->sessions.items[at].request != session->request) {
		next = add_session(demux, session, next);
		demux->sessions.items[at].next = next;
		at = next;
	}
	socket->recent = at;
	return at;
}

uint32_t demux_call_of(struct demux *demux, uint32_t call, const struct demux_session *session)
{
	if (demux->thread_session.count <= session->thread)
		spill_fill(&demux->thread_session, (size_t)session->thread + 1);
	if (!demux->thread_session.items[session->thread])
		demux->thread_session.items[session->thread] = (uint32_t)demux->sessions.count + 1;
	/* The first walk creates them in order; later walks agree. */
	call += demux->thread_session.items[session->thread] - 1;
	return call < demux->sessions.count ? call : add_session(demux, session, DEMUX_NONE);
}

static int by_value_and_time(const void *a, const void *b)
{
	const struct demux_push *one = a, *other = b;

	if (one->value != other->value)
		return one->value < other->value ? -1 : 1;
	return one->ticks < other->ticks ? -1 : one->ticks > other->ticks;
}

void demux_pushes_sort(struct demux *demux)
{
	spill_sort(demux->pushes.items, demux->pushes.count, sizeof(*demux->pushes.items), by_value_and_time);
}

uint32_t demux_push_find(const struct demux *demux, uint64_t value, uint64_t ticks)
{
	const struct demux_push key = {.value = value, .ticks = ticks};
	size_t low = 0, high = demux->pushes.count;

	/* The first push after this time. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_value_and_time(&demux->pushes.items[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && demux->pushes.items[low - 1].value == value ? demux->pushes.items[low - 1].session : DEMUX_NONE;
}

static int by_made_and_time(const void *a, const void *b)
{
	const struct demux_tie *one = a, *other = b;

	if (one->made != other->made)
		return one->made < other->made ? -1 : 1;
	return one->ticks < other->ticks ? -1 : one->ticks > other->ticks;
}

void demux_ties_sort(struct demux *demux)
{
	spill_sort(demux->ties.items, demux->ties.count, sizeof(*demux->ties.items), by_made_and_time);
}

uint32_t demux_tie_find(const struct demux *demux, uint32_t made, uint64_t ticks)
{
	const struct demux_tie key = {.made = made, .ticks = ticks}, *tie;
	size_t low = 0, high = demux->ties.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (by_made_and_time(&demux->ties.items[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	tie = low < demux->ties.count ? &demux->ties.items[low] : NULL;
	/* A client that came later is another one: the connection is from a pool. */
	return tie && tie->made == made && demux->sockets.items[tie->client].birth_ticks <= ticks ? tie->client
												  : DEMUX_NONE;
}

/* --- first pass: kinds of sockets --- */

/* Many connections share few addresses. */
static uint32_t addr_of(struct demux *demux, const struct addr *addr)
{
	uint32_t *index;
	bool is_new;

	index = map_put(&demux->addr_index, addr, &is_new);
	if (is_new) {
		*index = (uint32_t)demux->addrs.count;
		vec_push(&demux->addrs, *addr);
	}
	return *index;
}

static void learn_socket(struct demux *demux, const struct flow_socket *seen)
{
	struct demux_socket *s = socket_of(demux, seen->socket);

	if (!s)
		return;
	s->fd = seen->fd;
	s->cookie = seen->cookie ? seen->cookie : s->cookie;
	if (seen->local.addr.family) {
		s->laddr = addr_of(demux, &seen->local.addr);
		s->lport = seen->local.port;
	}
	if (seen->remote.addr.family) {
		s->raddr = addr_of(demux, &seen->remote.addr);
		s->rport = seen->remote.port;
	}
	s->is_new |= seen->type == SOCK_STREAM && (seen->family == AF_INET || seen->family == AF_INET6) &&
		     !seen->remote.addr.family;
	/* A connected stream older than the recording: a client's, unless a connect is seen. */
	if (s->role == DEMUX_OTHER && seen->type == SOCK_STREAM && seen->remote.addr.family && seen->remote.port)
		s->role = DEMUX_SERVED;
}

static void learn_operation(struct demux *demux, const struct flow_operation *operation, size_t thread)
{
	struct demux_socket *s = socket_of(demux, operation->socket);

	if (!s)
		return;
	if (operation->op == FLOW_OP_ACCEPT && operation->result >= 0) {
		s->role = DEMUX_SERVED;
		s->birth_ticks = operation->end_ticks;
		if (operation->aux && operation->aux <= UINT32_MAX) {
			struct demux_socket *listener = socket_of(demux, (uint32_t)operation->aux);

			if (listener)
				listener->role = DEMUX_LISTENING;
		}
	} else if (operation->op == FLOW_OP_CONNECT) {
		s->role = DEMUX_MADE;
		s->birth_ticks = s->birth_ticks ? s->birth_ticks : operation->start_ticks;
	} else if (operation->op == FLOW_OP_LISTEN) {
		s->role = DEMUX_LISTENING;
	} else if (operation->op == FLOW_OP_TAKE) {
		s->is_taken = true;
	} else if (demux_is_data(operation)) {
		/* Data before a connection: it makes one (MSG_FASTOPEN). */
		if (s->role == DEMUX_OTHER && s->is_new) {
			s->role = DEMUX_MADE;
			s->birth_ticks = operation->start_ticks;
		}
		s->many_threads |= s->thread != DEMUX_NONE && s->thread != thread;
		if (s->thread == DEMUX_NONE)
			s->thread = (uint32_t)thread;
	}
}

static int by_process(const void *a, const void *b)
{
	const struct demux_exit *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	return one->ticks < other->ticks ? -1 : one->ticks > other->ticks;
}

static void learn_sockets(struct demux *demux)
{
	for (size_t i = 0; i < demux->trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;

		flow_cursor_begin(&cursor, demux->trace, i);
		while (flow_cursor_next_notable(&cursor, &event)) {
			struct flow_operation operation;
			struct flow_socket seen;

			demux->has_values |= event.kind == FLOW_VALUE && event.arg == FLOW_VALUE_PUSH;
			if (event.kind == FLOW_PROCESS && event.arg == FLOW_PROCESS_EXIT)
				vec_push(&demux->exits, (struct demux_exit){event.ticks, demux->trace->threads[i].pid});
			if (flow_event_operation(&event, &operation))
				learn_operation(demux, &operation, i);
			else if (flow_event_socket(&event, &seen))
				learn_socket(demux, &seen);
		}
	}
	vec_sort(&demux->exits, by_process);
}

/* The number that the receiving process gave to a socket leads to that of the process which accepted it. */
static void join_taken(struct demux *demux, uint32_t taken, uint32_t accepted)
{
	struct demux_socket *from = &demux->sockets.items[taken], *to = &demux->sockets.items[accepted];
	uint32_t *index = index_of(demux, from->socket);

	if (!index)
		return;
	*index = accepted + 1;
	to->many_threads |= from->many_threads ||
			    (to->thread != DEMUX_NONE && from->thread != DEMUX_NONE && to->thread != from->thread);
	to->thread = to->thread != DEMUX_NONE ? to->thread : from->thread;
	from->role = DEMUX_OTHER;
	from->is_joined = true;
}

/*
 * A socket received from another process is that process's: one connection, served by both. Without it, it is a
 * client's if it has a peer (learn_socket), or a channel between the two.
 */
static void learn_taken(struct demux *demux)
{
	struct map accepted = MAP_INIT(sizeof(uint64_t), sizeof(uint32_t), SOCKETS_MAX);

	for (size_t i = 0; i < demux->sockets.count; i++) {
		const struct demux_socket *s = &demux->sockets.items[i];
		uint32_t *index = NULL;

		if (s->role == DEMUX_SERVED && s->cookie && !s->is_taken)
			index = map_put(&accepted, &s->cookie, NULL);
		if (index)
			*index = (uint32_t)i;
		spill_trim_at(i);
	}
	for (size_t i = 0; i < demux->sockets.count && accepted.count; i++) {
		const struct demux_socket *s = &demux->sockets.items[i];
		const uint32_t *index = s->is_taken && s->cookie ? map_get(&accepted, &s->cookie) : NULL;

		if (index && *index != i)
			join_taken(demux, (uint32_t)i, *index);
		spill_trim_at(i);
	}
	map_done(&accepted);
}

/* Without clients the program is a client itself: its sessions are its own connections. */
static void learn_perspective(struct demux *demux)
{
	for (size_t i = 0; i < demux->sockets.count; i++) {
		if (demux->sockets.items[i].role == DEMUX_SERVED)
			return;
		spill_trim_at(i);
	}
	for (size_t i = 0; i < demux->sockets.count; i++) {
		if (demux->sockets.items[i].role == DEMUX_MADE)
			demux->sockets.items[i].role = DEMUX_SERVED;
		spill_trim_at(i);
	}
}

/* --- requests of connections served by several threads: merged in order of time --- */

struct exchange {
	uint64_t ticks;
	uint32_t socket; /* index */
	bool is_read;
};

static int by_socket_and_time(const void *a, const void *b)
{
	const struct exchange *one = a, *other = b;

	if (one->socket != other->socket)
		return one->socket < other->socket ? -1 : 1;
	return one->ticks < other->ticks ? -1 : one->ticks > other->ticks;
}

static void keep_requests(struct demux *demux, const struct exchange *exchanges, size_t count)
{
	struct demux_requests requests = {.first = demux->request_ticks.count};
	bool is_answered = true;

	for (size_t i = 0; i < count; i++) {
		if (exchanges[i].is_read && is_answered)
			spill_push(&demux->request_ticks, exchanges[i].ticks);
		is_answered = !exchanges[i].is_read;
	}
	requests.count = demux->request_ticks.count - requests.first;
	demux->sockets.items[exchanges[0].socket].requests = (uint32_t)demux->requests.count;
	spill_push(&demux->requests, requests);
}

static void learn_requests(struct demux *demux)
{
	SPILL(struct exchange) exchanges = {};
	bool any = false;

	for (size_t i = 0; i < demux->sockets.count && !any; i++) {
		any = demux->sockets.items[i].many_threads && demux->sockets.items[i].role == DEMUX_SERVED;
		spill_trim_at(i);
	}
	for (size_t i = 0; any && i < demux->trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;

		flow_cursor_begin(&cursor, demux->trace, i);
		while (flow_cursor_next_notable(&cursor, &event)) {
			struct flow_operation op;
			uint32_t index;

			if (!flow_event_operation(&event, &op) || !demux_is_data(&op))
				continue;
			index = demux_socket_find(demux, op.socket);
			if (index != DEMUX_NONE && demux->sockets.items[index].many_threads)
				spill_push(&exchanges, (struct exchange){op.end_ticks, index, op.op == FLOW_OP_READ});
		}
	}
	spill_sort(exchanges.items, exchanges.count, sizeof(*exchanges.items), by_socket_and_time);
	for (size_t i = 0, end; i < exchanges.count; i = end) {
		for (end = i; end < exchanges.count && exchanges.items[end].socket == exchanges.items[i].socket;)
			end++;
		keep_requests(demux, exchanges.items + i, end - i);
		spill_trim_at(i);
	}
	spill_done(&exchanges);
}

/* --- dispatcher functions --- */

#define NO_CALL UINT32_MAX

struct learner {
	struct demux *demux;
	bool has_learned;
	VEC(struct walk_frame) open;
	uint32_t returned; /* function of the call that has just returned; NO_CALL: none */
};

/*
 * A call belongs to a connection if it touches no other one, was not already running when the connection arrived
 * (unless it accepted it), and did not wait for its arrival.
 */
static bool touch(struct demux *demux, struct walk_frame *frames, size_t count, uint32_t index, enum flow_op op)
{
	const struct demux_socket *s = &demux->sockets.items[index];
	bool accepts = op == FLOW_OP_ACCEPT || op == FLOW_OP_CONNECT, is_new = false;

	for (size_t i = count; i-- > 0;) {
		struct walk_frame *call = &frames[i];

		if (call->touched == index)
			return is_new;
		if (call->touched < DEMUX_WAITED ||
		    (call->ticks < s->birth_ticks && (!accepts || call->touched == DEMUX_WAITED))) {
			is_new |= !demux->is_dispatcher[call->fn];
			demux->is_dispatcher[call->fn] = true;
		}
		call->touched = index;
	}
	return is_new;
}

bool demux_see_operation(struct demux *demux, struct walk_frame *frames, size_t count,
			 const struct flow_operation *operation)
{
	uint32_t index;

	if (operation->op == FLOW_OP_WAIT) {
		for (size_t i = count; i-- > 0 && frames[i].touched != DEMUX_WAITED;)
			if (frames[i].touched == DEMUX_NONE)
				frames[i].touched = DEMUX_WAITED;
		return false;
	}
	index = demux_socket_find(demux, operation->socket);
	if (index == DEMUX_NONE)
		return false;
	if (demux->sockets.items[index].role != DEMUX_SERVED && operation->op != FLOW_OP_LISTEN)
		return false;
	return touch(demux, frames, count, index, operation->op);
}

bool demux_see_interrupt(struct demux *demux, const struct flow_operation *operation, uint32_t fn, uint64_t ticks)
{
	if (operation->result != -EINTR || operation->start_ticks != ticks || demux->is_handler[fn])
		return false;
	demux->is_handler[fn] = true;
	return true;
}

static void see_stack(struct learner *l, const struct flow_event *event)
{
	if (event->arg != 1)
		l->open.count = 0;
	for (uint32_t i = 0; i < event->word_count; i++)
		vec_push(&l->open, (struct walk_frame){
					   .fn = flow_event_stack(l->demux->trace, event, i),
					   .touched = DEMUX_NONE,
					   .ticks = event->ticks,
				   });
}

/* A thread that pops a client's value works for that client, like one that accepts it. */
static void see_pop(struct learner *l, const struct flow_event *event)
{
	uint32_t session = demux_push_find(l->demux, event->value, event->ticks);
	uint32_t socket = session == DEMUX_NONE ? DEMUX_NONE : l->demux->sessions.items[session].socket;

	if (socket != DEMUX_NONE)
		l->has_learned |= touch(l->demux, l->open.items, l->open.count, socket, FLOW_OP_ACCEPT);
}

/* A tight loop over calls and returns, up to any other event; all state is in registers. */
static void learn_calls(struct learner *l, struct flow_cursor *cursor)
{
	const uint32_t *at = cursor->at, *end = cursor->end;
	uint64_t ticks = cursor->ticks;
	size_t depth = l->open.count;

	for (; at != end && !(*at & FLOW_WORD_NOT_SHORT); at++) {
		if ((*at & 3) == FLOW_TAG_RETURN) {
			ticks += *at >> 2;
			depth -= depth > 0;
			continue;
		}
		ticks += *at >> 14;
		if (unlikely(depth == l->open.room)) {
			l->open.count = depth;
			vec_reserve(&l->open, depth + 1);
		}
		l->open.items[depth++] = (struct walk_frame){
			.fn = cursor->fn_index[*at >> 2 & (FLOW_SHORT_FN - 1)],
			.touched = DEMUX_NONE,
			.ticks = ticks,
		};
	}
	if (at != cursor->at)
		l->returned =
			(at[-1] & 3) == FLOW_TAG_RETURN && depth < l->open.room ? l->open.items[depth].fn : NO_CALL;
	l->open.count = depth;
	cursor->at = at;
	cursor->ticks = ticks;
}

/* A connection opened, or used again, by a call that has not touched a client: for whom, other operations show. */
static void see_outgoing(struct learner *l, const struct flow_operation *operation)
{
	uint32_t index = operation->op == FLOW_OP_WRITE ? demux_socket_find(l->demux, operation->socket) : DEMUX_NONE;
	bool is_used = index != DEMUX_NONE && l->demux->sockets.items[index].role == DEMUX_MADE;

	if (operation->op != FLOW_OP_CONNECT && !is_used)
		return;
	vec_each(&l->open, frame)
		if (!l->demux->is_dispatcher[frame->fn]) {
			l->demux->has_strays |= frame->touched >= DEMUX_WAITED;
			return;
		}
}

/* Up to that many of its chunks. */
static void learn_thread(struct learner *l, size_t thread, size_t chunks)
{
	struct flow_operation operation;
	struct flow_cursor cursor;
	struct flow_event event;

	l->open.count = 0;
	l->returned = NO_CALL;
	flow_cursor_begin(&cursor, l->demux->trace, thread);
	for (;;) {
		uint64_t before;

		learn_calls(l, &cursor);
		before = cursor.ticks;
		if (!flow_cursor_next(&cursor, &event) || cursor.chunk > chunks)
			break;
		if (event.kind == FLOW_CALL)
			vec_push(&l->open,
				 (struct walk_frame){.fn = event.fn, .touched = DEMUX_NONE, .ticks = event.ticks});
		else if (event.kind == FLOW_RETURN)
			l->open.count -= l->open.count > 0;
		else if (flow_event_operation(&event, &operation)) {
			if (l->returned != NO_CALL)
				l->has_learned |= demux_see_interrupt(l->demux, &operation, l->returned, before);
			l->has_learned |= demux_see_operation(l->demux, l->open.items, l->open.count, &operation);
			see_outgoing(l, &operation);
		} else if (event.kind == FLOW_VALUE && event.arg == FLOW_VALUE_POP)
			see_pop(l, &event);
		else if (event.kind == FLOW_UNWIND)
			l->open.count -= min_of(event.value, l->open.count);
		else if (event.kind == FLOW_LOST)
			l->open.count = 0;
		else if (event.kind == FLOW_STACK)
			see_stack(l, &event);
		l->returned = event.kind == FLOW_RETURN && l->open.count < l->open.room
				      ? l->open.items[l->open.count].fn
				      : NO_CALL;
	}
}

static bool learn_dispatchers(struct demux *demux, size_t chunks)
{
	struct learner l = {.demux = demux};

	for (size_t i = 0; i < demux->trace->thread_count; i++)
		learn_thread(&l, i, chunks);
	vec_done(&l.open);
	return l.has_learned;
}

bool demux_learn_pops(struct demux *demux)
{
	return demux->by <= DEMUX_REQUEST && learn_dispatchers(demux, SIZE_MAX);
}

/* Discards the state of a walk that has to restart. */
void demux_learn_all(struct demux *demux)
{
	(void)learn_dispatchers(demux, SIZE_MAX);
	demux->is_sure = true;
	demux->sessions.count = 0;
	map_done(&demux->session_index);
	for (size_t i = 0; i < demux->sockets.count; i++) {
		demux->sockets.items[i].owner = (uint32_t)i;
		demux->sockets.items[i].session = DEMUX_NONE;
		demux->sockets.items[i].recent = DEMUX_NONE;
		spill_trim_at(i);
	}
}

static int take_signature(struct demux *demux, const struct demux_options *options, struct why *why)
{
	struct shape shape = SHAPE_OF(&call_type);
	int r;

	if (options->key && !options->signature)
		return why_set(why, -EINVAL, "--key needs a signature (--at)");
	if (options->key) {
		r = shape_find(&shape, options->key, &demux->key);
		if (r < 0)
			return why_set(why, r, "--key: unknown field '%s' of a call", options->key);
		demux->has_key = true;
	}
	return options->signature ? expr_parse(options->signature, &shape, &demux->signature, why) : 0;
}

int demux_new(const struct flow_trace *trace, const struct demux_options *options, struct demux **ret_demux,
	      struct why *why)
{
	_cleanup_(demux_freep) struct demux *demux = xzalloc(sizeof(*demux));
	int r;

	demux->trace = trace;
	demux->by = options->signature ? DEMUX_SIGNATURE : options->by;
	demux->socket_index = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), SOCKETS_MAX);
	demux->session_index = MAP_INIT(sizeof(uint64_t), sizeof(uint32_t), SOCKETS_MAX);
	demux->addr_index = MAP_INIT(sizeof(struct addr), sizeof(uint32_t), 0);
	(void)vec_add(&demux->addrs);
	spill_fill(&demux->requests, 1);
	demux->is_dispatcher = xzalloc(max_of(trace->function_count, (size_t)1));
	demux->is_handler = xzalloc(max_of(trace->function_count, (size_t)1));
	r = take_signature(demux, options, why);
	if (r < 0)
		return r;
	learn_sockets(demux);
	learn_taken(demux);
	learn_perspective(demux);
	learn_requests(demux);
	demux->is_sure = demux->by != DEMUX_CONNECTION && demux->by != DEMUX_REQUEST;
	if (demux->has_values && !demux->is_sure)
		demux_learn_all(demux);
	else if (!demux->is_sure)
		(void)learn_dispatchers(demux, BEGINNING);
	*ret_demux = take_ptr(demux);
	return 0;
}

void demux_free(struct demux *demux)
{
	if (!demux)
		return;
	spill_done(&demux->request_ticks);
	spill_done(&demux->requests);
	spill_done(&demux->sockets);
	vec_done(&demux->addrs);
	map_done(&demux->addr_index);
	spill_done(&demux->sockets_by_number);
	map_done(&demux->socket_index);
	map_done(&demux->session_index);
	spill_done(&demux->sessions);
	spill_done(&demux->thread_session);
	spill_done(&demux->pushes);
	spill_done(&demux->ties);
	vec_done(&demux->exits);
	free(demux->is_dispatcher);
	free(demux->is_handler);
	expr_free(demux->signature);
	free(demux);
}
