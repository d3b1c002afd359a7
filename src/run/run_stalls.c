/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_stalls.h"

#include <errno.h>

#include "base/clock.h"
#include "diagnose/measure/gap_track.h"
#include "snapshot/core/slice.h"
#include "snapshot/netlink/link.h"
#include "snapshot/netlink/net_change.h"
#include "snapshot/netlink/route.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

static const struct enum_name kind_items[] = {
	{GAP_UNACKED, "no-ack", "data in flight, a retransmission timeout or more without an ACK of new data"},
	{GAP_ZERO_WINDOW, "zero-window", "unsent data, and the peer's receive window is closed"},
	{GAP_SILENT, "silent", "a steady stream of received data paused; the peer may have had nothing to send"},
};
static struct enum_names kind_names = {kind_items, ARRAY_SIZE(kind_items), NULL};

static const struct enum_name share_items[] = {
	{STALL_CONNECTION, "connection", "other connections to the same host made progress meanwhile"},
	{STALL_PEER, "peer", "the peer closed its receive window"},
	{STALL_PATH, "path", "other connections to the same host were interrupted, and none made progress"},
	{STALL_HOST, "host", "connections to several hosts were interrupted, and none made progress"},
	{STALL_LINK, "link", "the state of the interface changed at that time"},
};
static struct enum_names share_names = {share_items, ARRAY_SIZE(share_items), NULL};

#define S struct stall_record
static const struct field stall_fields[] = {
	FIELD(S, time_ns, TIME, "last progress before the interruption"),
	FIELD(S, span_ns, DURATION, "length of the interruption"),
	FIELD(S, error_ns, DURATION, "maximum error of the length: half of the sampling interval"),
	FIELD(S, kind, ENUM, "what stopped", .names = &kind_names, .zero_is_unknown = true),
	FIELD(S, shared, ENUM, "what the interrupted connections share; unknown when no other was in use",
	      .names = &share_names, .zero_is_unknown = true),
	FIELD(S, pid, ID, "process ID", .zero_is_unknown = true),
	FIELD(S, comm, TEXT, "process name"),
	FIELD(S, laddr, ADDR, "local address"),
	FIELD(S, lport, ID, "local port"),
	FIELD(S, raddr, ADDR, "remote address"),
	FIELD(S, rport, ID, "remote port"),
	FIELD(S, dev, TEXT, "outgoing interface"),
	FIELD(S, path_conns, COUNT, "other connections to the same host interrupted at the same time"),
	FIELD(S, other_conns, COUNT, "connections to other hosts interrupted at the same time"),
	FIELD(S, timeouts, COUNT, "retransmission timeouts"),
	FIELD(S, retrans, COUNT, "segments retransmitted"),
	FIELD(S, link_changes, COUNT, "state changes of the interface at that time (up, down, carrier)"),
	FIELD(S, ongoing, BOOL, "still in progress when the run ended", .hidden = true),
	FIELD(S, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(S, cookie, ID, "socket cookie", .hidden = true),
};
#undef S
RECORD_TYPE(stall_type, "stall", struct stall_record, stall_fields, "an interruption of a TCP connection");

/* Interruptions that are compared with each other, and how long they are remembered. */
#define COMPARED_MAX 1024
#define MEMORY_NS    (3 * NSEC_PER_SEC)
/* In a part of an interruption as long as this nobody made progress; else it was not shared. */
#define QUIET_NS (200 * NSEC_PER_MSEC)
/* Changes of interfaces that are remembered. */
#define CHANGES 64

struct change {
	uint64_t time_ns;
	char dev[16];
};

struct netns_stalls {
	struct gap_tracks gaps;
	struct map changes_before; /* ifindex -> carrier_changes */
	struct change changes[CHANGES];
	unsigned change_count;
	uint64_t sample; /* the last one with this namespace */
};

static struct netns_stalls *stalls_of(struct run_stalls *run, uint32_t netns)
{
	bool is_new;
	struct netns_stalls **slot = map_put(&run->tracks, &netns, &is_new);

	if (!slot || !is_new)
		return slot ? *slot : NULL;
	*slot = xzalloc(sizeof(**slot));
	(*slot)->gaps = (struct gap_tracks)GAP_TRACKS_INIT;
	(*slot)->changes_before = MAP_INIT(sizeof(uint32_t), sizeof(uint32_t), 65536);
	return *slot;
}

/* --- what happened to interfaces --- */

static void note_change(struct netns_stalls *stalls, const char *dev, uint64_t now_ns)
{
	struct change *change = &stalls->changes[stalls->change_count++ % CHANGES];

	change->time_ns = now_ns;
	memcpy(change->dev, dev, sizeof(change->dev));
}

/* The counter also shows what came and went between two samples; a recording may have nothing else. */
static void note_carrier(struct netns_stalls *stalls, const struct link_record *link, uint64_t now_ns)
{
	bool is_new;
	uint32_t *before = map_put(&stalls->changes_before, &link->ifindex, &is_new);

	if (!before)
		return;
	for (uint32_t i = *before; !is_new && i < link->carrier_changes && i - *before < CHANGES; i++)
		note_change(stalls, link->dev, now_ns);
	*before = link->carrier_changes;
}

static void note_changes(struct netns_stalls *stalls, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, link_type, const struct link_record, link)
		if (link->carrier_changes != UINT32_MAX)
			note_carrier(stalls, link, snapshot->begin_boot_ns);
	snapshot_each(snapshot, net_change_type, const struct net_change_record, change)
		if (change->change == NET_CHANGE_LINK_UP || change->change == NET_CHANGE_LINK_DOWN)
			note_change(stalls, change->dev, snapshot->begin_boot_ns);
}

static uint32_t changes_during(const struct netns_stalls *stalls, const struct stall_record *stall,
			       const struct gap *gap, uint64_t slack_ns)
{
	uint64_t end_ns = gap->end_ns ?: gap->known_ns;
	uint32_t count = 0;

	for (unsigned i = 0; i < min_of(stalls->change_count, (unsigned)CHANGES); i++)
		count += strncmp(stalls->changes[i].dev, stall->dev, sizeof(stall->dev)) == 0 &&
			 stalls->changes[i].time_ns + slack_ns >= gap->begin_ns &&
			 stalls->changes[i].time_ns <= end_ns + slack_ns;
	return count;
}

/* --- a record --- */

static void add_owner(struct stall_record *stall, const struct snapshot *snapshot)
{
	const struct process_record *process;

	snapshot_each(snapshot, socket_type, const struct socket_record, s) {
		const struct owner_record *owners = snapshot_first(snapshot, &owner_type);

		if (s->cookie != stall->cookie || s->owner == SOCKET_NONE)
			continue;
		stall->pid = owners[s->owner].pid;
		process = process_find(snapshot, stall->pid);
		if (process)
			memcpy(stall->comm, process->comm, sizeof(stall->comm));
		return;
	}
}

static void add_dev(struct stall_record *stall, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, destination_type, const struct destination_record, destination)
		if (memcmp(&destination->raddr, &stall->raddr, sizeof(stall->raddr)) == 0) {
			memcpy(stall->dev, destination->dev, sizeof(stall->dev));
			return;
		}
}

static uint8_t share_of(const struct stall_record *stall, const struct gap *gap)
{
	if (stall->link_changes > 0)
		return STALL_LINK;
	if (gap->kind == GAP_ZERO_WINDOW)
		return STALL_PEER;
	if (gap->path_quiet_ns < QUIET_NS)
		return STALL_CONNECTION;
	if (stall->other_conns > 0 && gap->host_quiet_ns >= QUIET_NS)
		return STALL_HOST;
	return stall->path_conns > 0 ? STALL_PATH : STALL_UNKNOWN;
}

/* Where the end is known no better than to lie between two samples, the middle is meant. */
static void set_span(struct stall_record *stall, const struct gap *gap)
{
	uint64_t end_ns = gap->end_ns ? gap->known_ns + (gap->end_ns - gap->known_ns) / 2 : gap->known_ns;

	stall->span_ns = end_ns - gap->begin_ns;
	stall->error_ns = gap->end_ns ? (gap->end_ns - gap->known_ns) / 2 : 0;
}

static void show(struct run_stalls *run, struct netns_stalls *stalls, const struct snapshot *snapshot, uint32_t netns,
		 const struct gap_conn *conn, const struct gap *gap)
{
	_cleanup_free_ struct gap_entry *entries = NULL;
	struct gap_company company;
	struct stall_record stall = {
		.time_ns = gap->begin_ns + run->boot_to_time_ns,
		.kind = gap->kind,
		.laddr = conn->laddr,
		.raddr = conn->raddr,
		.lport = conn->lport,
		.rport = conn->rport,
		.timeouts = gap->timeouts,
		.retrans = gap->retrans,
		.ongoing = gap->end_ns == 0,
		.netns = netns,
		.cookie = conn->cookie,
	};

	set_span(&stall, gap);
	if (stall.span_ns < run->least_ns)
		return;
	entries = xmalloc(COMPARED_MAX * sizeof(*entries));
	company = gap_company_of(conn, gap, entries,
				 gap_tracks_list(&stalls->gaps, gap->begin_ns, entries, COMPARED_MAX));
	stall.path_conns = company.path;
	stall.other_conns = company.others;
	add_owner(&stall, snapshot);
	add_dev(&stall, snapshot);
	stall.link_changes = changes_during(stalls, &stall, gap, run->snapshots.pace_ns);
	stall.shared = share_of(&stall, gap);
	run->sink.shown += output_record(run->sink.output, &RECORD_OF(&stall));
}

/* --- the run --- */

static int prepare(struct run_sink *sink, struct run *run)
{
	struct run_stalls *stalls = (struct run_stalls *)sink;
	static const struct shape shape = {1, {&stall_type}};
	int r = output_open_columns(stalls->output, &shape, stalls->columns, &sink->output, &run->why);

	if (r == 0)
		output_stream(sink->output);
	return r;
}

static void take_netns(struct run_stalls *run, uint32_t netns)
{
	struct netns_stalls *stalls = stalls_of(run, netns);
	const struct snapshot *snapshot;

	if (!stalls)
		return;
	stalls->sample = run->samples;
	snapshot = snapshot_slice_cut(run->slice, netns);
	note_changes(stalls, snapshot);
	gap_tracks_add(&stalls->gaps, snapshot);
	vec_each(&stalls->gaps.ended, ended) {
		const struct gap_conn *conn = map_get(&stalls->gaps.conns, &ended->cookie);

		show(run, stalls, snapshot, netns, conn, &conn->past[ended->number % GAPS_KEPT]);
	}
}

static void free_stalls(struct netns_stalls *stalls)
{
	gap_tracks_done(&stalls->gaps);
	map_done(&stalls->changes_before);
	free(stalls);
}

/* Once a second: connections and namespaces that are gone are forgotten. */
static void forget_gone(struct run_stalls *run)
{
	size_t at = 0;
	const void *netns;
	void *value;

	while (map_next(&run->tracks, &at, &netns, &value)) {
		struct netns_stalls *stalls = *(struct netns_stalls **)value;

		gap_tracks_end_window(&stalls->gaps);
		if (stalls->sample == run->samples)
			continue;
		free_stalls(stalls);
		(void)map_remove(&run->tracks, netns);
	}
	run_snapshots_refresh(&run->snapshots);
	run->due_ns = run->now_ns + NSEC_PER_SEC;
}

static int take(struct run_sink *sink, struct run *run, const void *item)
{
	struct run_stalls *stalls = (struct run_stalls *)sink;
	const struct snapshot *snapshot = item;

	if (stalls->now_ns == 0)
		run_snapshots_warn_gaps(snapshot);
	stalls->now_ns = snapshot->begin_boot_ns;
	stalls->boot_to_time_ns = snapshot->begin_time_ns - snapshot->begin_boot_ns;
	stalls->samples++;
	snapshot_slice_divide(stalls->slice, snapshot);
	snapshot_each(snapshot, netns_type, const struct netns_record, netns)
		if (!run->recording || run_snapshots_match(stalls->snapshots.netns, netns))
			take_netns(stalls, netns->netns);
	if (stalls->now_ns >= stalls->due_ns)
		forget_gone(stalls);
	return output_flush(sink->output) < 0;
}

/* What goes on is shown with what is known so far. */
static int end(struct run_sink *sink, struct run *run)
{
	struct run_stalls *stalls = (struct run_stalls *)sink;
	size_t at = 0;
	const void *netns;
	void *value;

	if (run->recording && stalls->samples > 0 && stalls->tracks.count == 0)
		return why_set(&run->why, -ENOENT, "the recording does not have this network namespace");
	while (map_next(&stalls->tracks, &at, &netns, &value)) {
		struct netns_stalls *one = *(struct netns_stalls **)value;

		vec_each(&one->gaps.open, cookie) {
			const struct gap_conn *conn = map_get(&one->gaps.conns, cookie);

			show(stalls, one, stalls->snapshots.snapshot, *(const uint32_t *)netns, conn, &conn->now);
		}
	}
	return 0;
}

static void account(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	struct run_stalls *stalls = (struct run_stalls *)sink;
	size_t at = 0;
	const void *netns;
	void *value;

	while (map_next(&stalls->tracks, &at, &netns, &value))
		account->lost += (*(struct netns_stalls **)value)->gaps.lost;
}

static void close_stalls(struct run_sink *sink)
{
	struct run_stalls *stalls = (struct run_stalls *)sink;
	size_t at = 0;
	const void *netns;
	void *value;

	while (map_next(&stalls->tracks, &at, &netns, &value))
		free_stalls(*(struct netns_stalls **)value);
	map_done(&stalls->tracks);
	snapshot_slice_free(stalls->slice);
}

static const struct run_sink_ops stalls_ops = {
	.prepare = prepare,
	.take = take,
	.end = end,
	.account = account,
	.close = close_stalls,
};

void run_stalls_init(struct run_stalls *stalls, struct run *run, const char *netns)
{
	static const struct record_type *const types[] = {&socket_type,  &tcp_type,         &owner_type,
							  &process_type, &destination_type, &link_type,
							  &netns_type,   &net_change_type,  NULL};

	stalls->sink.ops = &stalls_ops;
	stalls->tracks = MAP_INIT(sizeof(uint32_t), sizeof(struct netns_stalls *), 10000);
	stalls->slice = snapshot_slice_new();
	run_snapshots_init(&stalls->snapshots, run, netns);
	stalls->snapshots.request.types = types;
	stalls->snapshots.request.repeated = true;
	run_add_sink(run, &stalls->snapshots.source, &stalls->sink);
}
