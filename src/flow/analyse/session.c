/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/clock.h"
#include "flow/analyse/session.h"
#include "flow/analyse/stray.h"
#include "flow/trace/digest.h"

static const struct field session_fields[] = {
	FIELD(struct flow_session, session, ID, "session number, in order of start"),
	FIELD(struct flow_session, request, ID, "request number within the connection, if split by request",
	      .zero_is_unknown = true, .hidden = true),
	FIELD(struct flow_session, laddr, ADDR, "local address", .hidden = true),
	FIELD(struct flow_session, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(struct flow_session, raddr, ADDR, "client address"),
	FIELD(struct flow_session, rport, ID, "client port", .zero_is_unknown = true),
	FIELD(struct flow_session, cookie, ID, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(struct flow_session, pid, ID, "process", .hidden = true),
	FIELD(struct flow_session, tid, ID, "thread with most of the calls"),
	FIELD(struct flow_session, comm, TEXT, "name of that thread", .hidden = true),
	FIELD(struct flow_session, start_ns, TIME, "start of the session"),
	FIELD(struct flow_session, span_ns, DURATION, "duration, up to the end of the recording if still open"),
	FIELD(struct flow_session, busy_ns, DURATION, "time inside its calls"),
	FIELD(struct flow_session, wait_ns, DURATION, "time between its calls, waiting"),
	FIELD(struct flow_session, calls, COUNT, "number of calls"),
	FIELD(struct flow_session, segments, COUNT, "number of dispatches to it", .hidden = true),
	FIELD(struct flow_session, distinct, COUNT, "distinct places in its call tree", .hidden = true),
	FIELD(struct flow_session, threads, COUNT, "number of threads that served it", .hidden = true),
	FIELD(struct flow_session, requests, COUNT, "number of requests (reads after a write)"),
	FIELD(struct flow_session, tx_bytes, BYTES, "sent"),
	FIELD(struct flow_session, rx_bytes, BYTES, "received"),
	FIELD(struct flow_session, errors, COUNT, "failed socket operations", .hidden = true),
	FIELD_AS(struct flow_session, is_open, "open", BOOL, "still open at the end of the recording", .hidden = true),
	FIELD(struct flow_session, function, TEXT, "first function", .hidden = true),
	FIELD(struct flow_session, class, ID, "class of sessions with the same summarised shape"),
	FIELD(struct flow_session, count, COUNT,
	      "number of sessions that this row represents, if summarised while recording", .hidden = true),
	FIELD(struct flow_session, tx_total, BYTES, "sent by all of these", .hidden = true),
	FIELD(struct flow_session, rx_total, BYTES, "received by all of these", .hidden = true),
};
RECORD_TYPE(flow_session_type, "flow_session", struct flow_session, session_fields,
	    "a session served by a program, from a function trace");

/* Longest chain of threads that pass work on. */
#define HANDS_MAX 8

/* --- building, one walk over the trace --- */

struct built_frame {
	uint32_t begin; /* start of its row, in builder.row */
};

/* Work of the current thread for a session that may continue. */
struct open_strand {
	uint32_t id; /* of the session */
	uint64_t start_ticks, end_ticks;
	struct forest_row row;
};

struct builder {
	struct flow_sessions *s;
	VEC(struct built_frame) frames;
	struct forest_row row;
	struct map rest;              /* node -> struct flow_rest */
	SPILL(struct flow_row) met;   /* by number in demux.sessions */
	VEC(struct open_strand) open; /* [0] is unused */
	VEC(uint32_t) free;           /* unused entries of these */
	SPILL(uint32_t) strand_of;    /* of the current thread, by number: index in open; 0: none */
	SPILL(uint32_t) request_of;   /* by socket: session of its last request, plus 1 */
	SPILL(struct last_operation {
		uint64_t ticks;
		uint32_t thread; /* plus 1; 0: none */
	})
	last_operation; /* by number: on its socket */
};

static struct flow_row *session_at(struct builder *b, uint32_t id)
{
	while (b->met.count <= id) {
		uint32_t next = (uint32_t)b->met.count;

		spill_push(&b->met, (struct flow_row){.id = next,
						      .start_ticks = UINT64_MAX,
						      .thread = DEMUX_NONE,
						      .function = FLOW_NO_FUNCTION});
	}
	return &b->met.items[id];
}

static struct open_strand *strand_at(struct builder *b, uint32_t id)
{
	uint32_t at;

	if (id >= b->strand_of.count)
		spill_fill(&b->strand_of, (size_t)id + 1);
	if (b->strand_of.items[id])
		return &b->open.items[b->strand_of.items[id]];
	if (b->free.count) {
		at = b->free.items[--b->free.count];
	} else {
		at = (uint32_t)max_of(b->open.count, (size_t)1);
		while (b->open.count <= at)
			(void)vec_add(&b->open);
	}
	b->strand_of.items[id] = at;
	b->open.items[at] = (struct open_strand){.id = id, .start_ticks = UINT64_MAX};
	return &b->open.items[at];
}

/* The session is idle for now: turns its row into a node and frees its memory. */
static void seal(struct builder *b, uint32_t thread, uint32_t id)
{
	struct open_strand *open;
	struct flow_strand strand;

	if (id >= b->strand_of.count || !b->strand_of.items[id])
		return;
	open = &b->open.items[b->strand_of.items[id]];
	strand = (struct flow_strand){
		.start_ticks = open->start_ticks,
		.thread = thread,
		.next = b->met.items[id].strand,
		.node = forest_cons(&b->s->forest, FOREST_BLOCK, open->row.items.items, open->row.items.count),
	};
	b->met.items[id].strand = (uint32_t)b->s->strands.count;
	spill_push(&b->s->strands, strand);
	vec_done(&open->row.items);
	vec_push(&b->free, b->strand_of.items[id]);
	b->strand_of.items[id] = 0;
}

/* A session without a connection ends with its first call; one of a request, when the next one starts. */
static void seal_what_ended(struct builder *b, const struct walk *walk, const struct flow_row *session)
{
	const struct demux *demux = walk->demux;
	uint32_t socket = demux->sessions.items[walk->session].socket, before;

	if (demux->by == DEMUX_REQUEST && socket != DEMUX_NONE) {
		if (b->request_of.count <= socket)
			spill_fill(&b->request_of, (size_t)socket + 1);
		before = b->request_of.items[socket];
		b->request_of.items[socket] = walk->session + 1;
		if (before && before - 1 != walk->session)
			seal(b, (uint32_t)walk->thread, before - 1);
	}
	if (session->is_closed || (demux->by == DEMUX_SIGNATURE && !demux->has_key))
		seal(b, (uint32_t)walk->thread, walk->session);
}

static void add_segment(struct builder *b, const struct walk *walk, uint32_t node, uint64_t ticks)
{
	const struct walk_frame *root = &walk->frames.items[walk->frames.count - 1];
	uint32_t calls = (uint32_t)min_of(b->s->forest.nodes.items[node].calls, (uint64_t)UINT32_MAX);
	struct open_strand *strand = strand_at(b, walk->session);
	struct flow_row *session = session_at(b, walk->session);

	if (strand->end_ticks && root->ticks > strand->end_ticks)
		session->wait_ticks += root->ticks - strand->end_ticks;
	if (session->function == FLOW_NO_FUNCTION || root->ticks < session->start_ticks)
		session->function = root->fn;
	strand->start_ticks = min_of(strand->start_ticks, root->ticks);
	strand->end_ticks = max_of(strand->end_ticks, ticks);
	session->start_ticks = min_of(session->start_ticks, root->ticks);
	session->end_ticks = max_of(session->end_ticks, ticks);
	session->busy_ticks += ticks - root->ticks;
	if (calls > session->most_calls) {
		session->most_calls = calls;
		session->thread = (uint32_t)walk->thread;
	}
	forest_row_add(&b->s->forest, &strand->row, 0, node);
	seal_what_ended(b, walk, session);
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

	/* A call outside all segments is a dispatcher; its callees are already assigned. */
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

/* Whether the socket is the session's own connection, not one opened on its behalf. */
static bool is_own_socket(const struct walk *walk, const struct flow_operation *op)
{
	uint32_t own = walk->demux->sessions.items[walk->op_session].socket;

	/* A session without a connection owns all sockets it touches. */
	return own == DEMUX_NONE || own == demux_socket_find(walk->demux, op->socket);
}

/* Several processes may have it open, and are read one by one: the last operation decides. */
static void see_close(struct builder *b, size_t thread, uint32_t id, const struct flow_operation *op)
{
	if (b->last_operation.count <= id)
		spill_fill(&b->last_operation, (size_t)id + 1);
	if (op->end_ticks < b->last_operation.items[id].ticks)
		return;
	b->last_operation.items[id] = (struct last_operation){op->end_ticks, (uint32_t)thread + 1};
	b->met.items[id].is_closed = op->op == FLOW_OP_CLOSE;
}

static void operation(void *context, const struct walk *walk, const struct flow_operation *op)
{
	struct builder *b = context;
	struct flow_row *session;

	if (walk->op_session == DEMUX_NONE)
		return;
	session = session_at(b, walk->op_session);
	session->requests += walk->is_request;
	/* A connection starts when accepted, not when the thread started to wait for it. */
	if (op->op != FLOW_OP_ACCEPT)
		session->start_ticks = min_of(session->start_ticks, op->start_ticks);
	else
		session->start_ticks = min_of(session->start_ticks, op->end_ticks);
	if (is_own_socket(walk, op))
		see_close(b, walk->thread, walk->op_session, op);
	session->end_ticks = max_of(session->end_ticks, op->end_ticks);
	if (demux_is_data(op) && is_own_socket(walk, op))
		*(op->op == FLOW_OP_READ ? &session->rx_bytes : &session->tx_bytes) += (uint64_t)op->result;
	session->errors +=
		op->result < 0 && op->result != -EAGAIN && op->result != -EINTR && op->result != -EINPROGRESS;
	if (session->thread == DEMUX_NONE)
		session->thread = (uint32_t)walk->thread;
}

static void end(void *context, const struct walk *walk, uint64_t ticks)
{
	struct builder *b = context;

	(void)ticks;
	for (size_t i = 1; i < b->open.count; i++)
		seal(b, (uint32_t)walk->thread, b->open.items[i].id);
}

static const struct walk_visitor build_visitor = {
	.enter = enter, .leave = leave, .leaf = leaf, .operation = operation, .end = end};

/* --- passed values: learned first, since the popping thread may precede in the trace --- */

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
	demux_pushes *found = context;
	uint32_t session = walk_owner(walk);

	if (event->arg == FLOW_VALUE_PUSH && session != DEMUX_NONE)
		spill_push(found, (struct demux_push){event->value, event->ticks, session});
}

static const struct walk_visitor push_visitor = {.enter = pass_enter, .leave = pass_leave, .value = note_push};

/* True when it learned something new. */
static bool learn_pushes_once(struct demux *demux)
{
	_cleanup_walk_ struct walk walk = {};
	size_t known = demux->pushes.count;
	demux_pushes found = {};

	walk_init(&walk, demux);
	for (size_t i = 0; i < demux->trace->thread_count; i++)
		walk_thread(&walk, &push_visitor, &found, i);
	spill_done(&demux->pushes);
	demux->pushes = found;
	demux_pushes_sort(demux);
	return demux_learn_pops(demux) || demux->pushes.count > known;
}

/* Work may pass several threads, and each pass reveals one more step. */
static void learn_pushes(struct demux *demux)
{
	bool goes_on = true;

	for (unsigned hands = 0; goes_on && hands < HANDS_MAX; hands++)
		goes_on = learn_pushes_once(demux);
}

/* --- properties and order of sessions --- */

static int by_begin(const void *a, const void *b)
{
	const struct flow_row *one = a, *other = b;

	if (one->start_ticks != other->start_ticks)
		return one->start_ticks < other->start_ticks ? -1 : 1;
	return one->id < other->id ? -1 : one->id > other->id;
}

static int strands_by_start(const void *a, const void *b)
{
	const struct flow_strand *const *one = a, *const *other = b;

	if ((*one)->start_ticks != (*other)->start_ticks)
		return (*one)->start_ticks < (*other)->start_ticks ? -1 : 1;
	return (*one)->thread < (*other)->thread ? -1 : (*one)->thread > (*other)->thread;
}

/* All strands of a session, ordered by start, as one row. */
static uint32_t tree_of(struct flow_sessions *s, struct flow_row *session)
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

		session->threads += session->threads < UINT16_MAX && strands.items[i]->thread != last;
		last = strands.items[i]->thread;
		for (uint32_t k = 0; k < n->count; k++)
			vec_push(&row.items, s->forest.items.items[n->first + k]);
	}
	tree = forest_cons(&s->forest, FOREST_BLOCK, row.items.items, row.items.count);
	vec_done(&row.items);
	vec_done(&strands);
	return tree;
}

static const struct digest_row *summary_of(const struct flow_sessions *s, const struct flow_row *row)
{
	return s->trace->threads[s->demux->sessions.items[row->id].thread].summary;
}

uint64_t flow_row_count(const struct flow_sessions *s, const struct flow_row *row)
{
	const struct digest_row *summary = s->trace->summarised ? summary_of(s, row) : NULL;

	return summary ? summary->count : 1;
}

/* A summarised row: all figures are means. */
static void complete_summarised(struct flow_row *row, const struct digest_row *summary)
{
	row->is_open = summary->open == summary->count;
	row->start_ticks = summary->first;
	row->end_ticks = summary->first + summary->span / summary->count;
	row->busy_ticks = summary->busy / summary->count;
	row->wait_ticks = summary->wait / summary->count;
	row->requests = (uint32_t)min_of(summary->requests / summary->count, (uint64_t)UINT32_MAX);
	row->tx_bytes = summary->tx / summary->count;
	row->rx_bytes = summary->rx / summary->count;
	row->errors = (uint32_t)min_of(summary->errors / summary->count, (uint64_t)UINT32_MAX);
}

/*
 * The process that used its socket last has ended, which closes it; without an operation, the one that served it. What
 * another process, which accepted it, did later does not matter.
 */
static bool has_exited(const struct flow_sessions *s, const struct flow_row *row, const struct last_operation *last)
{
	uint32_t index = last->thread ? last->thread - 1 : row->thread;
	uint64_t ticks = last->thread ? last->ticks : row->end_ticks;
	const struct flow_thread *thread = index == DEMUX_NONE ? NULL : &s->trace->threads[index];
	const struct demux_exit *exits = s->demux->exits.items;
	size_t low = 0, high = s->demux->exits.count;

	if (!thread)
		return false;
	/* The first one of that process that is not earlier. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (exits[middle].pid < thread->pid ||
		    (exits[middle].pid == thread->pid && exits[middle].ticks < ticks))
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->demux->exits.count && exits[low].pid == thread->pid;
}

/* All threads have been read. */
static void complete(struct flow_sessions *s, struct flow_row *row, const struct last_operation *last)
{
	const struct digest_row *summary = summary_of(s, row);

	row->tree = tree_of(s, row);
	row->class = 0;
	if (summary) {
		complete_summarised(row, summary);
		return;
	}
	/* Between segments of different threads it also waited: in a queue. With overlaps this is unknown. */
	if (row->threads > 1) {
		uint64_t span = row->end_ticks - row->start_ticks;

		row->wait_ticks = span - min_of(span, row->busy_ticks);
	}
	/* An unclosed connection lasted to the end of its process or of the recording, idle since its last call. */
	row->is_open = s->demux->by == DEMUX_CONNECTION && !row->is_closed && !has_exited(s, row, last);
	if (row->is_open) {
		row->wait_ticks += s->trace->last_ticks - row->end_ticks;
		row->end_ticks = s->trace->last_ticks;
	}
}

static void describe_ends(const struct flow_sessions *s, const struct flow_row *row, struct flow_session *session)
{
	const struct demux_session *known = &s->demux->sessions.items[row->id];
	const struct digest_row *summary = summary_of(s, row);
	struct endpoint local = {}, remote = {};

	if (summary) {
		struct flow_event event = {
			.kind = FLOW_SOCKET, .words = summary->described, .word_count = ARRAY_SIZE(summary->described)};
		struct flow_socket socket = {};

		if (flow_event_socket(&event, &socket)) {
			local = socket.local;
			remote = socket.remote;
			session->cookie = socket.cookie;
		}
	} else if (known->socket != DEMUX_NONE) {
		const struct demux_socket *socket = &s->demux->sockets.items[known->socket];

		local = demux_local(s->demux, socket);
		remote = demux_remote(s->demux, socket);
		session->cookie = socket->cookie;
		session->request = s->demux->by == DEMUX_REQUEST ? known->request + 1 : 0;
	}
	session->laddr = local.addr;
	session->lport = local.port;
	session->raddr = remote.addr;
	session->rport = remote.port;
}

static uint64_t segments_of(const struct flow_sessions *s, const struct flow_row *row)
{
	const struct digest_row *summary = summary_of(s, row);
	struct forest_walk walk;
	struct forest_item item;
	uint64_t count = 0;

	if (summary)
		return summary->segments / summary->count;
	forest_walk_begin(&walk, &s->forest, row->tree);
	while (forest_walk_next(&walk, &item))
		count += item.times;
	return count;
}

struct flow_session flow_session_at(const struct flow_sessions *s, size_t index)
{
	const struct flow_row *row = &s->list.items[index];
	const struct flow_trace *trace = s->trace;
	const struct flow_thread *thread = row->thread == DEMUX_NONE ? NULL : &trace->threads[row->thread];
	const struct digest_row *summary = summary_of(s, row);
	struct flow_session session = {
		.session = (uint32_t)index + 1,
		.pid = thread ? thread->pid : 0,
		.tid = thread ? thread->tid : 0,
		.comm = thread ? thread->name : "",
		.is_open = row->is_open,
		.function = row->function == FLOW_NO_FUNCTION ? NULL : trace->functions[row->function].name,
		.start_ns = flow_ns(trace, row->start_ticks),
		.span_ns = flow_row_span_ns(s, row),
		.busy_ns = flow_span_ns(trace, row->busy_ticks),
		.wait_ns = flow_span_ns(trace, row->wait_ticks),
		.calls = s->forest.nodes.items[row->tree].calls,
		.distinct = s->distinct_of ? s->distinct_of[flow_row_shape(s, row)] : 0,
		.segments = segments_of(s, row),
		.threads = row->threads,
		.requests = row->requests,
		.tx_bytes = row->tx_bytes,
		.rx_bytes = row->rx_bytes,
		.errors = row->errors,
		.class = row->class,
		.count = flow_row_count(s, row),
	};

	session.tx_total = summary ? summary->tx : row->tx_bytes;
	session.rx_total = summary ? summary->rx : row->rx_bytes;
	describe_ends(s, row, &session);
	return session;
}

static int by_class_and_value(const void *a, const void *b)
{
	const struct flow_weighed *one = a, *other = b;

	if (one->class != other->class)
		return one->class < other->class ? -1 : 1;
	return one->value < other->value ? -1 : one->value > other->value;
}

void flow_weighed_sort(flow_weighed_table *table)
{
	spill_sort(table->items, table->count, sizeof(*table->items), by_class_and_value);
}

uint64_t flow_median(const struct flow_weighed *items, size_t count)
{
	uint64_t all = 0, below = 0;

	for (size_t i = 0; i < count; i++) {
		all += items[i].count;
		spill_trim_at(i);
	}
	for (size_t i = 0; i < count; i++) {
		below += items[i].count;
		if (below > all / 2)
			return items[i].value;
		spill_trim_at(i);
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

static void finish(struct flow_sessions *s, struct builder *b)
{
	const void *key;
	void *value;

	/* The list takes the collected rows over, reordered and without unused numbers. */
	s->list.items = b->met.items;
	s->list.room = b->met.room;
	for (size_t i = 0; i < b->met.count; i++) {
		spill_push(&s->list_index, DEMUX_NONE);
		if (b->met.items[i].start_ticks != UINT64_MAX)
			s->list.items[s->list.count++] = b->met.items[i];
		spill_trim_at(i);
	}
	spill_sort(s->list.items, s->list.count, sizeof(*s->list.items), by_begin);
	for (size_t i = 0; i < s->list.count; i++) {
		uint32_t id = s->list.items[i].id;

		s->list_index.items[id] = (uint32_t)i;
		complete(s, &s->list.items[i],
			 id < b->last_operation.count ? &b->last_operation.items[id] : &(struct last_operation){});
		spill_trim_at(i);
	}
	for (size_t at = 0; map_next(&b->rest, &at, &key, &value);)
		vec_push(&s->rest, *(struct flow_rest *)value);
	vec_sort(&s->rest, rest_by_count);
	/* The sessions have their trees now. */
	spill_done(&s->strands);
}

static void builder_done(struct builder *b)
{
	vec_done(&b->frames);
	vec_done(&b->row.items);
	map_done(&b->rest);
	vec_each(&b->open, strand)
		vec_done(&strand->row.items);
	vec_done(&b->open);
	vec_done(&b->free);
	spill_done(&b->request_of);
	spill_done(&b->last_operation);
	spill_done(&b->strand_of);
}

/* False when a new dispatcher turned up: then the state is unchanged. */
static bool build_all(struct flow_sessions *s)
{
	struct builder b = {.s = s, .rest = MAP_INIT(sizeof(uint32_t), sizeof(struct flow_rest), 0)};
	_cleanup_walk_ struct walk walk = {};

	forest_init(&s->forest, s->trace->function_count);
	spill_fill(&s->strands, 1);
	walk_init(&walk, s->demux);
	walk.learns = !s->demux->is_sure;
	for (size_t i = 0; i < s->trace->thread_count && !walk.has_learned; i++)
		walk_thread(&walk, &build_visitor, &b, i);
	if (!walk.has_learned) {
		finish(s, &b);
	} else {
		spill_done(&b.met);
		spill_done(&s->strands);
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
	if (s->demux->has_strays)
		stray_learn(s->demux);
	if (!build_all(s)) {
		demux_learn_all(s->demux);
		if (s->demux->has_strays)
			stray_learn(s->demux);
		(void)build_all(s);
	}
	s->demux->is_sure = true;
	s->dispatch_calls += trace->dispatched;
	for (size_t i = 0; i < s->list.count; i++) {
		const struct flow_row *row = &s->list.items[i];

		s->calls += s->forest.nodes.items[row->tree].calls * flow_row_count(s, row);
		spill_trim_at(i);
	}
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
	spill_done(&s->strands);
	demux_free(s->demux);
	forest_done(&s->forest);
	forest_done(&s->shapes);
	spill_done(&s->list);
	vec_done(&s->rest);
	vec_done(&s->classes);
	map_done(&s->noise);
	spill_done(&s->list_index);
	free(s->distinct_of);
	free(s->shape_of);
	free(s);
}
