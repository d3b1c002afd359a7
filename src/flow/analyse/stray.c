/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/stray.h"

/* Operations on outgoing connections that one call is remembered for. */
#define TIES_MAX 64
/* Clients of one thread that wait for an answer at the same time: with more, nobody is the only one. */
#define WAITING_MAX 256

/* An outgoing connection. */
struct made {
	uint64_t start_ticks, end_ticks;
	uint32_t socket; /* index */
	uint32_t thread;
	uint32_t root; /* function of the segment that opened it */
	uint32_t client;
	uint32_t asking; /* the client that had asked last when it was opened or written to */
};

/* A client waits for an answer. */
struct asked {
	uint64_t start_ticks, end_ticks;
	uint32_t client; /* index of the socket */
	uint32_t thread;
};

struct learner {
	struct demux *demux;
	uint32_t client; /* of the open segment; DEMUX_NONE */
	VEC(uint32_t) touched;
	uint32_t asking; /* the client that asked last in this thread; DEMUX_NONE */
	/* Outgoing connections whose answers were just read, by calls that serve no client. */
	VEC(struct answer {
		uint32_t made; /* index of the socket */
		uint64_t ticks;
	})
	answers;
	demux_ties likely; /* connections and the clients that were written to at once after their answer */
	SPILL(struct made) made;
	SPILL(struct asked) asked;
	SPILL(uint32_t) made_of;  /* by socket: index in made, plus 1 */
	SPILL(uint32_t) asked_of; /* by socket: index in asked of a question that is still open, plus 1 */
	bool *opens;              /* by function: root of segments that open connections for clients */
};

/* --- one walk over the trace --- */

static void enter(void *context, const struct walk *walk, uint32_t fn, uint64_t ticks)
{
	struct learner *l = context;

	(void)fn;
	(void)ticks;
	if (walk->root != SIZE_MAX && walk_at_root(walk)) {
		l->client = DEMUX_NONE;
		l->touched.count = 0;
	}
}

static void leave(void *context, const struct walk *walk, uint64_t ticks)
{
	struct learner *l = context;

	if (walk->root == SIZE_MAX || !walk_at_root(walk) || l->client == DEMUX_NONE)
		return;
	vec_each(&l->touched, made)
		spill_push(&l->demux->ties, (struct demux_tie){ticks, *made, l->client});
}

/*
 * A client that was waiting is written to at once after an answer came: it asked. Of several answers it is the one that
 * was asked for just after the client had asked.
 */
static void see_reply(struct learner *l, uint32_t index)
{
	const struct asked *asked = l->asked_of.items[index] ? &l->asked.items[l->asked_of.items[index] - 1] : NULL;
	size_t found = l->answers.count == 1 ? 0 : SIZE_MAX;

	for (size_t i = 0; i < l->answers.count; i++)
		if (l->made.items[l->made_of.items[l->answers.items[i].made] - 1].asking == index)
			found = i;
	if (!asked || found == SIZE_MAX || asked->start_ticks > l->answers.items[found].ticks)
		return;
	spill_push(&l->likely, (struct demux_tie){l->answers.items[found].ticks, l->answers.items[found].made, index});
	l->answers.items[found] = l->answers.items[--l->answers.count];
}

static void see_answer(struct learner *l, uint32_t index, uint64_t ticks)
{
	vec_each(&l->answers, answer)
		if (answer->made == index) {
			answer->ticks = ticks;
			return;
		}
	if (l->answers.count < TIES_MAX)
		vec_push(&l->answers, (struct answer){index, ticks});
}

static void see_client(struct learner *l, const struct walk *walk, uint32_t index, const struct flow_operation *op)
{
	uint32_t *open = &l->asked_of.items[index];

	if (!demux_is_data(op))
		return;
	if (op->op != FLOW_OP_READ)
		see_reply(l, index);
	if (op->op == FLOW_OP_READ && !*open) {
		spill_push(&l->asked, (struct asked){op->end_ticks, UINT64_MAX, index, (uint32_t)walk->thread});
		*open = (uint32_t)l->asked.count;
		l->asking = index;
	} else if (op->op != FLOW_OP_READ && *open) {
		l->asked.items[*open - 1].end_ticks = op->start_ticks;
		*open = 0;
	}
}

static void see_made(struct learner *l, const struct walk *walk, uint32_t index, const struct flow_operation *op)
{
	uint32_t *known = &l->made_of.items[index];

	if (!*known) {
		spill_push(&l->made,
			   (struct made){
				   .start_ticks = op->start_ticks,
				   .socket = index,
				   .thread = (uint32_t)walk->thread,
				   .root = walk->root == SIZE_MAX ? UINT32_MAX : walk->frames.items[walk->root].fn,
				   .client = DEMUX_NONE,
				   .asking = DEMUX_NONE,
			   });
		*known = (uint32_t)l->made.count;
	}
	l->made.items[*known - 1].end_ticks = max_of(l->made.items[*known - 1].end_ticks, op->end_ticks);
	if (walk->root != SIZE_MAX && l->touched.count < TIES_MAX)
		vec_push(&l->touched, index);
	if (op->op == FLOW_OP_READ && demux_is_data(op)) {
		if (walk->root != SIZE_MAX && l->client == DEMUX_NONE)
			see_answer(l, index, op->end_ticks);
	} else if (op->op == FLOW_OP_CONNECT || op->op == FLOW_OP_WRITE) {
		l->made.items[*known - 1].asking = l->asking;
	}
}

static void operation(void *context, const struct walk *walk, const struct flow_operation *op)
{
	struct learner *l = context;
	uint32_t index = demux_socket_find(walk->demux, op->socket);

	/* Nothing was to be done for that answer. */
	if (op->op == FLOW_OP_WAIT && op->end_ticks - op->start_ticks > walk->short_ticks)
		l->answers.count = 0;
	if (index == DEMUX_NONE)
		return;
	if (walk->demux->sockets.items[index].role == DEMUX_SERVED) {
		see_client(l, walk, index, op);
		if (walk->root != SIZE_MAX && l->client == DEMUX_NONE)
			l->client = index;
	} else if (walk->demux->sockets.items[index].role == DEMUX_MADE) {
		see_made(l, walk, index, op);
	}
}

static const struct walk_visitor visitor = {.enter = enter, .leave = leave, .operation = operation};

/* --- connections without a tie --- */

static int by_thread_and_start(const void *a, const void *b)
{
	const struct made *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->start_ticks < other->start_ticks ? -1 : one->start_ticks > other->start_ticks;
}

static int asked_first(const void *a, const void *b)
{
	const struct asked *one = a, *other = b;

	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->start_ticks < other->start_ticks ? -1 : one->start_ticks > other->start_ticks;
}

/* Whether the client has another connection during this one: those opened before, and the ones soon after. */
static bool has_another(const struct learner *l, size_t at, uint32_t client)
{
	const struct made *made = &l->made.items[at];

	for (size_t i = at; i-- > 0 && at - i <= WAITING_MAX && l->made.items[i].thread == made->thread;)
		if (l->made.items[i].client == client && l->made.items[i].end_ticks > made->start_ticks)
			return true;
	for (size_t i = at + 1; i < l->made.count && i - at <= WAITING_MAX && l->made.items[i].thread == made->thread &&
				l->made.items[i].start_ticks < made->end_ticks;
	     i++)
		if (l->made.items[i].client == client)
			return true;
	return false;
}

/* The only client of the thread that waits for an answer, and has no other connection; DEMUX_NONE. */
static uint32_t only_one(const struct learner *l, size_t at, const struct asked *waiting, size_t count)
{
	uint32_t found = DEMUX_NONE;

	for (size_t i = 0; i < count; i++) {
		if (has_another(l, at, waiting[i].client))
			continue;
		if (found != DEMUX_NONE)
			return DEMUX_NONE;
		found = waiting[i].client;
	}
	return found;
}

/* Connections that no call touched together with a client are of the one that their answer was passed on to. */
static void take_likely(struct learner *l)
{
	size_t sure = l->demux->ties.count;
	_cleanup_free_ bool *is_tied = xzalloc(l->demux->sockets.count + 1);

	for (size_t i = 0; i < sure; i++) {
		is_tied[l->demux->ties.items[i].made] = true;
		spill_trim_at(i);
	}
	for (size_t i = 0; i < l->likely.count; i++) {
		if (!is_tied[l->likely.items[i].made])
			spill_push(&l->demux->ties, l->likely.items[i]);
		spill_trim_at(i);
	}
	spill_done(&l->likely);
}

/* What is known from ties, and which functions open such connections. */
static void take_ties(struct learner *l)
{
	for (size_t i = 0; i < l->demux->ties.count; i++) {
		const struct demux_tie *tie = &l->demux->ties.items[i];
		struct made *made = &l->made.items[l->made_of.items[tie->made] - 1];

		made->client = tie->client;
		if (made->root != UINT32_MAX)
			l->opens[made->root] = true;
		spill_trim_at(i);
	}
}

static void assign_others(struct learner *l)
{
	VEC(struct asked) waiting = {};
	size_t next = 0;

	spill_sort(l->made.items, l->made.count, sizeof(*l->made.items), by_thread_and_start);
	spill_sort(l->asked.items, l->asked.count, sizeof(*l->asked.items), asked_first);
	for (size_t i = 0; i < l->made.count; i++) {
		struct made *made = &l->made.items[i];
		size_t kept = 0;

		spill_trim_at(i);
		for (; next < l->asked.count && (l->asked.items[next].thread < made->thread ||
						 (l->asked.items[next].thread == made->thread &&
						  l->asked.items[next].start_ticks <= made->start_ticks));
		     next++)
			vec_push(&waiting, l->asked.items[next]);
		for (size_t k = 0; k < waiting.count; k++)
			if (waiting.items[k].thread == made->thread && waiting.items[k].end_ticks > made->start_ticks)
				waiting.items[kept++] = waiting.items[k];
		waiting.count = kept;
		if (made->client != DEMUX_NONE || made->root == UINT32_MAX || !l->opens[made->root] ||
		    waiting.count > WAITING_MAX)
			continue;
		made->client = only_one(l, i, waiting.items, waiting.count);
		if (made->client != DEMUX_NONE)
			spill_push(&l->demux->ties, (struct demux_tie){made->end_ticks, made->socket, made->client});
	}
	vec_done(&waiting);
}

void stray_learn(struct demux *demux)
{
	struct learner l = {.demux = demux, .client = DEMUX_NONE};
	_cleanup_walk_ struct walk walk = {};

	if (demux->by > DEMUX_REQUEST)
		return;
	/* With dispatchers that are not known, calls seem to touch what only follows. */
	if (!demux->is_sure)
		demux_learn_all(demux);
	spill_done(&demux->ties);
	l.opens = xzalloc(demux->trace->function_count + 1);
	spill_fill(&l.made_of, demux->sockets.count);
	spill_fill(&l.asked_of, demux->sockets.count);
	walk_init(&walk, demux);
	for (size_t i = 0; i < demux->trace->thread_count; i++) {
		l.answers.count = 0;
		l.asking = DEMUX_NONE;
		walk_thread(&walk, &visitor, &l, i);
	}
	take_likely(&l);
	take_ties(&l);
	assign_others(&l);
	demux_ties_sort(demux);
	vec_done(&l.touched);
	vec_done(&l.answers);
	spill_done(&l.made);
	spill_done(&l.asked);
	spill_done(&l.made_of);
	spill_done(&l.asked_of);
	free(l.opens);
}
