/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/clock.h"
#include "flow/digest.h"
#include "flow/session.h"

static const struct field session_fields[] = {
	FIELD(struct flow_session, session, ID, "number of the session, in the order of their beginning"),
	FIELD(struct flow_session, request, ID, "request of the connection, where requests are told apart",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(struct flow_session, laddr, ADDR, "local address", .hidden = true),
	FIELD(struct flow_session, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct flow_session, raddr, ADDR, "address of the client"),
	FIELD(struct flow_session, rport, ID, "port of the client", .zero_is_unknown = true),
	FIELD(struct flow_session, cookie, ID, "the kernel's number of the socket", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(struct flow_session, pid, ID, "process", .hidden = true),
	FIELD(struct flow_session, tid, ID, "thread that made most of its calls"),
	FIELD(struct flow_session, comm, TEXT, "that thread's name", .hidden = true),
	FIELD(struct flow_session, start_ns, TIME, "when it began"),
	FIELD(struct flow_session, span_ns, DURATION, "from its beginning to its end, or the recording's"),
	FIELD(struct flow_session, busy_ns, DURATION, "inside its calls"),
	FIELD(struct flow_session, wait_ns, DURATION, "between its calls: nothing was done for it"),
	FIELD(struct flow_session, calls, COUNT, "calls made for it"),
	FIELD(struct flow_session, segments, COUNT, "times that a dispatcher turned to it", .hidden = true),
	FIELD(struct flow_session, distinct, COUNT, "different places in its call tree", .hidden = true),
	FIELD(struct flow_session, threads, COUNT, "threads that worked for it", .hidden = true),
	FIELD(struct flow_session, requests, COUNT, "requests: reads after a write"),
	FIELD(struct flow_session, tx_bytes, BYTES, "sent"),
	FIELD(struct flow_session, rx_bytes, BYTES, "received"),
	FIELD(struct flow_session, errors, COUNT, "operations that failed", .hidden = true),
	FIELD_AS(struct flow_session, is_open, "open", BOOL, "it had not ended when the recording did", .hidden = true),
	FIELD(struct flow_session, function, TEXT, "function that begins it", .hidden = true),
	FIELD(struct flow_session, class, ID, "sessions of one class have the same summarised shape"),
	FIELD(struct flow_session, count, COUNT,
	      "sessions that this one stands for, where they were summarised while the program ran", .hidden = true),
};
RECORD_TYPE(flow_session_type, "flow_session", struct flow_session, session_fields,
	    "a session that a program served, from a function trace");

/* --- building, one walk over the trace --- */

struct built_frame {
	uint32_t begin; /* its row, in builder.row */
};

struct builder {
	struct flow_sessions *s;
	VEC(struct built_frame) frames;
	struct forest_row row;
	struct map rest;              /* node -> struct flow_rest */
	VEC(struct flow_session) met; /* by number in demux.sessions */
	uint32_t *strand_of;          /* of the current thread, by number: 0 none */
	size_t strand_room;
};

static struct flow_session *session_at(struct builder *b, uint32_t id)
{
	while (b->met.count <= id) {
		struct flow_session *session = vec_add(&b->met);

		session->id = (uint32_t)b->met.count - 1;
		session->start_ticks = UINT64_MAX;
	}
	return &b->met.items[id];
}

static struct flow_strand *strand_at(struct builder *b, const struct walk *walk, uint32_t id)
{
	struct flow_session *session = session_at(b, id);
	struct flow_strand *strand;

	if (id >= b->strand_room) {
		size_t room = max_of((size_t)id + 1, b->strand_room * 2 + 64);

		b->strand_of = xrealloc_array(b->strand_of, room, sizeof(*b->strand_of));
		memset(b->strand_of + b->strand_room, 0, (room - b->strand_room) * sizeof(*b->strand_of));
		b->strand_room = room;
	}
	if (!b->strand_of[id]) {
		b->strand_of[id] = (uint32_t)b->s->strands.count;
		strand = vec_add(&b->s->strands);
		*strand = (struct flow_strand){
			.session = id,
			.thread = (uint32_t)walk->thread,
			.next = session->strand,
			.start_ticks = UINT64_MAX,
		};
		session->strand = b->strand_of[id];
	}
	return &b->s->strands.items[b->strand_of[id]];
}

/* A session is not heard of again soon: its row becomes a node, its memory is free. */
static void seal(struct builder *b, uint32_t id)
{
	struct flow_strand *strand;

	if (id >= b->strand_room || !b->strand_of[id])
		return;
	strand = &b->s->strands.items[b->strand_of[id]];
	strand->node = forest_cons(&b->s->forest, FOREST_BLOCK, strand->row.items.items, strand->row.items.count);
	vec_done(&strand->row.items);
	b->strand_of[id] = 0;
}

static void add_segment(struct builder *b, const struct walk *walk, uint32_t node, uint64_t ticks)
{
	const struct walk_frame *root = &walk->frames.items[walk->frames.count - 1];
	uint64_t calls = b->s->forest.nodes.items[node].calls;
	struct flow_strand *strand = strand_at(b, walk, walk->session);
	struct flow_session *session = session_at(b, walk->session);

	if (strand->end_ticks && root->ticks > strand->end_ticks)
		session->wait_ns += root->ticks - strand->end_ticks;
	if (!session->function || root->ticks < session->start_ticks)
		session->function = walk->trace->functions[root->fn].name;
	strand->start_ticks = min_of(strand->start_ticks, root->ticks);
	strand->end_ticks = max_of(strand->end_ticks, ticks);
	session->start_ticks = min_of(session->start_ticks, root->ticks);
	session->end_ticks = max_of(session->end_ticks, ticks);
	session->busy_ns += ticks - root->ticks;
	session->calls += calls;
	session->segments++;
	if (calls > session->tid_calls) {
		session->tid_calls = calls;
		session->tid = walk->trace->threads[walk->thread].tid;
		session->pid = walk->trace->threads[walk->thread].pid;
		memcpy(session->comm, walk->trace->threads[walk->thread].name, sizeof(session->comm));
	}
	forest_row_add(&b->s->forest, &strand->row, 0, node);
	if (session->is_closed)
		seal(b, walk->session);
}

static void add_rest(struct builder *b, const struct walk *walk, uint32_t node, uint64_t ticks)
{
	const struct digest_row *summary = walk->trace->threads[walk->thread].summary;
	struct flow_rest *rest = map_put(&b->rest, &node, NULL);
	uint64_t count = summary ? summary->count : 1;

	rest->node = node;
	rest->count += count;
	rest->ticks += ticks * count;
	b->s->rest_calls += b->s->forest.nodes.items[node].calls * count;
}

static inline __attribute__((always_inline)) void enter(void *context, const struct walk *walk, uint32_t fn,
							uint64_t ticks)
{
	struct builder *b = context;

	(void)walk;
	(void)fn;
	(void)ticks;
	vec_push(&b->frames, (struct built_frame){(uint32_t)b->row.items.count});
}

static inline __attribute__((always_inline)) void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct builder *b = context;
	size_t begin = b->frames.items[--b->frames.count].begin, count = b->row.items.count - begin;
	const struct walk_frame *frame = &walk->frames.items[walk->frames.count - 1];
	uint32_t node;

	/* A call outside of all segments goes from one to the next; what it called has found its place already. */
	if (walk->root == SIZE_MAX) {
		b->s->dispatch_calls++;
		return;
	}
	node = count ? forest_cons(&b->s->forest, frame->fn, vec_from(&b->row.items, begin), count)
		     : forest_leaf(&b->s->forest, frame->fn);
	b->row.items.count = begin;
	if (walk->frames.count > walk->root + 1)
		forest_row_add(&b->s->forest, &b->row, b->frames.items[b->frames.count - 1].begin, node);
	else if (walk->session == DEMUX_NONE)
		add_rest(b, walk, node, ticks - frame->ticks);
	else
		add_segment(b, walk, node, ticks);
}

static inline __attribute__((always_inline)) void leaf(void *context, const struct walk *walk, uint32_t fn,
						       uint64_t start_ticks, uint64_t end_ticks)
{
	struct builder *b = context;

	(void)walk;
	(void)start_ticks;
	(void)end_ticks;
	forest_row_add(&b->s->forest, &b->row, b->frames.items[b->frames.count - 1].begin,
		       forest_leaf(&b->s->forest, fn));
}

/* Whether it is the session's connection itself, not one that was made on its behalf. */
static bool is_own_socket(const struct walk *walk, const struct flow_operation *op)
{
	uint32_t own = walk->demux->sessions.items[walk->op_session].socket;

	/* A session that is no connection's has all that it touches. */
	return own == DEMUX_NONE || own == demux_socket_find(walk->demux, op->socket);
}

static void operation(void *context, const struct walk *walk, const struct flow_operation *op)
{
	struct builder *b = context;
	struct flow_session *session;

	if (walk->op_session == DEMUX_NONE)
		return;
	session = session_at(b, walk->op_session);
	session->requests += walk->is_request;
	/* A connection was there when it was accepted, not when somebody began to wait for it. */
	if (op->op != FLOW_OP_ACCEPT)
		session->start_ticks = min_of(session->start_ticks, op->start_ticks);
	else
		session->start_ticks = min_of(session->start_ticks, op->end_ticks);
	session->end_ticks = max_of(session->end_ticks, op->end_ticks);
	if (demux_is_data(op) && is_own_socket(walk, op))
		*(op->op == FLOW_OP_READ ? &session->rx_bytes : &session->tx_bytes) += (uint64_t)op->result;
	session->errors +=
		op->result < 0 && op->result != -EAGAIN && op->result != -EINTR && op->result != -EINPROGRESS;
	session->is_closed |= op->op == FLOW_OP_CLOSE && is_own_socket(walk, op);
	if (!session->tid) {
		session->tid = walk->trace->threads[walk->thread].tid;
		session->pid = walk->trace->threads[walk->thread].pid;
	}
}

static void end(void *context, const struct walk *walk, uint64_t ticks)
{
	struct builder *b = context;

	(void)walk;
	(void)ticks;
	for (size_t i = 0; i < b->strand_room; i++)
		seal(b, (uint32_t)i);
}

static const struct walk_visitor build_visitor = {
	.enter = enter, .leave = leave, .leaf = leaf, .operation = operation, .end = end};

/* --- values that are handed over: learned first, as who takes them may come first in the trace --- */

static void pass_enter(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks)
{
	(void)context;
	(void)walk;
	(void)fn;
	(void)ticks;
}

static void pass_leave(void *context, const struct walk *walk, uint64_t ticks)
{
	(void)context;
	(void)walk;
	(void)ticks;
}

static void note_push(void *context, const struct walk *walk, const struct flow_event *event)
{
	struct demux *demux = context;
	uint32_t session = walk_owner(walk);

	if (event->arg == FLOW_VALUE_PUSH && session != DEMUX_NONE)
		vec_push(&demux->pushes, (struct demux_push){event->value, event->ticks, session});
}

static const struct walk_visitor push_visitor = {.enter = pass_enter, .leave = pass_leave, .value = note_push};

static void learn_pushes(struct demux *demux)
{
	_cleanup_walk_ struct walk walk = {};

	walk_init(&walk, demux);
	for (size_t i = 0; i < demux->trace->thread_count; i++)
		walk_thread(&walk, &push_visitor, demux, i);
	demux_pushes_sort(demux);
}

/* --- what a session is called, and the order --- */

struct begin {
	uint64_t ticks;
	uint32_t id;
	uint32_t index;
};

static int by_begin(const void *a, const void *b)
{
	const struct begin *one = a, *other = b;

	if (one->ticks != other->ticks)
		return one->ticks < other->ticks ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

/* Sessions are large, and there may be millions: their beginnings are sorted, and they are moved in place. */
static void sort_sessions(struct flow_sessions *s)
{
	VEC(struct begin) order = {};
	bool sorted = true;

	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_session *session = &s->list.items[i];

		vec_push(&order, (struct begin){session->start_ticks, session->id, (uint32_t)i});
		sorted &= !i || by_begin(&order.items[i - 1], &order.items[i]) < 0;
	}
	if (!sorted)
		vec_sort(&order, by_begin);
	for (size_t i = 0; !sorted && i < order.count; i++) {
		struct flow_session first = s->list.items[i];
		size_t to = i, from;

		/* Round the circle that this place is part of; places that are done lead to themselves. */
		while ((from = order.items[to].index) != i) {
			s->list.items[to] = s->list.items[from];
			order.items[to].index = (uint32_t)to;
			to = from;
		}
		s->list.items[to] = first;
		order.items[to].index = (uint32_t)to;
	}
	vec_done(&order);
}

static int strands_by_start(const void *a, const void *b)
{
	const struct flow_strand *const *one = a, *const *other = b;

	if ((*one)->start_ticks != (*other)->start_ticks)
		return (*one)->start_ticks < (*other)->start_ticks ? -1 : 1;
	return (*one)->thread < (*other)->thread ? -1 : (*one)->thread > (*other)->thread;
}

/* All strands of a session, in the order of their beginning, as one row. */
static uint32_t tree_of(struct flow_sessions *s, struct flow_session *session)
{
	VEC(const struct flow_strand *) strands = {};
	struct forest_row row = {};
	uint32_t tree, last = DEMUX_NONE;

	for (uint32_t i = session->strand; i; i = s->strands.items[i].next)
		vec_push(&strands, &s->strands.items[i]);
	vec_sort(&strands, strands_by_start);
	if (strands.count == 1) {
		session->threads = 1;
		tree = strands.items[0]->node;
		vec_done(&strands);
		return tree;
	}
	for (size_t i = 0; i < strands.count; i++) {
		const struct forest_node *n = &s->forest.nodes.items[strands.items[i]->node];

		session->threads += strands.items[i]->thread != last;
		last = strands.items[i]->thread;
		for (uint32_t k = 0; k < n->count; k++)
			vec_push(&row.items, s->forest.items.items[n->first + k]);
	}
	tree = forest_cons(&s->forest, FOREST_BLOCK, row.items.items, row.items.count);
	vec_done(&row.items);
	vec_done(&strands);
	return tree;
}

/* One that stands for many: all of it is on average. */
static void describe_summarised(struct flow_sessions *s, struct flow_session *session, const struct digest_row *row)
{
	struct flow_event event = {
		.kind = FLOW_SOCKET, .words = row->described, .word_count = ARRAY_SIZE(row->described)};
	const struct flow_trace *trace = s->trace;
	struct flow_socket socket = {};

	if (flow_event_socket(&event, &socket)) {
		session->laddr = socket.local.addr;
		session->lport = socket.local.port;
		session->raddr = socket.remote.addr;
		session->rport = socket.remote.port;
		session->cookie = socket.cookie;
	}
	session->count = row->count;
	session->tree = tree_of(s, session);
	session->is_open = row->open == row->count;
	session->start_ticks = row->first;
	session->end_ticks = row->first + row->span / row->count;
	session->start_ns = flow_ns(trace, row->first);
	session->span_ns = flow_span_ns(trace, row->span / row->count);
	session->busy_ns = flow_span_ns(trace, row->busy / row->count);
	session->wait_ns = flow_span_ns(trace, row->wait / row->count);
	session->segments = row->segments / row->count;
	session->requests = row->requests / row->count;
	session->tx_bytes = row->tx / row->count;
	session->rx_bytes = row->rx / row->count;
	session->errors = row->errors / row->count;
}

static void describe(struct flow_sessions *s, struct flow_session *session)
{
	const struct demux_session *known = &s->demux->sessions.items[session->id];
	const struct flow_trace *trace = s->trace;

	session->count = 1;
	if (trace->threads[known->thread].summary) {
		describe_summarised(s, session, trace->threads[known->thread].summary);
		return;
	}
	if (known->socket != DEMUX_NONE) {
		const struct demux_socket *socket = &s->demux->sockets.items[known->socket];

		session->laddr = s->demux->addrs.items[socket->laddr];
		session->lport = socket->lport;
		session->raddr = s->demux->addrs.items[socket->raddr];
		session->rport = socket->rport;
		session->cookie = socket->cookie;
		session->request = s->demux->by == DEMUX_REQUEST ? known->request + 1 : 0;
	}
	session->tree = tree_of(s, session);
	/* Between the segments of different threads it waited, too: in a queue. Where they overlap there is no telling. */
	if (session->threads > 1) {
		uint64_t span = session->end_ticks - session->start_ticks;

		session->wait_ns = span - min_of(span, session->busy_ns);
	}
	/* A connection that nobody closed was there until the end, and since its last call nothing was done for it. */
	session->is_open = s->demux->by == DEMUX_CONNECTION && !session->is_closed;
	if (session->is_open) {
		session->wait_ns += trace->last_ticks - session->end_ticks;
		session->end_ticks = trace->last_ticks;
	}
	session->start_ns = flow_ns(trace, session->start_ticks);
	session->span_ns = flow_span_ns(trace, session->end_ticks - session->start_ticks);
	session->busy_ns = flow_span_ns(trace, session->busy_ns);
	session->wait_ns = flow_span_ns(trace, session->wait_ns);
}

static int by_value(const void *a, const void *b)
{
	const struct flow_weighed *one = a, *other = b;

	return one->value < other->value ? -1 : one->value > other->value;
}

uint64_t flow_median(struct flow_weighed *items, size_t count)
{
	uint64_t all = 0, below = 0;

	if (count)
		qsort(items, count, sizeof(*items), by_value);
	for (size_t i = 0; i < count; i++)
		all += items[i].count;
	for (size_t i = 0; i < count; i++) {
		below += items[i].count;
		if (below > all / 2)
			return items[i].value;
	}
	return 0;
}

static int rest_by_count(const void *a, const void *b)
{
	const struct flow_rest *one = a, *other = b;

	if (one->count != other->count)
		return one->count > other->count ? -1 : 1;
	return one->node < other->node ? -1 : one->node > other->node;
}

static void strands_done(struct flow_sessions *s)
{
	vec_each(&s->strands, strand)
		vec_done(&strand->row.items);
	vec_done(&s->strands);
}

static void finish(struct flow_sessions *s, struct builder *b)
{
	const void *key;
	void *value;

	s->list_index_count = b->met.count;
	s->list_index = xrealloc_array(NULL, max_of(b->met.count, (size_t)1), sizeof(*s->list_index));
	memset(s->list_index, 0xff, max_of(b->met.count, (size_t)1) * sizeof(*s->list_index));
	/* The list takes over what was gathered, in another order and without numbers that nothing was seen of. */
	s->list.items = b->met.items;
	s->list.room = b->met.room;
	for (size_t i = 0; i < b->met.count; i++)
		if (b->met.items[i].start_ticks != UINT64_MAX)
			s->list.items[s->list.count++] = b->met.items[i];
	sort_sessions(s);
	for (size_t i = 0; i < s->list.count; i++) {
		s->list.items[i].session = (uint32_t)i + 1;
		s->list_index[s->list.items[i].id] = (uint32_t)i;
		describe(s, &s->list.items[i]);
	}
	for (size_t at = 0; map_next(&b->rest, &at, &key, &value);)
		vec_push(&s->rest, *(struct flow_rest *)value);
	vec_sort(&s->rest, rest_by_count);
	/* The sessions have their trees now. */
	strands_done(s);
}

static void builder_done(struct builder *b)
{
	vec_done(&b->frames);
	vec_done(&b->row.items);
	map_done(&b->rest);
	free(b->strand_of);
}

/* False when a dispatcher turned up that was not known: then everything is as before. */
static bool build_all(struct flow_sessions *s)
{
	struct builder b = {.s = s, .rest = MAP_INIT(sizeof(uint32_t), sizeof(struct flow_rest), 0)};
	_cleanup_walk_ struct walk walk = {};

	forest_init(&s->forest, s->trace->function_count);
	(void)vec_add(&s->strands);
	walk_init(&walk, s->demux);
	walk.learns = !s->demux->is_sure;
	for (size_t i = 0; i < s->trace->thread_count && !walk.has_learned; i++)
		walk_thread(&walk, &build_visitor, &b, i);
	if (!walk.has_learned) {
		finish(s, &b);
	} else {
		vec_done(&b.met);
		strands_done(s);
		forest_done(&s->forest);
		s->rest_calls = s->dispatch_calls = 0;
	}
	builder_done(&b);
	return !walk.has_learned;
}

int flow_sessions_new(const struct flow_trace *trace, const struct demux_options *options,
		      struct flow_sessions **ret_sessions, struct why *why)
{
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = xzalloc(sizeof(*s));
	int r;

	s->trace = trace;
	r = demux_new(trace, options, &s->demux, why);
	if (r < 0)
		return r;
	if (s->demux->has_values)
		learn_pushes(s->demux);
	if (!build_all(s)) {
		demux_learn_all(s->demux);
		(void)build_all(s);
	}
	s->demux->is_sure = true;
	s->dispatch_calls += trace->dispatched;
	vec_each(&s->list, session)
		s->calls += session->calls * session->count;
	s->calls += s->rest_calls + s->dispatch_calls;
	s->lost = trace->lost;
	flow_sessions_classify(s);
	*ret_sessions = take_ptr(s);
	return 0;
}

void flow_sessions_free(struct flow_sessions *s)
{
	if (!s)
		return;
	strands_done(s);
	demux_free(s->demux);
	forest_done(&s->forest);
	forest_done(&s->shapes);
	vec_done(&s->list);
	vec_done(&s->rest);
	vec_done(&s->classes);
	map_done(&s->noise);
	free(s->list_index);
	free(s->shape_of);
	free(s);
}
