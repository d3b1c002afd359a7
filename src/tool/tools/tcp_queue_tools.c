/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for TCP queues: accept queue, data held before transmission, data waiting for its reader. */
#include <inttypes.h>

#include "tool/core/tool.h"

/* --- tcpsynbl --- */

static const char *const tcpsynbl_examples[] = {
	"nest tcpsynbl -d 10",
	"accept queue length, at each new connection",
	"nest trace tcp.backlog --where 'backlog >= backlog_max'",
	"each time the queue was full",
	NULL,
};

static const struct tool tcpsynbl_tool = {
	.name = "tcpsynbl",
	.layer = "tcp",
	.summary = "accept queue length per listener",
	.description = "Sampled at each completed handshake, including the new connection. Connections dropped at a "
		       "full queue are not sampled: the field drops of tcp.backlog and ListenOverflows of nest "
		       "counters count them.",
	.examples = tcpsynbl_examples,
	.events = {"tcp.backlog"},
	.aggregate = AGGREGATE_HIST,
	.value = "backlog",
	.by = "lport,backlog_max",
};
TOOL(tcpsynbl_tool);

/* --- tcpnagle --- */

struct tcpnagle_config {
	struct trace_options common;
	bool all;
};

static const struct option_spec tcpnagle_options[] = {
	OPTION(struct tcpnagle_config, all, FLAG, "all", 'a', NULL,
	       "include other reasons: pacing, windows, local queues"),
	OPTION_GROUP(struct tcpnagle_config, common, trace_option_table),
	OPTION_END,
};

static void tcpnagle_plan(const void *config, struct trace_plan *plan)
{
	if (!((const struct tcpnagle_config *)config)->all)
		trace_where_add(&plan->where, "reason == nagle or reason == cork");
}

static const char *const tcpnagle_examples[] = {
	"nest tcpnagle -d 10",
	"wait of small writes for an ACK, and of corked data for more",
	"nest trace tcp.hold --where 'reason == nagle and lat > 30ms' --count --by comm,raddr,rport",
	"programs that combine Nagle's algorithm with delayed ACKs",
	NULL,
};

static const struct tool tcpnagle_tool = {
	.name = "tcpnagle",
	.layer = "tcp",
	.summary = "data held back by Nagle or TCP_CORK",
	.description = "From the end of the write to transmission. 40 ms and more usually is the peer's delayed ACK; "
		       "set TCP_NODELAY, or write once instead of twice.",
	.examples = tcpnagle_examples,
	.events = {"tcp.hold"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "reason,comm",
	.options = tcpnagle_options,
	.config_size = sizeof(struct tcpnagle_config),
	.plan = tcpnagle_plan,
};
TOOL(tcpnagle_tool);

/* --- tcppacing --- */

static const char *const tcppacing_examples[] = {
	"nest tcppacing -d 5",
	"wait of segments for their pacing time, by program",
	NULL,
};

static const struct tool tcppacing_tool = {
	.name = "tcppacing",
	.layer = "tcp",
	.summary = "delay added by TCP pacing",
	.description = "Connections that use bbr, or with a pacing rate set by the application. With the fq qdisc "
		       "pacing happens in the qdisc and is not shown here.",
	.examples = tcppacing_examples,
	.events = {"tcp.hold"},
	.where = "reason == pacing",
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "comm",
};
TOOL(tcppacing_tool);

/* --- tcppktlat --- */

static const struct output_column tcppktlat_columns[] = {
	{"pid"}, {"tid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"bytes"}, {"lat_ns"}, {},
};

struct tcppktlat_config {
	struct trace_options common;
	uint64_t min_ns;
};

static const struct option_spec tcppktlat_options[] = {
	OPTION(struct tcppktlat_config, min_ns, DURATION, "min", 'm', "TIME", "limit to waits of at least TIME (1ms)"),
	OPTION_GROUP(struct tcppktlat_config, common, trace_stream_table),
	OPTION_END,
};

static void tcppktlat_plan(const void *config, struct trace_plan *plan)
{
	uint64_t min_ns = ((const struct tcppktlat_config *)config)->min_ns;

	if (min_ns)
		trace_where_add(&plan->where, "lat_ns >= %" PRIu64 "ns", min_ns);
}

static const char *const tcppktlat_examples[] = {
	"nest tcppktlat -m 10ms",
	"data that waited 10 ms or longer for its application",
	"nest trace tcp.wait --hist lat_ns --by comm",
	"wait of received data, by program",
	NULL,
};

static const struct tool tcppktlat_tool = {
	.name = "tcppktlat",
	.layer = "tcp",
	.summary = "time from TCP receive to read by the application",
	.description = "Measures data that arrives in an empty receive queue, from TCP receive to the read. A reader "
		       "blocked in recv has to be woken; a busy one has to return to the socket.",
	.examples = tcppktlat_examples,
	.events = {"tcp.wait"},
	.columns = tcppktlat_columns,
	.options = tcppktlat_options,
	.config_size = sizeof(struct tcppktlat_config),
	.plan = tcppktlat_plan,
};
TOOL(tcppktlat_tool);
