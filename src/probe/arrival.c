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
	FIELD(A, cookie, ID, "socket cookie", .hidden = true),
	FIELD(A, raddr, ADDR, "remote address"),
	FIELD(A, rport, ID, "remote port"),
	FIELD(A, lport, ID, "local port"),
	FIELD(A, arrived, COUNT, "packets received by the interface since the connection last received a segment"),
	FIELD(A, undelivered, COUNT, "packets of these that did not reach the connection"),
};
#undef A
RECORD_TYPE(arrival_type, "arrival", struct arrival_record, arrival_fields, "packets received for silent connections");

/* A suspect has received nothing for at least the first time and at most the second: longer ones are just idle. */
#define SILENT_NS    (400 * NSEC_PER_MSEC)
#define FORGOTTEN_NS (60 * NSEC_PER_SEC)
/* How long the tap stays open at first, and after undelivered packets: it adds cost to each packet. */
#define FIRST_NS    (4 * NSEC_PER_SEC)
#define INTEREST_NS (10 * NSEC_PER_SEC)

struct suspect {
	struct arrival_record record;
	uint32_t segs_in; /* of the previous sample */
	bool received;    /* received something before that sample */
	bool is_there;    /* in the current sample */
};

struct watch {
	struct netns_state of;
	int fd; /* -1: closed */
	bool begun;
	int64_t unclaimed; /* packets received and not delivered, by the SNMP counters */
	uint64_t until_ns; /* when to close the tap, CLOCK_MONOTONIC */
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
 * Packets that IP received and neither delivered nor forwarded. Packets delivered more than once decrease it, even
 * below zero, which is harmless: only its growth matters.
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

/* Removes suspects whose connection is gone; true: the set changed. */
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
 * One packet may hold many segments (GRO), so the counts cannot be compared directly: only packets that arrive while
 * the connection receives nothing at all are undelivered. The tap is read after the sockets: its previous packets
 * arrived before this sample of the sockets.
 */
static void update_suspect(struct suspect *suspect, const struct tcp_record *t)
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
 * Updates suspects from one sample. A suspect stays one while its connection exists, so that later packets are counted;
 * a sample of active connections only does not show that it is gone.
 */
static bool update_suspects(const struct snapshot *snapshot, struct watch *watch, bool all)
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
			update_suspect(suspect, t);
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

/* Whether to open the tap: at the start, because the fault may be older than this run, and on undelivered packets. */
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

	/* A single sample sees no packets. */
	if (!request->repeated)
		return 0;
	watch = watch_of(snapshot);
	if (!is_interesting(snapshot, watch)) {
		close_watch(watch);
		return 0;
	}
	/* Packets read now arrived before the next sample of the sockets. */
	if (update_suspects(snapshot, watch, !request->active_only) && watch->count > 0) {
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
	.lost = "packets that arrive and do not reach their connection",
	.types = types,
	.needs = needs,
	.stage = STAGE_REST,
	.per_netns = true,
	.state_size = sizeof(struct netns_states),
	.collect = collect,
	.release = release,
};
SNAPSHOT_SOURCE(arrival_source);
