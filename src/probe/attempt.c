/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "probe/attempt.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/map.h"
#include "event/core/attach.h"
#include "kernel/object.h"
#include "probe/attempt.bpf.h"
#include "record/net_names.h"
#include "snapshot/core/nl.h"
#include "snapshot/netlink/route.h"

#define A struct attempt_record
static const struct field attempt_fields[] = {
	FIELD(A, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(A, pid, ID, "process", .zero_is_unknown = true),
	FIELD(A, comm, TEXT, "its name"),
	FIELD(A, raddr, ADDR, "remote address"),
	FIELD(A, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(A, attempts, COUNT, "connects that failed before a packet was sent, since the first sample"),
	FIELD(A, portless, COUNT, "connects that found no free local port (EADDRNOTAVAIL), in the same time"),
	FIELD(A, given_up, COUNT, "connects given up without an answer after 100 ms or more, in the same time"),
	FIELD(A, given_up_wait_ns, DURATION, "mean wait of these"),
	FIELD(A, answered, COUNT, "connects that were answered, in the same time"),
	FIELD(A, error, ENUM, "error of a route lookup for it; unknown if there is a route", .names = &errno_names,
	      .zero_is_unknown = true),
};
#undef A
RECORD_TYPE(attempt_type, "attempt", struct attempt_record, attempt_fields,
	    "TCP connects that failed without an answer");

#define OPENS_MAX 1024
/* The next address of a name is tried within this time. */
#define NEXT_NS (300 * NSEC_PER_MSEC)
/* Nobody gives up sooner for want of an answer. */
#define GIVEN_UP_NS (100 * NSEC_PER_MSEC)
#define ROWS_MAX    256
/* Route lookups per sample. */
#define LOOKUPS_MAX 32

struct row_key {
	uint32_t netns;
	struct addr raddr;
	uint16_t rport;
};

struct row {
	uint32_t pid; /* of the last program that tried */
	char comm[16];
	uint64_t attempts, portless, given_up, given_up_sum_ns;
	uint16_t error;
	bool asked; /* the route, in this sample or a recent one */
};

struct state {
	struct kernel_object *object;
	bool failed;
	int opens_fd, lefts_fd, answers_fd;
	struct map rows; /* struct row_key -> struct row */
};

static int load(struct state *state, struct why *why)
{
	static const char *const programs[] = {"attempt_state", "attempt_connect4", "attempt_connect6"};
	int r = kernel_object_find("attempt.bpf.o", &state->object, why);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(programs); i++)
		r = kernel_object_choose(state->object, programs[i], why);
	if (r == 0)
		r = kernel_object_open_chosen(state->object, why);
	if (r == 0)
		r = kernel_object_load(state->object, why);
	if (r == 0)
		r = kernel_object_attach(state->object, programs[0], why);
	for (size_t i = 1; r == 0 && i < ARRAY_SIZE(programs); i++)
		r = event_attach_cgroups(state->object, programs[i], why);
	if (r < 0)
		return r;
	state->opens_fd = kernel_object_map_fd(state->object, "attempt_opens");
	state->lefts_fd = kernel_object_map_fd(state->object, "attempt_lefts");
	state->rows = MAP_INIT(sizeof(struct row_key), sizeof(struct row), ROWS_MAX);
	state->answers_fd = kernel_object_map_fd(state->object, "attempt_answers");
	return state->opens_fd < 0 || state->lefts_fd < 0 ? -ENOENT : min_of(state->answers_fd, 0);
}

/* The program went on to another address of the same name. */
static bool went_on(const struct state *state, const struct attempt_open *open)
{
	struct attempt_left_key key = {.tgid = open->tgid, .rport = open->rport};
	uint64_t left_ns = 0;

	return bpf_map_lookup_elem(state->lefts_fd, &key, &left_ns) == 0 && left_ns >= open->began_ns &&
	       left_ns < open->began_ns + NEXT_NS;
}

static struct row *row_of(struct state *state, const struct attempt_open *open)
{
	struct row_key key;
	struct row *row;

	memset(&key, 0, sizeof(key));
	key.netns = open->netns;
	key.raddr = addr_from_v6(open->raddr);
	key.rport = open->rport;
	/* Services that are no longer tried make room for others. */
	if (state->rows.count >= ROWS_MAX)
		map_done(&state->rows);
	row = map_put(&state->rows, &key, NULL);
	if (!row)
		return NULL;
	row->pid = open->tgid;
	memcpy(row->comm, open->comm, sizeof(row->comm));
	return row;
}

static void add_unsent(struct state *state, const struct attempt_open *open)
{
	struct row *row = went_on(state, open) ? NULL : row_of(state, open);

	if (!row)
		return;
	row->attempts++;
	row->asked = false;
}

static void add_given_up(struct state *state, const struct attempt_open *open)
{
	uint64_t waited_ns = open->ended_ns - open->sent_ns;
	struct row *row = waited_ns < GIVEN_UP_NS ? NULL : row_of(state, open);

	if (!row)
		return;
	row->given_up++;
	row->given_up_sum_ns += waited_ns;
}

static void add_portless(struct state *state, const struct attempt_open *open)
{
	struct row *row = row_of(state, open);

	if (row)
		row->portless++;
}

/* Whether an attempt is over. One that was answered is gone from the map. */
static bool take(struct state *state, const struct attempt_open *open, uint64_t now_ns)
{
	if (open->ended_ns)
		add_given_up(state, open);
	else if (open->portless)
		add_portless(state, open);
	else if (!open->sent_ns && now_ns >= open->began_ns + NEXT_NS)
		add_unsent(state, open);
	else
		return false;
	return true;
}

static void take_failed(struct state *state)
{
	uint64_t now_ns = clock_monotonic_ns(), cookie, next;
	uint64_t done[OPENS_MAX];
	size_t count = 0;
	bool more = bpf_map_get_next_key(state->opens_fd, NULL, &next) == 0;

	for (size_t i = 0; more && i < OPENS_MAX; i++) {
		struct attempt_open open;

		cookie = next;
		more = bpf_map_get_next_key(state->opens_fd, &cookie, &next) == 0;
		if (bpf_map_lookup_elem(state->opens_fd, &cookie, &open) == 0 && take(state, &open, now_ns))
			done[count++] = cookie;
	}
	for (size_t i = 0; i < count; i++)
		(void)bpf_map_delete_elem(state->opens_fd, &done[i]);
}

static uint64_t answers_of(const struct state *state, const struct row_key *key)
{
	struct attempt_service service = {.netns = key->netns, .rport = key->rport};
	uint64_t count = 0;

	memcpy(service.raddr, key->raddr.bytes, sizeof(service.raddr));
	(void)bpf_map_lookup_elem(state->answers_fd, &service, &count);
	return count;
}

/* As connect() looks it up: with protocol and port, which rules may name. */
static uint16_t ask_route(struct snapshot *snapshot, struct mnl_socket *socket, const struct row_key *key)
{
	struct destination_record found = {};
	struct nl_request room;
	struct rtmsg *info;
	struct nlmsghdr *message = nl_request_begin(&room, RTM_GETROUTE, 0, sizeof(*info), (void **)&info);
	struct nl_question question = {
		.protocol = NETLINK_ROUTE, .request = message, .parse = destination_parse_message, .context = &found};
	bool v6 = key->raddr.family == ADDR_V6;
	int r;

	info->rtm_family = v6 ? AF_INET6 : AF_INET;
	info->rtm_dst_len = v6 ? 128 : 32;
	info->rtm_flags = RTM_F_LOOKUP_TABLE;
	mnl_attr_put(message, RTA_DST, v6 ? 16 : 4, key->raddr.bytes + (v6 ? 0 : 12));
	mnl_attr_put_u8(message, RTA_IP_PROTO, IPPROTO_TCP);
	mnl_attr_put_u16(message, RTA_DPORT, htons(key->rport));
	r = nl_ask_on(snapshot, socket, &question);
	return r < 0 ? (uint16_t)-r : 0;
}

static int give_rows(struct state *state, struct snapshot *snapshot, struct why *why)
{
	_cleanup_(nl_closep) struct mnl_socket *socket = NULL;
	unsigned left = LOOKUPS_MAX;
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&state->rows, &at, &key, &value)) {
		const struct row_key *of = key;
		struct row *row = value;
		struct attempt_record *record;

		if (of->netns != snapshot->netns)
			continue;
		if (!socket && row->attempts > 0 && !row->asked && left)
			socket = nl_open(NETLINK_ROUTE, why);
		if (socket && row->attempts > 0 && !row->asked && left && left--) {
			row->error = ask_route(snapshot, socket, of);
			row->asked = true;
		}
		record = snapshot_table_add(snapshot_table(snapshot, &attempt_type));
		if (!record)
			return 0;
		*record = (struct attempt_record){
			.netns = of->netns,
			.pid = row->pid,
			.raddr = of->raddr,
			.rport = of->rport,
			.attempts = row->attempts,
			.portless = row->portless,
			.given_up = row->given_up,
			.given_up_wait_ns = row->given_up ? row->given_up_sum_ns / row->given_up : UINT64_MAX,
			.answered = answers_of(state, of),
			.error = row->error};
		memcpy(record->comm, row->comm, sizeof(record->comm));
	}
	return 0;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct state *state = snapshot_state(snapshot);
	int r = 0;

	if (!request->repeated || request->no_bpf || state->failed)
		return 0;
	if (!state->object)
		r = load(state, why);
	state->failed = r < 0;
	if (r < 0)
		return r;
	take_failed(state);
	return give_rows(state, snapshot, why);
}

static void release(void *data)
{
	kernel_object_close(((struct state *)data)->object);
	map_done(&((struct state *)data)->rows);
}

static const struct record_type *const types[] = {&attempt_type, NULL};

static const struct snapshot_source attempt_source = {
	.name = "attempt",
	.lost = "connects that fail without an answer",
	.types = types,
	.stage = STAGE_REST,
	.on_demand = true,
	.per_netns = true,
	.state_size = sizeof(struct state),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(attempt_source);
