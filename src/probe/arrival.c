/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <unistd.h>

#include "base/clock.h"
#include "probe/arrival.h"
#include "probe/wire_tap.h"
#include "snapshot/core/netns_state.h"
#include "snapshot/proc/counter.h"
#include "snapshot/socket/socket.h"

#define A struct arrival_record
static const struct field arrival_fields[] = {
	FIELD(A, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(A, cookie, ID, "the kernel's number of the connection's socket", .hidden = true),
	FIELD(A, raddr, ADDR, "remote address"),
	FIELD(A, rport, ID, "remote port"),
	FIELD(A, lport, ID, "local port"),
	FIELD(A, arrived, COUNT, "packets that arrived at an interface since the connection last received one"),
	FIELD(A, undelivered, COUNT, "of these, those that did not reach the connection"),
};
#undef A
RECORD_TYPE(arrival_type, "arrival", struct arrival_record, arrival_fields,
	    "what arrives for connections that have fallen silent");

/* A connection is looked at when it has heard nothing for so long, but has not been forgotten by its program either. */
#define SILENT_NS    (400 * NSEC_PER_MSEC)
#define FORGOTTEN_NS (60 * NSEC_PER_SEC)
/* How long to look at first, and after a sign that packets arrive which nobody gets: each packet costs more then. */
#define FIRST_NS    (4 * NSEC_PER_SEC)
#define INTEREST_NS (10 * NSEC_PER_SEC)

struct suspect {
	struct arrival_record record;
	uint32_t segs_in; /* of the last look */
	bool received;    /* something before that look */
	bool is_there;    /* in the sample at hand */
};

struct watch {
	struct netns_state of;
	int fd; /* -1: closed */
	bool begun;
	int64_t unclaimed; /* packets that arrived and were not delivered, as the counters have it */
	uint64_t until_ns; /* how long to look, CLOCK_MONOTONIC */
	unsigned count;
	struct suspect suspects[WIRE_FLOWS_MAX];
};

static void close_watch(struct watch *watch)
{
	if (watch->fd >= 0)
		close(watch->fd);
	watch->fd = -1;
	watch->count = 0;
}

static void release_watch(struct netns_state *state)
{
	close_watch((struct watch *)state);
}

static struct watch *watch_of(struct snapshot *snapshot)
{
	bool is_new;
	struct watch *watch =
		netns_state_find(snapshot_state(snapshot), snapshot, sizeof(*watch), release_watch, &is_new);

	if (is_new)
		watch->fd = -1;
	return watch;
}

/*
 * Packets that IP took in and neither delivered nor passed on. What is delivered more than once makes it less, even
 * less than nothing, which does no harm: only whether it grows is asked.
 */
static int64_t count_unclaimed(const struct snapshot *snapshot, uint32_t netns)
{
	static const char *const taken[] = {"IpInReceives", "Ip6InReceives"}, *const given[] = {"IpInDelivers",
												"IpForwDatagrams",
												"Ip6InDelivers",
												"Ip6OutForwDatagrams"};
	uint64_t in = 0, out = 0, value;

	for (unsigned i = 0; i < ARRAY_SIZE(taken); i++)
		in += (value = counter_find(snapshot, netns, taken[i])) == UINT64_MAX ? 0 : value;
	for (unsigned i = 0; i < ARRAY_SIZE(given); i++)
		out += (value = counter_find(snapshot, netns, given[i])) == UINT64_MAX ? 0 : value;
	return (int64_t)(in - out);
}

static bool is_suspicious(const struct socket_record *s, const struct tcp_record *t)
{
	uint64_t heard_ns;

	if (s->state == SOCKET_SYN_SENT)
		return socket_timeouts(s) >= 1;
	if (s->state != SOCKET_ESTABLISHED || t->last_received_ns == UINT64_MAX || t->last_ack_ns == UINT64_MAX)
		return false;
	heard_ns = min_of(t->last_received_ns, t->last_ack_ns);
	return heard_ns > SILENT_NS && heard_ns < FORGOTTEN_NS;
}

static void add_suspect(struct watch *watch, const struct socket_record *s, const struct tcp_record *t)
{
	watch->suspects[watch->count++] = (struct suspect){
		.record = {.netns = watch->of.netns,
			   .cookie = s->cookie,
			   .raddr = s->raddr,
			   .lport = s->lport,
			   .rport = s->rport},
		.segs_in = t->segs_in,
		.received = true,
		.is_there = true,
	};
}

static struct suspect *find(struct watch *watch, uint64_t cookie)
{
	for (unsigned i = 0; i < watch->count; i++)
		if (watch->suspects[i].record.cookie == cookie)
			return &watch->suspects[i];
	return NULL;
}

/* Those that have gone make room; true when the set is another now. */
static bool forget_gone(struct watch *watch)
{
	unsigned kept = 0, before = watch->count;

	for (unsigned i = 0; i < before; i++)
		if (watch->suspects[i].is_there)
			watch->suspects[kept++] = watch->suspects[i];
	watch->count = kept;
	return kept != before;
}

/*
 * One packet may be many segments, so the two cannot be counted against each other: only what arrives while the
 * connection receives none at all is lost. The tap is read after the sockets: what it told the last time had come in
 * before that look at them or before this one.
 */
static void see_suspect(struct suspect *suspect, const struct tcp_record *t)
{
	bool received = t->segs_in != suspect->segs_in;

	if (received || suspect->received)
		suspect->record.arrived = 0;
	suspect->record.undelivered = suspect->record.arrived;
	suspect->received = received;
	suspect->segs_in = t->segs_in;
	suspect->is_there = true;
}

/*
 * One look at all connections. A suspect stays one while it is there, so that what it receives later is counted, too;
 * samples that leave idle connections out do not say that it has gone.
 */
static bool look_at_sockets(const struct snapshot *snapshot, struct watch *watch, bool all)
{
	bool changed;

	for (unsigned i = 0; i < watch->count; i++)
		watch->suspects[i].is_there = !all;
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);
		struct suspect *suspect;

		if (s->proto != 6 || s->netns != watch->of.netns || !t)
			continue;
		suspect = find(watch, s->cookie);
		if (suspect)
			see_suspect(suspect, t);
	}
	changed = forget_gone(watch);
	snapshot_each(snapshot, socket_type, struct socket_record, s) {
		const struct tcp_record *t = socket_tcp(snapshot, s);

		if (watch->count == WIRE_FLOWS_MAX)
			break;
		if (s->proto != 6 || s->netns != watch->of.netns || !t || !is_suspicious(s, t) ||
		    find(watch, s->cookie))
			continue;
		add_suspect(watch, s, t);
		changed = true;
	}
	return changed;
}

static void take(const struct wire_packet *packet, uint64_t time_ns _unused_, void *context)
{
	struct watch *watch = context;

	for (unsigned i = 0; i < watch->count; i++) {
		struct arrival_record *r = &watch->suspects[i].record;

		if (r->lport == packet->lport && r->rport == packet->rport && addr_equal(&r->raddr, &packet->raddr))
			r->arrived++;
	}
}

static int point_tap(struct watch *watch, struct why *why)
{
	struct wire_flow flows[WIRE_FLOWS_MAX];
	int r;

	if (watch->fd < 0) {
		watch->fd = wire_tap_open(why);
		if (watch->fd < 0)
			return watch->fd;
	}
	for (unsigned i = 0; i < watch->count; i++)
		flows[i] = (struct wire_flow){watch->suspects[i].record.lport, watch->suspects[i].record.rport};
	r = wire_tap_set_flows(watch->fd, flows, watch->count);
	return r < 0 ? why_set(why, r, "cannot set the filter of a packet socket") : 0;
}

/* Whether to look at all: at the beginning, because the fault may be older than we are, and on a sign. */
static bool is_interesting(const struct snapshot *snapshot, struct watch *watch)
{
	int64_t unclaimed = count_unclaimed(snapshot, watch->of.netns);
	uint64_t now_ns = clock_monotonic_ns();

	if (!watch->begun)
		watch->until_ns = now_ns + FIRST_NS;
	else if (unclaimed > watch->unclaimed)
		watch->until_ns = now_ns + INTEREST_NS;
	watch->begun = true;
	watch->unclaimed = unclaimed;
	return now_ns < watch->until_ns;
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct watch *watch;
	int r;

	/* One look alone sees nothing go by. */
	if (!request->repeated)
		return 0;
	watch = watch_of(snapshot);
	if (!is_interesting(snapshot, watch)) {
		close_watch(watch);
		return 0;
	}
	/* What is read now arrived before the sockets are looked at the next time. */
	if (look_at_sockets(snapshot, watch, !request->active_only) && watch->count > 0) {
		r = point_tap(watch, why);
		if (r < 0)
			return r;
	}
	if (watch->fd >= 0)
		(void)wire_tap_read(watch->fd, take, watch);
	for (unsigned i = 0; i < watch->count; i++) {
		struct arrival_record *record = snapshot_table_add(snapshot_table(snapshot, &arrival_type));

		if (record)
			*record = watch->suspects[i].record;
	}
	return 0;
}

static void release(void *data)
{
	netns_states_done(data, release_watch);
}

static const struct record_type *const types[] = {&arrival_type, NULL};
static const struct record_type *const needs[] = {&counter_type, &socket_type, &tcp_type, NULL};

static const struct snapshot_source arrival_source = {
	.name = "arrival",
	.lost = "segments that arrive and do not reach their connection",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct netns_states),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(arrival_source);
