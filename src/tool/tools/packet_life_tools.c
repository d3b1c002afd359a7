/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about the life of a packet's data, over the journeys that nest path follows. */
#include "tool/core/tool.h"

/* --- skblife --- */

static const char *const skblife_examples[] = {
	"nest skblife -d 10",
	"how long packets' data lives in the kernel: one histogram for what arrives, one for what leaves",
	"nest skblife --by comm,dir 5",
	"for each program, every five seconds",
	"nest trace path.rx --where 'total > 10ms'",
	"each packet whose data was older than 10 ms when it was read",
	NULL,
};

static const struct tool skblife_tool = {
	.name = "skblife",
	.layer = "device",
	.summary = "how long the data of packets lives in the kernel",
	.description = "From the arrival of a packet until its data is read, sent on or thrown away; from the write "
		       "until it has left "
		       "and, of TCP, is acknowledged. The data is followed, not the buffer: copies, clones, packets "
		       "that are merged on "
		       "arrival or in the socket and packets that are cut up are one life.",
	.examples = skblife_examples,
	.events = {"path.rx", "path.tx"},
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
	"packets whose data was in the kernel for more than a millisecond, and where it waited",
	"nest skbwait --hist socket_ns --by comm -d 10",
	"how long data waits in receive queues because the reader is busy, for each program",
	"nest skbwait --sum sched_ns --by comm -d 10",
	"for whom data waits because the reader gets no processor, and how long together",
	NULL,
};

static const struct tool skbwait_tool = {
	.name = "skbwait",
	.layer = "device",
	.summary = "where the data of each packet waits in the kernel, in microseconds",
	.description = "SNDBUF: for room in the send buffer. TCP: for window, congestion control, pacing or Nagle. "
		       "QDISC: in the queue of "
		       "the interface. DRIVER: until the driver had it. ACK: for the peer's acknowledgement. BACKLOG: "
		       "until a processor "
		       "took it up. SOCKET: in the receive queue while the reader was busy elsewhere. WAKEUP, SCHED: "
		       "until the reader "
		       "was woken, and had a processor. A dash: it did not wait there. What is not waiting is the rest "
		       "of TOTAL; nest "
		       "path shows all of it.",
	.examples = skbwait_examples,
	.events = {"path.rx", "path.tx"},
	.columns = skbwait_columns,
};
TOOL(skbwait_tool);
