/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/journey/journey.h"
#include "event/core/packet.h"
#include "event/core/packet_names.h"
#include "event/tcp/tcp_hold.h"
#include "record/net_names.h"
#include "view/format.h"

/* gap: completes the sentence of journey_add_gap ("reader waited 4.1 ms ..."). */
const struct path_stage_info path_stages[PATH_STAGES] = {
	[PATH_IRQ] = {"irq", .rx = true, .help = "hard interrupt of the device, until it raises a softirq",
		      .gap = "in the hard interrupt"},
	[PATH_SOFTIRQ] = {"softirq", .rx = true,
			  .help = "from the packet's arrival (or its interrupt) until a softirq processes it: "
				  "interrupt coalescing, busy softirq",
			  .gap = "for a softirq"},
	[PATH_GRO] = {"gro", .rx = true, .help = "driver poll and merging with other packets (GRO)",
		      .gap = "in driver poll and GRO"},
	[PATH_BACKLOG] = {"backlog", .rx = true, .help = "in a CPU's backlog, which virtual links and tunnels use",
			  .gap = "in the CPU's backlog"},
	[PATH_FILTER] = {"filter", .rx = true, .tx = true, .help = "held by a packet filter, such as NFQUEUE",
			 .gap = "in a packet filter"},
	[PATH_IP] = {"ip", .rx = true, .help = "IP processing, with filters and bridges that are not traced separately",
		     .gap = "in IP and its filters"},
	[PATH_TRANSPORT] = {"transport", .rx = true,
			    .help = "TCP or UDP processing, until the data is in the receive queue",
			    .gap = "in the transport protocol",
			    .note = "1: socket locked by its user, packet waited in the socket backlog"},
	[PATH_SOCKET] = {"socket", .rx = true, .help = "in the socket's receive queue while the reader is busy",
			 .gap = "for a busy reader"},
	[PATH_WAKEUP] = {"wakeup", .rx = true, .help = "waking the reader, until it is on a run queue",
			 .gap = "for its wake-up to reach a CPU"},
	[PATH_SCHED] = {"sched", .rx = true, .help = "scheduling delay: the reader is runnable and waits for a CPU",
			.gap = "for a CPU", .note = "other runnable tasks on that CPU"},
	[PATH_COPY] = {"copy", .rx = true, .help = "copy to user space", .gap = "for the copy to user space"},
	[PATH_RETURN] = {"return", .rx = true, .help = "from the end of the copy to the return of the system call",
			 .gap = "for its system call to return"},
	[PATH_SNDBUF] = {"sndbuf", .tx = true, .help = "from the system call until the send buffer has room",
			 .gap = "for room in the send buffer"},
	[PATH_TCP] = {"tcp", .tx = true,
		      .help = "in the send buffer, held by TCP (cwnd, receive window, Nagle, cork, pacing, TSQ)",
		      .gap = "for TCP to send it", .note = "why: enum tcp_hold_reason"},
	[PATH_QDISC] = {"qdisc", .tx = true, .rx = true, .help = "in the qdisc of the interface",
			.gap = "in the interface's qdisc", .note = "packets ahead in the queue"},
	[PATH_DRIVER] = {"driver", .tx = true, .rx = true, .help = "in the driver, until it accepts the packet",
			 .gap = "in the driver"},
	[PATH_COMPLETION] = {"completion", .tx = true, .help = "until the driver completes the transmission",
			     .gap = "for the device to send it"},
	[PATH_ACK] = {"ack", .tx = true, .help = "until the peer's ACK arrives", .gap = "for the peer's ACK"},
};

/* Forwarded packets continue to the qdisc of another interface. */
static const uint8_t rx_order[] = {
	PATH_IRQ,       PATH_SOFTIRQ, PATH_GRO,    PATH_BACKLOG, PATH_FILTER,     PATH_IP,
	PATH_TRANSPORT, PATH_SOCKET,  PATH_WAKEUP, PATH_SCHED,   PATH_COPY,       PATH_RETURN,
	PATH_QDISC,     PATH_DRIVER,  PATH_SNDBUF, PATH_TCP,     PATH_COMPLETION, PATH_ACK,
};
static const uint8_t tx_order[] = {
	PATH_SNDBUF,    PATH_TCP,    PATH_FILTER,  PATH_QDISC, PATH_DRIVER,  PATH_COMPLETION,
	PATH_ACK,       PATH_IRQ,    PATH_SOFTIRQ, PATH_GRO,   PATH_BACKLOG, PATH_IP,
	PATH_TRANSPORT, PATH_SOCKET, PATH_WAKEUP,  PATH_SCHED, PATH_COPY,    PATH_RETURN,
};
_Static_assert(ARRAY_SIZE(rx_order) == PATH_ORDER_COUNT && ARRAY_SIZE(tx_order) == PATH_ORDER_COUNT,
	       "every stage has its place");

const uint8_t *path_order(uint8_t dir)
{
	return dir == PACKET_TX ? tx_order : rx_order;
}

static struct enum_name stage_items[PATH_STAGES - 1], hidden_items[PATH_STAGES - 1];

static void load_stages(struct enum_names *names)
{
	for (unsigned i = 1; i < PATH_STAGES; i++)
		stage_items[i - 1] = (struct enum_name){i, path_stages[i].name, path_stages[i].help};
	names->items = stage_items;
	names->count = ARRAY_SIZE(stage_items);
}
struct enum_names path_stage_names = {.load = load_stages};

static void load_hidden(struct enum_names *names)
{
	for (unsigned i = 1; i < PATH_STAGES; i++)
		hidden_items[i - 1] = (struct enum_name){1u << i, path_stages[i].name, path_stages[i].help};
	names->items = hidden_items;
	names->count = ARRAY_SIZE(hidden_items);
}
static struct enum_names path_hidden_names = {.load = load_hidden};

static const struct enum_name contexts[] = {
	{PATH_HARDIRQ, "irq", "in a hard interrupt"},
	{PATH_SOFT, "softirq", "in a softirq"},
	{PATH_PROCESS, "process", "in process context"},
};
struct enum_names path_context_names = {contexts, ARRAY_SIZE(contexts), NULL};

#define J struct journey
static const struct field journey_fields[] = {
	FIELD(J, dir, ENUM, "direction: received or transmitted", .names = &packet_dir_names),
	FIELD(J, time_ns, TIME, "start of the journey", .zero_is_unknown = true, .hidden = true),
	FIELD(J, laddr, ADDR, "local address"),
	FIELD(J, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(J, raddr, ADDR, "remote address"),
	FIELD(J, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(J, pid, ID, "process that read or wrote the data", .zero_is_unknown = true),
	FIELD(J, tid, ID, "thread that read or wrote the data", .zero_is_unknown = true, .hidden = true),
	FIELD(J, comm, TEXT, "command name of the process"),
	FIELD(J, uid, ID, "user ID of the process", .hidden = true),
	FIELD(J, bytes, BYTES, "packet length including headers"),
	FIELD(J, total_ns, DURATION, "duration from the first to the last stage"),
	FIELD(J, end, ENUM, "end of the journey", .names = &path_end_names),
	FIELD(J, reason, ENUM, "drop reason", .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(J, dev, TEXT, "interface"),
	FIELD(J, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(J, family, ENUM, "address family", .names = &event_family_names, .zero_is_unknown = true, .hidden = true),
	FIELD(J, proto, ENUM, "transport protocol", .names = &socket_proto_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(J, cgroup_id, ID, "cgroup ID (inode number of its directory)", .zero_is_unknown = true, .hidden = true),
	FIELD(J, cookie, HEX, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(J, seq, ID, "TCP sequence number of the first byte", .hidden = true),
	FIELD(J, end_seq, ID, "TCP sequence number after the last byte", .hidden = true),
	FIELD(J, hidden, FLAGS, "stages not traced in this run; the packet may have passed them",
	      .names = &path_hidden_names, .zero_is_unknown = true, .hidden = true),
};
#undef J
RECORD_TYPE(journey_type, "journey", struct journey, journey_fields, "path of one packet through this host");

#define S struct journey_stage
static const struct field stage_fields[] = {
	FIELD(S, stage, ENUM, "stage of the path", .names = &path_stage_names),
	FIELD(S, start_ns, TIME, "start of the stage", .zero_is_unknown = true, .hidden = true),
	FIELD(S, ns, DURATION, "duration of the stage"),
	FIELD(S, cpu, ID, "CPU at the end of the stage"),
	FIELD(S, context, ENUM, "execution context", .names = &path_context_names, .zero_is_unknown = true),
	FIELD(S, note, ID, "detail, by stage; sched: other runnable tasks", .hidden = true),
};
#undef S
RECORD_TYPE(journey_stage_type, "journey_stage", struct journey_stage, stage_fields, "one stage of a journey");

const struct journey_stage *journey_widest(const struct journey *journey)
{
	const struct journey_stage *widest = NULL;

	for (uint32_t i = 0; i < min_of(journey->stage_count, (uint32_t)JOURNEY_STAGES_MAX); i++)
		if (!widest || journey->stages[i].ns > widest->ns)
			widest = &journey->stages[i];
	return widest;
}

static void add_ahead(struct buf *out, uint32_t count, const char *what)
{
	if (count)
		buf_add_format(out, ": %u %s%s ahead", count, what, count == 1 ? "" : "s");
	else
		buf_add_format(out, ": no %s ahead", what);
}

/* The stage's note as text. */
static void add_note(struct buf *out, const struct journey_stage *stage)
{
	static const char *const holds[] = {
		[TCP_HOLD_PACING] = "pacing",
		[TCP_HOLD_CWND] = "congestion window full",
		[TCP_HOLD_WINDOW] = "peer's receive window full",
		[TCP_HOLD_CORK] = "corked by the application",
		[TCP_HOLD_NAGLE] = "Nagle, a small segment is unacknowledged",
		[TCP_HOLD_QUEUE] = "TCP small queues, earlier packets are still queued in this host",
	};

	if (stage->note == PATH_NO_NOTE)
		return;
	switch (stage->stage) {
	case PATH_SCHED:
		add_ahead(out, stage->note, "runnable task");
		break;
	case PATH_QDISC:
		add_ahead(out, stage->note, "packet");
		break;
	case PATH_TRANSPORT:
		if (stage->note == 1)
			buf_add_text(out, ": socket locked by its user, packet in the socket backlog");
		break;
	case PATH_TCP:
		if (stage->note < ARRAY_SIZE(holds) && holds[stage->note])
			buf_add_format(out, ": %s", holds[stage->note]);
		break;
	default:
		break;
	}
}

void journey_add_gap(struct buf *out, const struct journey *journey, const struct journey_stage *stage)
{
	const char *gap = stage->stage < PATH_STAGES ? path_stages[stage->stage].gap : NULL;
	bool reader = stage->stage == PATH_WAKEUP || stage->stage == PATH_SCHED || stage->stage == PATH_COPY ||
		      stage->stage == PATH_RETURN;

	buf_add_text(out, reader ? "reader waited " : journey->dir == PACKET_RX ? "packet waited " : "data waited ");
	format_add_duration(out, (int64_t)stage->ns);
	buf_add_format(out, " %s", gap ?: "in an unknown stage");
	add_note(out, stage);
}
