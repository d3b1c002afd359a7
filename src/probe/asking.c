/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/asking.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
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

struct state {
	struct kernel_object *object;
	struct bpf_link *link;
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

/* An iterator sees the namespace of the thread that creates it. */
static int walk(const struct state *state, struct snapshot *snapshot, struct why *why)
{
	struct snapshot_table *table = snapshot_table(snapshot, &asking_type);
	_cleanup_close_ int fd = bpf_iter_create(bpf_link__fd(state->link));
	struct asking_row rows[64];
	ssize_t n;

	if (fd < 0)
		return why_set(why, -errno, "cannot iterate over connections: %s", strerror(errno));
	while ((n = read(fd, rows, sizeof(rows))) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof(rows[0]); i++) {
			struct asking_record *record = snapshot_table_add(table);

			if (record)
				*record =
					(struct asking_record){snapshot->netns, rows[i].cookie, rows[i].sent_last != 0};
		}
	return 0;
}

/* Walking all connections of the host takes 0.5 ms: only if one is idle, having sent and received last in one tick. */
static bool is_in_doubt(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);

		if (s->netns == snapshot->netns && s->state == SOCKET_ESTABLISHED && t &&
		    t->last_sent_ns == t->last_received_ns && t->last_sent_ns >= ASKING_SHORTEST_NS &&
		    t->last_sent_ns <= ASKING_LONGEST_NS)
			return true;
	}
	return false;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r = 0;

	if (!request->repeated || request->no_bpf || state->failed || !is_in_doubt(snapshot))
		return 0;
	if (!state->link)
		r = load(state, why);
	if (r == 0)
		r = walk(state, snapshot, why);
	state->failed = r < 0;
	return r;
}

static void release(void *data)
{
	struct state *state = data;

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
