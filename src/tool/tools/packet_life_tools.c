/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for the lifetime of packet data, over the events of nest path. */
#include "tool/core/tool.h"

/* --- skblife --- */

static const char *const skblife_examples[] = {
	"nest skblife -d 10",
	"histograms of data lifetime, received and transmitted",
	"nest skblife --by comm,dir 5",
	"by program, every 5 seconds",
	"nest trace skb.life --where 'total > 10ms'",
	"packets whose data stayed longer than 10 ms",
	NULL,
};

static const struct tool skblife_tool = {
	.name = "skblife",
	.layer = "device",
	.summary = "lifetime of packet data in the kernel",
	.description =
		"From the arrival of a packet until its data is read, forwarded or dropped; from the write until the "
		"data is transmitted and, for TCP, acknowledged. Follows the data, not the buffer: copies, clones, "
		"packets merged by GRO or in the socket, and segmented packets are one lifetime.",
	.examples = skblife_examples,
	.events = {"skb.life"},
	.where = "end != unfinished",
	.aggregate = AGGREGATE_HIST,
	.value = "total_ns",
	.by = "dir",
};
TOOL(skblife_tool);

/* --- skbwait --- */

static const struct output_column skbwait_columns[] = {
	{"pid"},        {"comm"},      {"dir"},       {"laddr"},    {"lport"},    {"raddr"},     {"rport"},
	{"bytes"},      {"total_ns"},  {"sndbuf_ns"}, {"tcp_ns"},   {"qdisc_ns"}, {"driver_ns"}, {"ack_ns"},
	{"backlog_ns"}, {"socket_ns"}, {"wakeup_ns"}, {"sched_ns"}, {},
};

static const char *const skbwait_examples[] = {
	"nest skbwait --where 'total > 1ms'",
	"packets whose data spent more than 1 ms in the kernel, and where it waited",
	"nest skbwait --hist socket_ns --by comm -d 10",
	"wait in the receive queue for a busy reader, by program",
	"nest skbwait --sum sched_ns --by comm -d 10",
	"total scheduling delay of readers, by program",
	NULL,
};

static const struct tool skbwait_tool = {
	.name = "skbwait",
	.layer = "device",
	.summary = "where the data of each packet waits in the kernel",
	.description = "SNDBUF: space in the send buffer. TCP: window, congestion control, pacing or Nagle. QDISC: in "
		       "the qdisc. DRIVER: until the driver has the packet. ACK: the peer's ACK. BACKLOG: until a CPU "
		       "processes the packet. SOCKET: in the receive queue while the reader is busy elsewhere. WAKEUP, "
		       "SCHED: until the reader is woken, and is on a CPU. - means no wait. The rest of the total is "
		       "processing; nest path shows every stage.",
	.examples = skbwait_examples,
	.events = {"skb.life"},
	.columns = skbwait_columns,
};
TOOL(skbwait_tool);
