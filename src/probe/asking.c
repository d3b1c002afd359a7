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
#include "snapshot/core/netns_state.h"
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

/* Walks take at most this share of the time: 1/50. */
#define PAUSE_FACTOR 50
#define ROWS_MAX     100000

/* The last walk through a namespace. */
struct asked_walk {
	struct netns_state of;
	uint64_t began_ns; /* boot time */
	uint64_t took_ns;  /* of CPU time */
	struct map rows;   /* cookie -> bool: sent_last */
};

struct state {
	struct kernel_object *object;
	struct bpf_link *link;
	struct netns_states walks;
	bool failed;
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

static void add_row(struct snapshot *snapshot, uint64_t cookie, bool sent_last)
{
	struct asking_record *record = snapshot_table_add(snapshot_table(snapshot, &asking_type));

	if (record)
		*record = (struct asking_record){snapshot->netns, cookie, sent_last};
}

/* An iterator sees the namespace of the thread that creates it. */
static int walk(const struct state *state, struct asked_walk *walk, struct snapshot *snapshot, struct why *why)
{
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(state->link));
	uint64_t began_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct asking_row rows[64];
	ssize_t n;

	if (fd < 0)
		return why_set(why, -errno, "cannot iterate over connections: %s", strerror(errno));
	map_done(&walk->rows);
	walk->rows = MAP_INIT(sizeof(uint64_t), sizeof(bool), ROWS_MAX);
	walk->began_ns = clock_ns(CLOCK_BOOTTIME);
	while ((n = read(fd, rows, sizeof(rows))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(rows[0]); i++) {
			bool *known = map_put(&walk->rows, &rows[i].cookie, NULL);

			add_row(snapshot, rows[i].cookie, rows[i].sent_last != 0);
			if (known)
				*known = rows[i].sent_last != 0;
		}
	walk->took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
	return 0;
}

static bool is_doubtful(const struct snapshot *snapshot, const struct socket_record *s, const struct tcp_record *t)
{
	return s->netns == snapshot->netns && s->state == SOCKET_ESTABLISHED && t &&
	       t->last_sent_ns == t->last_received_ns && t->last_sent_ns >= ASKING_SHORTEST_NS &&
	       t->last_sent_ns <= ASKING_LONGEST_NS;
}

/* Walking all connections of the host takes 0.5 ms: only if one is idle, with its last data both ways in one tick. */
static bool is_in_doubt(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, s)
		if (is_doubtful(snapshot, s, socket_tcp(snapshot, s)))
			return true;
	return false;
}

/* With 20,000 connections it takes 20 ms. What was found holds for those that have rested since. */
static void repeat(const struct asked_walk *walk, struct snapshot *snapshot)
{
	uint64_t since_ns = snapshot->sockets_boot_ns - walk->began_ns;

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		const bool *sent_last;

		if (!is_doubtful(snapshot, s, t) || t->last_sent_ns <= since_ns)
			continue;
		sent_last = map_get(&walk->rows, &s->cookie);
		if (sent_last)
			add_row(snapshot, s->cookie, *sent_last);
	}
}

static void release_walk(struct netns_state *walk)
{
	map_done(&((struct asked_walk *)walk)->rows);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	struct asked_walk *last;
	bool is_new;
	int r = 0;

	if (!request->repeated || request->no_bpf || state->failed || !is_in_doubt(snapshot))
		return 0;
	last = netns_state_find(&state->walks, snapshot, sizeof(*last), release_walk, &is_new);
	if (!is_new && snapshot->sockets_boot_ns - last->began_ns < PAUSE_FACTOR * last->took_ns) {
		repeat(last, snapshot);
		return 0;
	}
	if (!state->link)
		r = load(state, why);
	if (r == 0)
		r = walk(state, last, snapshot, why);
	state->failed = r < 0;
	return r;
}

static void release(void *data)
{
	struct state *state = data;

	netns_states_done(&state->walks, release_walk);
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
