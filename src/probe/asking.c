/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/asking.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "kernel/object.h"
#include "probe/asking.bpf.h"
#include "snapshot/core/snapshot.h"
#include "snapshot/socket/socket.h"

#define A struct asking_record
static const struct field asking_fields[] = {
	FIELD(A, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(A, cookie, ID, "socket cookie"),
	FIELD(A, sent_last, BOOL, "data was sent last, and acknowledged; otherwise data was received last"),
};
#undef A
RECORD_TYPE(asking_type, "asking", struct asking_record, asking_fields, "order of data sent and received in one tick");

#define PROGRAM "asking_find"
/* As in asking.bpf.c, with two ticks for the time that passes until it runs; the kernel's times here are in ticks. */
#define ASKING_SHORTEST_NS (8 * NSEC_PER_MSEC)
#define ASKING_LONGEST_NS  (60 * NSEC_PER_SEC)

#define KNOWN_MAX          100000
#define FORGET_NS          (5 * NSEC_PER_SEC)
/* Of a walk's own duration: how long to wait before the next one, where few connections are followed. */
#define PAUSE_FACTOR 200
#define LONG_NS      (5 * NSEC_PER_MSEC)

struct counts {
	uint32_t in, out; /* segments with data */
};

/* The last answer about a connection. */
struct known {
	struct counts counts;
	bool sent_last;
	uint64_t seen_ns; /* the last sample it was in */
};

struct state {
	struct kernel_object *object;
	struct bpf_link *link;
	bool failed;
	struct map known; /* cookie -> struct known */
	uint64_t ended_ns, took_ns;
};

static int load(struct state *state, struct why *why)
{
	int r = kernel_object_find("asking.bpf.o", &state->object, why);

	if (r == 0)
		r = kernel_object_choose(state->object, PROGRAM, why);
	if (r == 0)
		r = kernel_object_open_chosen(state->object, why);
	if (r == 0)
		r = kernel_object_load(state->object, why);
	if (r < 0)
		return r;
	state->link = bpf_program__attach_iter(kernel_object_program(state->object, PROGRAM), NULL);
	return state->link ? 0 : why_set(why, -errno, "cannot iterate over connections: %s", strerror(errno));
}

/* --- what is known --- */

static struct counts counts_of(const struct tcp_record *t)
{
	return (struct counts){t->data_segs_in, t->data_segs_out};
}

static bool is_in_doubt(const struct snapshot *snapshot, const struct socket_record *s, const struct tcp_record *t)
{
	return s->netns == snapshot->netns && s->state == SOCKET_ESTABLISHED && t &&
	       t->last_sent_ns == t->last_received_ns && t->last_sent_ns >= ASKING_SHORTEST_NS &&
	       t->last_sent_ns <= ASKING_LONGEST_NS;
}

static void remember(struct state *state, const struct snapshot *snapshot, const struct known *known, uint64_t cookie)
{
	struct known *slot = map_put(&state->known, &cookie, NULL);

	if (!slot)
		return;
	*slot = *known;
	slot->seen_ns = snapshot->begin_boot_ns;
}

/* Nothing has moved since it was found out: it is as it was. */
static bool is_known(struct state *state, const struct snapshot *snapshot, const struct tcp_record *t)
{
	struct known *known = map_get(&state->known, &t->tcp_cookie);
	struct counts now = counts_of(t);

	if (t->order != TCP_ORDER_UNKNOWN) {
		remember(state, snapshot, &(struct known){now, t->order == TCP_SENT_LAST}, t->tcp_cookie);
		return true;
	}
	if (!known || known->counts.in != now.in || known->counts.out != now.out)
		return false;
	known->seen_ns = snapshot->begin_boot_ns;
	return true;
}

static void forget(struct state *state, uint64_t now_ns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->known, &at, &key, &value))
		if (now_ns - ((const struct known *)value)->seen_ns > FORGET_NS)
			(void)map_remove(&state->known, key);
}

/* Whether one of them is not known. */
static bool any_unknown(struct state *state, const struct snapshot *snapshot)
{
	bool unknown = false;

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);

		unknown |= is_in_doubt(snapshot, s, t) && !is_known(state, snapshot, t);
	}
	return unknown;
}

/* --- finding out --- */

/* What the kernel tells of a connection; the second is the age of the last ACK of data that was sent. */
struct order {
	bool sent_last;
	uint64_t delivered_ns;
};

static bool is_sent_last(const struct order *order, const struct tcp_record *t)
{
	return order->sent_last || order->delivered_ns + TCP_ORDER_SLACK_NS < t->last_received_ns;
}

/* An iterator sees the namespace of the thread that creates it. */
static int walk(struct state *state, struct map *found, struct why *why)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(state->link));
	struct asking_row rows[64];
	ssize_t n;

	if (fd < 0)
		return why_set(why, -errno, "cannot iterate over connections: %s", strerror(errno));
	while ((n = read(fd, rows, sizeof(rows))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(rows[0]); i++) {
			struct order *order = map_put(found, &rows[i].cookie, NULL);

			if (order)
				*order = (struct order){rows[i].sent_last != 0, rows[i].delivered_us * 1000};
		}
	return 0;
}

/* Walking all connections of the host takes 0.5 ms and more: only if one is in doubt that is not known. */
static int find_out(struct state *state, const struct snapshot *snapshot, struct why *why)
{
	struct map found = MAP_INIT(sizeof(uint64_t), sizeof(struct order), 0);
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = state->link ? 0 : load(state, why);

	if (r == 0)
		r = walk(state, &found, why);
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		const struct order *order = t ? map_get(&found, &t->tcp_cookie) : NULL;

		if (order && is_in_doubt(snapshot, s, t))
			remember(state, snapshot, &(struct known){counts_of(t), is_sent_last(order, t)}, t->tcp_cookie);
	}
	map_done(&found);
	state->ended_ns = clock_monotonic_ns();
	state->took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	return r;
}

static void tell(struct state *state, struct snapshot *snapshot)
{
	struct snapshot_table *table = snapshot_table(snapshot, &asking_type);

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		const struct known *known = is_in_doubt(snapshot, s, t) && is_known(state, snapshot, t)
						    ? map_get(&state->known, &t->tcp_cookie)
						    : NULL;
		struct asking_record *record = known ? snapshot_table_add(table) : NULL;

		if (record)
			*record = (struct asking_record){snapshot->netns, s->cookie, known->sent_last};
	}
}

/*
 * Where few of many connections are followed or active, all of them are not walked for their sake all the time, nor
 * where a walk takes long: 20 ms with 20,000 connections.
 */
static bool may_walk(const struct state *state, const struct snapshot_request *request)
{
	uint64_t pause = request->followed_max      ? PAUSE_FACTOR
			 : request->active_only     ? PAUSE_FACTOR / 2
			 : state->took_ns > LONG_NS ? PAUSE_FACTOR / 4
						    : 0;

	return state->ended_ns == 0 || clock_monotonic_ns() - state->ended_ns >= pause * state->took_ns;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r = 0;

	if (!request->repeated || request->no_bpf || state->failed)
		return 0;
	if (state->known.value_size == 0)
		state->known = MAP_INIT(sizeof(uint64_t), sizeof(struct known), KNOWN_MAX);
	if (any_unknown(state, snapshot) && may_walk(state, request))
		r = find_out(state, snapshot, why);
	state->failed = r < 0;
	tell(state, snapshot);
	forget(state, snapshot->begin_boot_ns);
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	map_done(&state->known);
	(void)bpf_link__destroy(state->link);
	kernel_object_close(state->object);
}

static const struct record_type *const types[] = {&asking_type, NULL};
static const struct record_type *const needs[] = {&socket_type, &tcp_type, NULL};

static const struct snapshot_source asking_source = {
	.name = "asking",
	.lost = "whether a request sent in the tick of an answer is unanswered",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.on_demand = true,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(asking_source);
