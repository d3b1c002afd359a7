/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TCP connection tools: tcplife, tcpconnect, tcpretrans. */
#include "tool/core/tool.h"

/* --- tcplife --- */

static const struct output_column tcplife_columns[] = {
	{"pid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"tx_bytes"}, {"rx_bytes"}, {"span_ns"}, {},
};

static const char *const tcplife_examples[] = {
	"nest tcplife",
	"all connections as they close: owner, bytes and duration",
	"nest tcplife --where 'span > 1s and rx_bytes == 0'",
	"connections without an answer",
	"nest tcplife --dot -d 60 | dot -Tsvg -o who.svg",
	"graph of who talked to whom in 60 seconds",
	NULL,
};

struct tcplife_config {
	struct trace_options common;
	bool dot;
};

static const struct option_spec tcplife_options[] = {
	OPTION(struct tcplife_config, dot, FLAG, "dot", 0, NULL,
	       "print a graph of who talks to whom at the end, for Graphviz dot"),
	OPTION_GROUP(struct tcplife_config, common, trace_stream_table),
	OPTION_END,
};

static void tcplife_plan(const void *config, struct trace_plan *plan)
{
	if (((const struct tcplife_config *)config)->dot)
		plan->format = "dot";
}

static const struct tool tcplife_tool = {
	.name = "tcplife",
	.layer = "tcp",
	.summary = "TCP connections with owner, bytes and duration",
	.description = "A connection established before the run has no duration. Bytes are payload: retransmitted data "
		       "counts once, the handshake does not count.",
	.examples = tcplife_examples,
	.events = {"tcp.close"},
	.columns = tcplife_columns,
	.options = tcplife_options,
	.config_size = sizeof(struct tcplife_config),
	.plan = tcplife_plan,
};
TOOL(tcplife_tool);

/* --- tcpconnect --- */

static const struct output_column tcpconnect_columns[] = {
	{"pid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"lat_ns"}, {"error"}, {},
};

struct tcpconnect_config {
	struct trace_options common;
	bool count;
};

static const struct option_spec tcpconnect_options[] = {
	OPTION(struct tcpconnect_config, count, FLAG, "count", 'c', NULL,
	       "count connections by process and destination"),
	OPTION_GROUP(struct tcpconnect_config, common, trace_stream_table),
	OPTION_END,
};

static void tcpconnect_plan(const void *config, struct trace_plan *plan)
{
	static char *by[] = {(char *)"pid", (char *)"comm", (char *)"raddr", (char *)"rport"};

	if (((const struct tcpconnect_config *)config)->count)
		trace_plan_count(plan, by, ARRAY_SIZE(by));
}

static const char *const tcpconnect_examples[] = {
	"nest tcpconnect",
	"outgoing connections, established or failed",
	"nest tcpconnect -x",
	"failed connects: refused, timed out, unreachable, aborted",
	NULL,
};

static const struct tool tcpconnect_tool = {
	.name = "tcpconnect",
	.layer = "tcp",
	.summary = "outgoing TCP connections with latency and error",
	.description = "Reported when the peer answers or the connect fails, so that port, latency and error are "
		       "known; includes non-blocking connects.",
	.examples = tcpconnect_examples,
	.events = {"sock.connect"},
	.where = "proto == tcp",
	.columns = tcpconnect_columns,
	.options = tcpconnect_options,
	.config_size = sizeof(struct tcpconnect_config),
	.plan = tcpconnect_plan,
};
TOOL(tcpconnect_tool);

/* --- tcpretrans --- */

static const struct output_column tcpretrans_columns[] = {
	{"time_ns"}, {"pid"}, {"comm"}, {"laddr"}, {"lport"}, {"kind", "T"}, {"raddr"}, {"rport"}, {"state"}, {},
};

static const struct output_column tcpretrans_seq_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"laddr"}, {"lport"}, {"kind", "T"},
	{"raddr"},   {"rport"}, {"state"}, {"seq"},   {},
};

struct tcpretrans_config {
	struct trace_options common;
	bool count;
	bool sequence;
	bool no_probes;
};

static const struct option_spec tcpretrans_options[] = {
	OPTION(struct tcpretrans_config, count, FLAG, "count", 'c', NULL, "count by connection"),
	OPTION(struct tcpretrans_config, sequence, FLAG, "sequence", 's', NULL, "show sequence numbers"),
	OPTION(struct tcpretrans_config, no_probes, FLAG, "no-lossprobe", 0, NULL, "leave out tail loss probes"),
	OPTION_GROUP(struct tcpretrans_config, common, trace_stream_table),
	OPTION_END,
};

static void tcpretrans_plan(const void *data, struct trace_plan *plan)
{
	static char *by[] = {(char *)"laddr", (char *)"lport", (char *)"raddr", (char *)"rport"};
	const struct tcpretrans_config *config = data;

	if (config->no_probes)
		trace_where_add(&plan->where, "kind != probe");
	if (config->sequence)
		plan->columns = tcpretrans_seq_columns;
	if (config->count)
		trace_plan_count(plan, by, ARRAY_SIZE(by));
}

static const char *const tcpretrans_examples[] = {
	"nest tcpretrans",
	"retransmissions as they happen, with cause",
	"nest tcpretrans -c -d 10",
	"retransmissions by connection, over 10 seconds",
	NULL,
};

static const struct tool tcpretrans_tool = {
	.name = "tcpretrans",
	.layer = "tcp",
	.summary = "TCP retransmissions with cause",
	.description = "T is the cause: fast (ACKs showed the loss), timeout, probe (tail loss probe), syn, synack. No "
		       "overhead for segments that are sent once.",
	.examples = tcpretrans_examples,
	.events = {"tcp.retransmit"},
	.columns = tcpretrans_columns,
	.options = tcpretrans_options,
	.config_size = sizeof(struct tcpretrans_config),
	.plan = tcpretrans_plan,
};
TOOL(tcpretrans_tool);
