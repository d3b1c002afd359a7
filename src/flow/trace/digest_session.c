/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions of a digest: assignment of segments to sessions, dispatcher functions, rows of finished sessions. */
#include <errno.h>
#include <sys/socket.h>

#include "flow/trace/digest_parts.h"

/* --- rows of finished sessions --- */

/* The last quarter is for segments: they are few distinct ones, and without a row they would be in no tree. */
static uint32_t rows_for(uint16_t bucket)
{
	return bucket == DIGEST_REST ? DIGEST_ROWS : DIGEST_ROWS / 4 * 3;
}

static struct digest_row *row_at(struct digest *d, uint32_t tree, uint16_t bucket, uint16_t lport)
{
	uint32_t at = digest_hash(tree, bucket, lport), id;

	for (uint32_t i = 0; i < PROBES; i++) {
		uint32_t *slot = &d->row_slots[(at + i) & (DIGEST_ROWS * 2 - 1)];
		struct digest_row *row = &d->rows[*slot];

		if (*slot && row->tree == tree && row->bucket == bucket && row->lport == lport)
			return row;
		if (*slot)
			continue;
		id = d->head.row_count;
		if (id >= rows_for(bucket))
			break;
		row = &d->rows[id];
		*row = (struct digest_row){.tree = tree, .bucket = bucket, .lport = lport, .first = UINT64_MAX};
		d->head.row_count = id + 1;
		*slot = id;
		return row;
	}
	return &d->rows[DIGEST_OTHERS];
}

void digest_add_rest(struct digest *d, const struct digest_thread *t, uint32_t tree, uint64_t start, uint64_t end)
{
	struct digest_row *row = row_at(d, tree, DIGEST_REST, 0);

	if (!row->count++) {
		row->pid = t->pid;
		row->tid = t->tid;
	}
	row->busy += end - start;
	row->first = min_of(row->first, start);
	row->last = max_of(row->last, end);
}

static uint16_t bucket_of(uint64_t span)
{
	return span ? (uint16_t)((63 - __builtin_clzll(span)) / 4) : 0;
}

/* Segments of all threads, ordered by start. */
static uint32_t tree_of(struct digest *d, const struct digest_session *s)
{
	uint32_t tree = NODE_BLOCK, used = 0, only = 0, done = 0;

	for (uint32_t i = 0; i < DIGEST_STRANDS; i++)
		used += s->strands[i].thread != 0;
	for (uint32_t n = 0; n < used; n++) {
		uint32_t first = DIGEST_STRANDS;

		for (uint32_t i = 0; i < DIGEST_STRANDS; i++)
			if (s->strands[i].thread && !(done >> i & 1) &&
			    (first == DIGEST_STRANDS || s->strands[i].start < s->strands[first].start))
				first = i;
		only = digest_run_end(d, &s->strands[first].run);
		tree = digest_step(d, tree, only, 1);
		done |= 1u << first;
	}
	return used == 1 ? only : tree;
}

/* Adds the calls up to this state separately, to no session. Rows of rows nest at most two deep. */
static void scatter(struct digest *d, uint32_t state, uint64_t at, unsigned depth)
{
	for (uint32_t n = 0; d->nodes[state].times && n < DIGEST_NODES; state = d->nodes[state].prev, n++) {
		uint32_t child = d->nodes[state].child, begin = child;
		struct digest_row *row;

		for (uint32_t i = 0; d->nodes[begin].times && i < DIGEST_NODES; i++)
			begin = d->nodes[begin].prev;
		if (begin == NODE_BLOCK && depth) {
			scatter(d, child, at, depth - 1);
			continue;
		}
		row = row_at(d, child, DIGEST_REST, 0);
		row->count += d->nodes[state].times;
		row->first = min_of(row->first, at);
		row->last = max_of(row->last, at);
	}
}

static void add_to_row(struct digest_row *row, const struct digest_session *s, uint64_t end)
{
	if (!row->count++) {
		memcpy(row->described, s->described, sizeof(row->described));
		row->pid = s->pid;
		row->tid = s->tid;
	}
	row->open += !s->closed;
	row->span += end - s->start;
	row->span_max = max_of(row->span_max, end - s->start);
	row->busy += s->busy;
	row->wait += s->wait + (end - s->end);
	row->tx += s->tx;
	row->rx += s->rx;
	row->requests += s->requests;
	row->errors += s->errors;
	row->segments += s->segments;
	row->first = min_of(row->first, s->start);
	row->last = max_of(row->last, end);
}

/* The session has ended: counts it in its row and frees its entry. */
static void count_session(struct digest *d, struct digest_session *s, uint64_t now)
{
	bool is_session = s->role == DIGEST_SERVED || (s->role == DIGEST_MADE && s->owner == s->socket);
	uint64_t end = s->closed ? s->end : max_of(now, s->end);
	struct flow_socket_words words;
	struct digest_row *row = NULL;
	uint32_t tree;

	if (s->start != UINT64_MAX) {
		memcpy(&words, s->described, sizeof(words));
		tree = tree_of(d, s);
		if (is_session) {
			row = row_at(d, tree, bucket_of(end - s->start), words.lport);
			add_to_row(row, s, end);
		}
		if (!row || row == &d->rows[DIGEST_OTHERS])
			scatter(d, tree, s->start, 2);
	}
	s->socket = 0;
}

/* --- sessions --- */

static struct digest_session *session_find(struct digest *d, uint32_t socket)
{
	for (uint32_t i = 0; socket && i < PROBES; i++) {
		struct digest_session *s = &d->sessions[(socket + i) & (DIGEST_SESSIONS - 1)];

		if (s->socket == socket)
			return s;
	}
	return NULL;
}

/* Socket numbers increase: a colliding entry is older, and most likely closed. */
static struct digest_session *session_at(struct digest *d, uint32_t socket, uint64_t now)
{
	struct digest_session *s = session_find(d, socket), *place = NULL;

	if (s || !socket)
		return s;
	for (uint32_t i = 0; i < PROBES; i++) {
		s = &d->sessions[(socket + i) & (DIGEST_SESSIONS - 1)];
		if (!s->socket || (s->closed && (!place || (place->socket && s->end < place->end))))
			place = s;
		if (!s->socket)
			break;
	}
	if (!place)
		place = &d->sessions[socket & (DIGEST_SESSIONS - 1)];
	if (place->socket)
		count_session(d, place, now);
	*place = (struct digest_session){.socket = socket, .owner = socket, .start = UINT64_MAX};
	return place;
}

static struct digest_strand *strand_of(struct digest_session *s, uint32_t thread)
{
	struct digest_strand *strand = NULL;

	for (uint32_t i = 0; i < DIGEST_STRANDS; i++) {
		if (s->strands[i].thread == thread)
			return &s->strands[i];
		if (!s->strands[i].thread && !strand)
			strand = &s->strands[i];
	}
	/* With more threads than strands, they share the last one. */
	if (!strand)
		return &s->strands[DIGEST_STRANDS - 1];
	*strand = (struct digest_strand){.thread = thread, .run.state = NODE_BLOCK, .start = UINT64_MAX};
	return strand;
}

static void extend(struct digest_session *s, uint64_t start, uint64_t end)
{
	s->start = min_of(s->start, start);
	s->end = max_of(s->end, end);
}

void digest_add_segment(struct digest *d, const struct digest_thread *t, uint32_t tree, uint64_t start, uint64_t end)
{
	struct digest_session *s = session_find(d, t->session);
	struct digest_strand *strand;

	if (!s) {
		d->head.late++;
		digest_add_rest(d, t, tree, start, end);
		return;
	}
	strand = strand_of(s, t->thread);
	if (strand->end && start > strand->end)
		s->wait += start - strand->end;
	strand->start = min_of(strand->start, start);
	strand->end = max_of(strand->end, end);
	digest_run_add(d, &strand->run, tree, DIGEST_BLOCK);
	extend(s, start, end);
	s->busy += end - start;
	s->pid = t->pid;
	s->tid = t->tid;
	s->segments++;
}

/* --- which session is served: see flow/analyse/demux.h --- */

/*
 * The root call of the open segment turns out to be a dispatcher. Its calls for a session so far become segments of
 * that session, earlier ones belong to none, and the segment continues with the call inside it.
 */
static void split_root(struct digest *d, struct digest_thread *t, uint64_t ticks)
{
	struct digest_frame *f = &t->frames[t->root];
	uint32_t cells[DIGEST_ROW_LONG + 1][2], count = 0, state = digest_run_end(d, &f->run);

	while (d->nodes[state].times && count < DIGEST_ROW_LONG && !f->run.pieces) {
		cells[count][0] = d->nodes[state].child;
		cells[count++][1] = d->nodes[state].times;
		state = d->nodes[state].prev;
	}
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t *cell = cells[count - 1 - i];

		for (uint32_t n = 0; n < min_of(cell[1], 1024u); n++)
			if (f->first && i + 1 >= f->first && t->session)
				digest_add_segment(d, t, cell[0], ticks, ticks);
			else
				digest_add_rest(d, t, cell[0], ticks, ticks);
	}
	f->session = t->session;
	f->run = (struct digest_run){.state = digest_leaf(d, f->fn)};
	t->session = 0;
	t->has_data = 0;
	t->root = t->root + 1 < min_of(t->depth, DIGEST_DEPTH) ? t->root + 1 : NO_ROOT;
}

static void make_dispatcher(struct digest *d, struct digest_thread *t, uint32_t depth, uint64_t ticks)
{
	uint32_t fn = t->frames[depth].fn;

	if (fn >= DIGEST_FN || d->is_dispatcher[fn])
		return;
	d->is_dispatcher[fn] = 1;
	/* Its callers are dispatchers as well, or it would not be called for several sessions. */
	while (t->root != NO_ROOT && t->root <= depth)
		split_root(d, t, ticks);
}

static void touch(struct digest *d, struct digest_thread *t, const struct digest_session *s, enum flow_op op,
		  uint64_t ticks)
{
	bool accepts = op == FLOW_OP_ACCEPT || op == FLOW_OP_CONNECT;

	for (uint32_t i = min_of(t->depth, DIGEST_DEPTH); i-- > 0;) {
		struct digest_frame *f = &t->frames[i];

		if (f->touched == s->socket)
			return;
		if (f->touched || (f->ticks < s->birth && (!accepts || f->waited)))
			make_dispatcher(d, t, i, ticks);
		f->touched = s->socket;
	}
}

static void learn_role(struct digest *d, struct digest_session *s, const struct digest_operation *op)
{
	struct digest_session *listener;

	if (op->op == FLOW_OP_ACCEPT && op->result >= 0) {
		s->role = DIGEST_SERVED;
		s->birth = op->end;
		listener = session_find(d, (uint32_t)op->aux);
		if (listener)
			listener->role = DIGEST_LISTENING;
	} else if (op->op == FLOW_OP_CONNECT) {
		s->role = DIGEST_MADE;
		s->birth = s->birth ? s->birth : op->start;
	} else if (op->op == FLOW_OP_LISTEN) {
		s->role = DIGEST_LISTENING;
	} else if (op->op == FLOW_OP_TAKE && s->role == DIGEST_OTHER) {
		s->role = DIGEST_SERVED;
	}
}

static bool is_data(const struct digest_operation *op)
{
	return op->result > 0 && (op->op == FLOW_OP_READ || op->op == FLOW_OP_WRITE || op->op == FLOW_OP_SENDFILE);
}

static void count_operation(struct digest_session *s, struct digest_session *own, const struct digest_operation *op)
{
	bool is_read = op->op == FLOW_OP_READ;

	extend(own, op->start, op->end);
	own->errors += op->result < 0 && op->result != -EAGAIN && op->result != -EINTR && op->result != -EINPROGRESS;
	if (s != own)
		return;
	if (is_data(op)) {
		own->requests += is_read && !own->unanswered;
		own->unanswered = is_read;
		*(is_read ? &own->rx : &own->tx) += (uint64_t)op->result;
	}
	own->closed |= op->op == FLOW_OP_CLOSE;
}

static uint32_t session_now(struct digest_thread *t)
{
	const struct digest_frame *f = digest_innermost(t);

	return t->root != NO_ROOT ? t->session : f ? f->session : 0;
}

static void take_wait(struct digest_thread *t)
{
	uint32_t depth = min_of(t->depth, DIGEST_DEPTH);

	if (t->root == NO_ROOT && depth)
		t->frames[depth - 1].session = 0;
	for (uint32_t i = depth; i-- > 0 && !t->frames[i].waited;)
		t->frames[i].waited = !t->frames[i].touched;
}

/* The thread that accepted it may not have been folded yet. */
static bool may_be_session(const struct digest_session *s)
{
	struct flow_socket_words words;

	memcpy(&words, s->described, sizeof(words));
	return s->role == DIGEST_SERVED || s->role == DIGEST_MADE ||
	       (s->role == DIGEST_OTHER && (!words.family || (words.type == SOCK_STREAM && words.rport)));
}

/* From now on the thread works for that session, until something else indicates otherwise. */
static void work_for(struct digest_thread *t, const struct digest_session *own)
{
	struct digest_frame *f = digest_innermost(t);

	if (t->root != NO_ROOT)
		t->session = t->session ? t->session : own->socket;
	else if (f)
		f->session = own->socket;
}

void digest_take_operation(struct digest *d, struct digest_thread *t, const struct digest_operation *op)
{
	struct digest_session *s, *own;
	uint32_t now = session_now(t);

	if (op->op == FLOW_OP_WAIT)
		return take_wait(t);
	s = session_at(d, op->socket, op->end);
	if (!s)
		return;
	learn_role(d, s, op);
	if (s->role == DIGEST_SERVED || op->op == FLOW_OP_LISTEN)
		touch(d, t, s, op->op, op->end);
	if (op->op == FLOW_OP_CONNECT && s->owner == s->socket && now && now != s->socket)
		s->owner = now;
	if (!may_be_session(s))
		return;
	own = session_find(d, s->owner);
	if (!own)
		own = s;
	count_operation(s, own, op);
	work_for(t, own);
	t->has_data |= t->root != NO_ROOT && is_data(op);
}

/* Entry of a value, existing or new; a colliding old entry was never popped. */
static struct digest_value *value_at(struct digest *d, uint64_t value)
{
	uint32_t at = digest_hash((uint32_t)value, (uint32_t)(value >> 32), 0);
	struct digest_value *place = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct digest_value *v = &d->values[(at + i) & (DIGEST_VALUES - 1)];

		if (v->socket && v->value == value)
			return v;
		if (!place || (place->socket && !v->socket))
			place = v;
	}
	return place;
}

void digest_take_value(struct digest *d, struct digest_thread *t, enum flow_value kind, uint64_t value, uint64_t ticks)
{
	struct digest_value *v = value_at(d, value);
	uint32_t now = session_now(t);
	struct digest_session *s;

	if (kind == FLOW_VALUE_PUSH && now) {
		*v = (struct digest_value){.value = value, .socket = now};
	} else if (kind == FLOW_VALUE_POP && v->socket && v->value == value) {
		s = session_find(d, v->socket);
		v->socket = 0;
		if (!s)
			return;
		touch(d, t, s, FLOW_OP_READ, ticks);
		work_for(t, s);
	}
}

void digest_take_socket(struct digest *d, const uint32_t *words, uint64_t now)
{
	struct digest_session *s = session_at(d, words[0], now);
	struct flow_socket_words seen;

	if (!s)
		return;
	memcpy(s->described, words, sizeof(s->described));
	memcpy(&seen, words, sizeof(seen));
	/* A connected stream that existed before: a client, unless a connect is seen. */
	if (s->role == DIGEST_OTHER && seen.type == SOCK_STREAM && seen.rport)
		s->role = DIGEST_SERVED;
}

void digest_end(struct digest *d, uint64_t ticks)
{
	d->head.last = max_of(d->head.last, ticks);
	for (uint32_t i = 0; i < DIGEST_SESSIONS; i++)
		if (d->sessions[i].socket)
			count_session(d, &d->sessions[i], d->head.last);
}
