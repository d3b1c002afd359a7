/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "path/journey/journey.h"
#include "event/core/packet.h"
#include "event/core/packet_names.h"
#include "event/tcp/tcp_hold.h"
#include "record/net_names.h"
#include "view/format.h"

/* gap: who waited is said by journey_add_gap, how long it knows too; what it was for stands here. */
const struct path_stage_info path_stages[PATH_STAGES] = {
	[PATH_IRQ] = {"irq", .rx = true, .help = "the device's interrupt, up to asking for a softirq",
		      .gap = "in the device's interrupt"},
	[PATH_SOFTIRQ] =
		{"softirq", .rx = true,
		 .help = "from the packet's arrival (or the interrupt that told of it) until a softirq took it up: "
			 "interrupts held back, a busy softirq",
		 .gap = "for a softirq to take it up"},
	[PATH_GRO] = {"gro", .rx = true, .help = "the driver's poll and merging with other packets (GRO)",
		      .gap = "in the driver's poll and GRO"},
	[PATH_BACKLOG] = {"backlog", .rx = true,
			  .help = "in a processor's backlog, where virtual links and tunnels put packets",
			  .gap = "in the processor's backlog"},
	[PATH_FILTER] = {"filter", .rx = true, .tx = true,
			 .help = "held by a packet filter, such as a queue to a program (NFQUEUE)",
			 .gap = "in a packet filter that held it"},
	[PATH_IP] = {"ip", .rx = true, .help = "IP, and whatever of filters and bridges could not be seen apart",
		     .gap = "in IP and its filters"},
	[PATH_TRANSPORT] = {"transport", .rx = true, .help = "TCP or UDP, until the data was in the socket",
			    .gap = "in the transport protocol",
			    .note = "1: the socket was in use, the packet waited in its backlog"},
	[PATH_SOCKET] = {"socket", .rx = true,
			 .help = "in the socket's receive queue while the reader was busy with other things",
			 .gap = "for a reader that was busy elsewhere"},
	[PATH_WAKEUP] = {"wakeup", .rx = true, .help = "waking the reader up, until it was put into a run queue",
			 .gap = "for its wake-up to reach a processor"},
	[PATH_SCHED] = {"sched", .rx = true, .help = "the reader was awake and waited for a processor",
			.gap = "for a CPU", .note = "tasks that could run on that processor, too"},
	[PATH_COPY] = {"copy", .rx = true, .help = "copying to the reader's memory", .gap = "while data was copied"},
	[PATH_RETURN] = {"return", .rx = true, .help = "from the copied data to the end of the system call",
			 .gap = "for its system call to return"},
	[PATH_SNDBUF] = {"sndbuf", .tx = true,
			 .help = "from the system call until the data had room in the send buffer",
			 .gap = "for room in the send buffer"},
	[PATH_TCP] = {"tcp", .tx = true,
		      .help = "in the send buffer: TCP held it back (window, Nagle, cork, pacing, small queues)",
		      .gap = "for TCP to send it", .note = "why: enum tcp_hold_reason"},
	[PATH_QDISC] = {"qdisc", .tx = true, .rx = true, .help = "in the queue of the interface",
			.gap = "in the interface's queue", .note = "packets that were in the queue before it"},
	[PATH_DRIVER] = {"driver", .tx = true, .rx = true, .help = "in the driver, until it had taken the packet",
			 .gap = "in the driver"},
	[PATH_COMPLETION] = {"completion", .tx = true, .help = "until the driver gave the packet back as sent",
			     .gap = "for the device to send it"},
	[PATH_ACK] = {"ack", .tx = true, .help = "until the peer's acknowledgement arrived",
		      .gap = "for the peer's acknowledgement"},
};

/* Those that are forwarded go on to the queue of another interface. */
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
	{PATH_PROCESS, "process", "on behalf of a process"},
};
struct enum_names path_context_names = {contexts, ARRAY_SIZE(contexts), NULL};

#define J struct journey
static const struct field journey_fields[] = {
	FIELD(J, dir, ENUM, "whether it arrived here or left", .names = &packet_dir_names),
	FIELD(J, time_ns, TIME, "when it began", .zero_is_unknown = true, .hidden = true),
	FIELD(J, laddr, ADDR, "local address"),
	FIELD(J, lport, ID, "local port", .zero_is_unknown = true),
	FIELD(J, raddr, ADDR, "remote address"),
	FIELD(J, rport, ID, "remote port", .zero_is_unknown = true),
	FIELD(J, pid, ID, "process that read or wrote it", .zero_is_unknown = true),
	FIELD(J, tid, ID, "its thread", .zero_is_unknown = true, .hidden = true),
	FIELD(J, comm, TEXT, "its name"),
	FIELD(J, uid, ID, "its user", .hidden = true),
	FIELD(J, bytes, BYTES, "length of the packet, with its headers"),
	FIELD(J, total_ns, DURATION, "from the first to the last stage"),
	FIELD(J, end, ENUM, "how it ended", .names = &path_end_names),
	FIELD(J, reason, ENUM, "why it was dropped", .names = &drop_reason_names, .zero_is_unknown = true),
	FIELD(J, dev, TEXT, "interface"),
	FIELD(J, netns, ID, "network namespace", .zero_is_unknown = true, .hidden = true),
	FIELD(J, family, ENUM, "address family", .names = &event_family_names, .zero_is_unknown = true, .hidden = true),
	FIELD(J, proto, ENUM, "transport protocol", .names = &socket_proto_names, .zero_is_unknown = true,
	      .hidden = true),
	FIELD(J, cgroup_id, ID, "control group, as the inode number of the directory", .zero_is_unknown = true,
	      .hidden = true),
	FIELD(J, cookie, HEX, "socket cookie", .zero_is_unknown = true, .hidden = true),
	FIELD(J, seq, ID, "of TCP: number of the first byte", .hidden = true),
	FIELD(J, end_seq, ID, "of TCP: number after the last byte", .hidden = true),
	FIELD(J, hidden, FLAGS, "stages that it may have passed and that could not be seen",
	      .names = &path_hidden_names, .zero_is_unknown = true, .hidden = true),
};
#undef J
RECORD_TYPE(journey_type, "journey", struct journey, journey_fields, "one packet's way through this host");

#define S struct journey_stage
static const struct field stage_fields[] = {
	FIELD(S, stage, ENUM, "what it passed", .names = &path_stage_names),
	FIELD(S, start_ns, TIME, "when this began", .zero_is_unknown = true, .hidden = true),
	FIELD(S, ns, DURATION, "how long it took"),
	FIELD(S, cpu, ID, "processor at its end"),
	FIELD(S, context, ENUM, "in which context", .names = &path_context_names, .zero_is_unknown = true),
	FIELD(S, note, ID, "a number that says more: of sched, tasks that could run as well", .hidden = true),
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

/* In words: what the number of a stage says. */
static void add_note(struct buf *out, const struct journey_stage *stage)
{
	static const char *const holds[] = {
		[TCP_HOLD_PACING] = "TCP spreads its segments over time (pacing)",
		[TCP_HOLD_CWND] = "the congestion window was full",
		[TCP_HOLD_WINDOW] = "the peer's receive window was full",
		[TCP_HOLD_CORK] = "corked by the application",
		[TCP_HOLD_NAGLE] = "Nagle's rule, a small segment was not acknowledged yet",
		[TCP_HOLD_QUEUE] = "earlier packets of the socket were still in a queue of this host",
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
			buf_add_text(out, ": the socket was in use, it waited in its backlog");
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
	buf_add_format(out, " %s", gap ?: "at an unknown stage");
	add_note(out, stage);
}
