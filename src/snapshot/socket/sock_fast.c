/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "base/worker.h"
#include "snapshot/socket/sock_ask.h"
#include "snapshot/socket/sock_decode.h"
#include "snapshot/socket/sock_fast.h"
#include "snapshot/socket/socket_share.h"

/* States with entries that are no full sockets (request and TIME-WAIT sockets). */
#define SLOW_STATES                                                                                                    \
	(1u << SOCKET_LISTEN | 1u << SOCKET_SYN_RECV | 1u << SOCKET_TIME_WAIT | 1u << SOCKET_FIN_WAIT2 |               \
	 1u << SOCKET_CLOSE)
/* Approximate cost of a walk. */
#define SOCKET_NS 700
/* A single request costs ten times as much as a socket in a walk. */
#define UNNAMED_MAX 2000
#define TRIES       4
/* Connections per thread to verify against sock_diag. */
#define SAMPLES 4

struct sample {
	struct socket_record socket;
	struct tcp_record tcp;
};

/* One of two threads that share the buckets of the table. */
struct lane {
	struct snapshot *snapshot;
	const struct sock_fast_request *request;
	struct socket_parse *context;
	struct sock_decode decode;
	uint64_t *next; /* next bucket to take; atomic */
	uint64_t buckets, step;
	uint32_t rest;
	struct sock_questions unnamed;
	struct walk_sieve sieve;
	struct sample samples[SAMPLES];
	unsigned sample_count;
	int result;
	struct worker worker;
};

static void take_sample(struct lane *lane)
{
	const struct socket_record *sockets = (const struct socket_record *)lane->context->sockets->items;
	const struct tcp_record *tcps = (const struct tcp_record *)lane->context->tcps->items;
	struct sample *sample = &lane->samples[lane->sample_count];

	sample->socket = sockets[lane->context->sockets->count - 1];
	if (sample->socket.tcp != SOCKET_NONE)
		sample->tcp = tcps[sample->socket.tcp];
	/* Active connections change too much to compare. */
	if (lane->request->with_tcp && socket_is_active(&sample->socket, &sample->tcp))
		return;
	lane->sample_count++;
}

static void take_record(struct lane *lane, const uint8_t *record, bool may_sample)
{
	uint8_t state = sock_decode_state(&lane->decode, record);
	struct socket_answer answer;
	size_t before = lane->context->sockets->count;

	if (!sock_decode_is_whole(&lane->decode, record))
		return;
	if (1u << state & SLOW_STATES) {
		lane->rest |= 1u << state;
		return;
	}
	if (!(lane->request->states & 1u << state))
		return;
	sock_decode_record(&lane->decode, record, &answer);
	if (!answer.msg.id.idiag_cookie[0] && !answer.msg.id.idiag_cookie[1]) {
		sock_ask_about(&lane->unnamed, &answer.msg);
		return;
	}
	socket_add_answer(lane->snapshot, lane->context, &answer);
	if (may_sample && lane->sample_count < SAMPLES && lane->context->sockets->count != before)
		take_sample(lane);
}

/* Takes the records of complete buckets; returns the number of buckets. */
static uint64_t take_records(struct lane *lane, uint64_t count)
{
	const struct sock_walk *walk = lane->decode.walk;
	const struct walk_area *area = sock_walk_area(walk, lane->decode.lane);
	uint64_t end = area->full ? area->first + area->at - 1 : area->first + count, taken = 0;

	for (uint64_t i = 0; i < area->count && i < WALK_RECORDS; i++) {
		const uint8_t *record = area->records + i * walk->record_size;
		uint64_t bucket;

		memcpy(&bucket, record, sizeof(bucket));
		if (bucket >= end)
			break;
		take_record(lane, record, taken++ == 0);
	}
	lane->rest |= area->others & 1u << SOCKET_TIME_WAIT ? 1u << SOCKET_TIME_WAIT | 1u << SOCKET_FIN_WAIT2 : 0;
	lane->rest |= area->others & ~(UINT64_C(1) << SOCKET_TIME_WAIT) ? 1u << SOCKET_SYN_RECV : 0;
	return end - area->first;
}

static int walk_through(struct lane *lane, uint64_t first, uint64_t count)
{
	struct sock_walk *walk = lane->decode.walk;
	const struct walk_area *area = sock_walk_area(walk, lane->decode.lane);

	while (count > 0) {
		uint64_t whole;
		int r;

		for (unsigned try = 0;; try++) {
			r = sock_walk_run(walk, lane->decode.lane, first, count, &lane->sieve);
			if (r < 0)
				return r;
			if (!area->strayed)
				break;
			if (try + 1 == TRIES)
				return -EAGAIN;
		}
		if (area->mask + 1 != lane->buckets || area->at < min_of(count, 1u))
			return -EAGAIN;
		whole = take_records(lane, count);
		if (whole == 0 || lane->decode.unable || lane->unnamed.count > UNNAMED_MAX)
			return -EOPNOTSUPP;
		for (unsigned i = 0; i < WALK_CLASSES; i++)
			lane->sieve.classes[i] = area->sieve.classes[i];
		first += whole;
		count -= whole;
	}
	return 0;
}

static void run_lane(void *data)
{
	struct lane *lane = data;

	while (lane->result == 0) {
		uint64_t first = __atomic_fetch_add(lane->next, lane->step, __ATOMIC_RELAXED);

		if (first >= lane->buckets)
			return;
		lane->result = walk_through(lane, first, min_of(lane->step, lane->buckets - first));
	}
	/* Stops the other thread. */
	__atomic_store_n(lane->next, lane->buckets, __ATOMIC_RELAXED);
}

static int open_walk(struct sock_fast *fast, const struct sock_fast_request *request, uint64_t *ret_buckets,
		     struct why *why)
{
	int r;

	if (fast->walk && fast->walk->with_tcp != request->with_tcp) {
		sock_walk_close(fast->walk);
		fast->walk = NULL;
		fast->checked = false;
	}
	r = fast->walk ? 0 : sock_walk_open(&fast->walk, request->with_tcp, why);
	/* Size of the hash table. */
	if (r == 0)
		r = sock_walk_run(fast->walk, 0, 0, 0, NULL);
	if (r < 0)
		return r;
	*ret_buckets = sock_walk_area(fast->walk, 0)->mask + 1;
	return 0;
}

/* Compares all that does not change on an idle connection. */
static bool same_socket(struct socket_record a, struct socket_record b)
{
	a.timer_ns = b.timer_ns;
	a.tos = b.tos;
	a.tclass = b.tclass;
	a.tcp = b.tcp;
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool same_tcp(struct tcp_record a, struct tcp_record b)
{
	a.last_sent_ns = b.last_sent_ns;
	a.last_received_ns = b.last_received_ns;
	a.last_ack_ns = b.last_ack_ns;
	a.order = b.order; /* sock_diag does not know it */
	return memcmp(&a, &b, sizeof(a)) == 0;
}

static bool sample_agrees(const struct snapshot *kernel, const struct sample *sample)
{
	snapshot_each(kernel, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(kernel, socket);

		if (socket->cookie != sample->socket.cookie || !tcp || socket_is_active(socket, tcp))
			continue;
		return same_socket(*socket, sample->socket) &&
		       (sample->socket.tcp == SOCKET_NONE || same_tcp(*tcp, sample->tcp));
	}
	return true; /* closed, or active now */
}

/* Verifies some computed records against sock_diag. */
static int check_samples(struct sock_fast *fast, struct snapshot *snapshot, const struct lane lanes[WALK_LANES],
			 struct why *why)
{
	struct socket_parse context = {.proto = IPPROTO_TCP};
	struct sock_questions questions = {};
	int r;

	if (!fast->scratch)
		fast->scratch = snapshot_new();
	snapshot_clear(fast->scratch);
	fast->scratch->netns = snapshot->netns;
	context.sockets = snapshot_table(fast->scratch, &socket_type);
	context.tcps = snapshot_table(fast->scratch, &tcp_type);
	for (unsigned i = 0; i < WALK_LANES; i++)
		for (unsigned k = 0; k < lanes[i].sample_count; k++)
			vec_push(&questions, sock_question(&lanes[i].samples[k].socket, SOCK_ASK_TCP));
	r = sock_ask(&questions, fast->scratch, &context, why);
	vec_done(&questions);
	for (unsigned i = 0; i < WALK_LANES && r == 0; i++)
		for (unsigned k = 0; k < lanes[i].sample_count && r == 0; k++)
			if (!sample_agrees(fast->scratch, &lanes[i].samples[k]))
				r = -EBADMSG;
	fast->checked |= r == 0 && lanes[0].sample_count + lanes[1].sample_count > 0;
	return r;
}

/* Of the caller, in the kernel's unit of time. */
static struct walk_sieve sieve_of(const struct lane *lane)
{
	const struct sock_sieve *sieve = lane->request->sieve;
	struct walk_sieve walk = {.on = sieve != NULL};

	if (!sieve)
		return walk;
	walk.wait_ticks = SOCK_WAIT_NS * lane->decode.hz / NSEC_PER_SEC;
	walk.move_ticks = SOCK_MOVE_NS * lane->decode.hz / NSEC_PER_SEC;
	memcpy(walk.masks, sieve->masks, sizeof(walk.masks));
	return walk;
}

static int walk_table(struct sock_fast *fast, struct snapshot *snapshot, struct sock_fast_request *request,
		      struct lane lanes[WALK_LANES], struct why *why)
{
	struct socket_share share;
	uint64_t next = 0, buckets;
	int r = open_walk(fast, request, &buckets, why);

	if (r < 0)
		return r;
	socket_share_begin(&share, request->context, request->expected);
	for (unsigned i = 0; i < WALK_LANES; i++) {
		lanes[i].snapshot = snapshot;
		lanes[i].request = request;
		lanes[i].context = &share.sides[i].context;
		lanes[i].next = &next;
		lanes[i].buckets = buckets;
		lanes[i].step = max_of(
			min_of(WALK_RECORDS / 2 * buckets / (request->expected + 1), (uint64_t)WALK_BUCKETS), 1u);
		sock_decode_begin(&lanes[i].decode, fast->walk, i);
		lanes[i].sieve = sieve_of(&lanes[i]);
	}
	/* A sieve leaves too little work for two. */
	if (!request->sieve)
		worker_start(&lanes[1].worker, run_lane, &lanes[1], request->expected * SOCKET_NS / 2);
	run_lane(&lanes[0]);
	worker_join(&lanes[1].worker);
	r = lanes[0].result < 0 ? lanes[0].result : lanes[1].result;
	if (r == 0)
		r = socket_share_end(&share);
	if (r == 0 && !fast->checked)
		r = check_samples(fast, snapshot, lanes, why);
	if (request->sieve)
		memcpy(request->sieve->classes, lanes[0].sieve.classes, sizeof(request->sieve->classes));
	return r;
}

int sock_fast_collect(struct sock_fast *fast, struct snapshot *snapshot, struct sock_fast_request *request,
		      struct why *why)
{
	struct snapshot_table *sockets = request->context->sockets, *tcps = request->context->tcps;
	size_t from = sockets->count, parts = tcps->count;
	struct lane lanes[WALK_LANES] = {};
	bool unnamed;
	int r;

	if (fast->failed)
		return -EOPNOTSUPP;
	r = walk_table(fast, snapshot, request, lanes, why);
	unnamed = lanes[0].unnamed.count + lanes[1].unnamed.count > 0;
	for (unsigned i = 0; i < WALK_LANES; i++) {
		if (r == 0)
			r = sock_ask(&lanes[i].unnamed, snapshot, request->context, why);
		vec_done(&lanes[i].unnamed);
	}
	request->rest = (lanes[0].rest | lanes[1].rest | 1u << SOCKET_LISTEN) & request->states;
	if (r < 0) {
		/* A full dump assigns cookies, so the next walk can succeed. */
		fast->failed = !unnamed && r != -EAGAIN;
		sockets->count = from;
		tcps->count = parts;
	}
	return r;
}

void sock_fast_done(struct sock_fast *fast)
{
	sock_walk_close(fast->walk);
	snapshot_free(fast->scratch);
}
