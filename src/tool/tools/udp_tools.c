/* SPDX-License-Identifier: GPL-2.0-or-later */
/* UDP tools. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- udpconnect --- */

static const struct output_column udpconnect_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"family", "IP"}, {"raddr"}, {"rport"}, {"error"}, {},
};

static const char *const udpconnect_examples[] = {
	"nest udpconnect",
	"UDP peers of applications: mostly name servers",
	NULL,
};

static const struct tool udpconnect_tool = {
	.name = "udpconnect",
	.layer = "udp",
	.summary = "connect() calls of UDP sockets",
	.description = "Unconnected sockets are not seen here; udptop and udplife show them.",
	.examples = udpconnect_examples,
	.events = {"sock.connect"},
	.where = "proto == udp",
	.columns = udpconnect_columns,
};
TOOL(udpconnect_tool);

/* --- udplife --- */

static const struct output_column udplife_columns[] = {
	{"pid"},      {"comm"},     {"laddr"}, {"lport"},    {"raddr"},   {"rport"},
	{"tx_bytes"}, {"rx_bytes"}, {"sends"}, {"receives"}, {"span_ns"}, {},
};

static const char *const udplife_examples[] = {
	"nest udplife",
	"all UDP sockets as they close: owner, bytes and duration",
	"nest udplife --where 'sends > 0 and receives == 0'",
	"requests without a reply",
	NULL,
};

static const struct tool udplife_tool = {
	.name = "udplife",
	.layer = "udp",
	.summary = "UDP sockets with owner, datagrams, bytes and duration",
	.description = "A socket opened before the run has neither duration nor sums. An unconnected socket has no "
		       "remote address: it may have many peers.",
	.examples = udplife_examples,
	.events = {"udp.close"},
	.columns = udplife_columns,
};
TOOL(udplife_tool);

/* --- udptop --- */

static const char *const udptop_examples[] = {
	"nest udptop", "sockets with the most traffic, every second", "nest udptop 10 1", "once, over 10 seconds", NULL,
};

static const struct tool udptop_tool = {
	.name = "udptop",
	.layer = "udp",
	.summary = "UDP throughput by process and socket",
	.description = "By process and socket, busiest first. An unconnected socket has no remote address. Aggregates "
		       "in the kernel: no overhead per packet.",
	.examples = udptop_examples,
	.events = {"sock.send", "sock.recv"},
	.where = "proto == udp",
	.aggregate = AGGREGATE_TOP,
	.value = "bytes",
	.by = "pid,comm,laddr,lport,raddr,rport",
	.sums = {"tx_bytes", "rx_bytes"},
	.rows = 20,
	.interval_ns = NSEC_PER_SEC,
};
TOOL(udptop_tool);

/* --- udpdrop --- */

static const struct output_column udpdrop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},   {"raddr"},       {"rport"},  {"laddr"},
	{"lport"},   {"bytes"}, {"reason"}, {"recvq_bytes"}, {"rcvbuf"}, {},
};

struct udpdrop_config {
	struct trace_options common;
	bool count;
};

static const struct option_spec udpdrop_options[] = {
	OPTION(struct udpdrop_config, count, FLAG, "count", 'c', NULL, "count by process, port and reason"),
	OPTION_GROUP(struct udpdrop_config, common, trace_stream_table),
	OPTION_END,
};

static void udpdrop_plan(const void *config, struct trace_plan *plan)
{
	static char *by[] = {(char *)"pid", (char *)"comm", (char *)"laddr", (char *)"lport", (char *)"reason"};

	if (((const struct udpdrop_config *)config)->count)
		trace_plan_count(plan, by, ARRAY_SIZE(by));
}

static const char *const udpdrop_examples[] = {
	"nest udpdrop",
	"datagrams dropped because the application does not read fast enough",
	"nest udpdrop -c 1",
	"drops by process, port and reason, every second",
	NULL,
};

static const struct tool udpdrop_tool = {
	.name = "udpdrop",
	.layer = "udp",
	.summary = "UDP datagrams dropped at a full receive queue",
	.description = "The drops that RcvbufErrors and MemErrors of nest counters count, one by one. Datagrams to a "
		       "closed port or with a wrong checksum do not reach a socket and are not shown.",
	.examples = udpdrop_examples,
	.events = {"udp.drop"},
	.columns = udpdrop_columns,
	.options = udpdrop_options,
	.config_size = sizeof(struct udpdrop_config),
	.plan = udpdrop_plan,
};
TOOL(udpdrop_tool);
