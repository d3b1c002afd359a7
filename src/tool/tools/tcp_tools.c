/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of TCP. */
#include "tool/core/tool.h"

/* --- tcplife --- */

static const struct output_column tcplife_columns[] = {
	{"pid"}, {"comm"}, {"laddr"}, {"lport"}, {"raddr"}, {"rport"}, {"tx_bytes"}, {"rx_bytes"}, {"span_ns"}, {},
};

static const char *const tcplife_examples[] = {
	"nest tcplife",
	"every connection as it ends: whose it was, how much went each way, how long it lived",
	"nest tcplife --where 'span > 1s and rx_bytes == 0'",
	"those that waited for an answer that never came",
	"nest tcplife --dot -d 60 | dot -Tsvg -o who.svg",
	"a picture of who talked to whom in a minute",
	NULL,
};

struct tcplife_config {
	struct trace_options common;
	bool dot;
};

static const struct option_spec tcplife_options[] = {
	OPTION(struct tcplife_config, dot, FLAG, "dot", 0, NULL,
	       "at the end, the graph of who talks to whom, for dot of Graphviz"),
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
	.summary = "connections with their duration and bytes, as they end",
	.description =
		"A connection whose beginning was not seen has no duration. Bytes are payload: what was sent again "
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
	"every connection that is asked for here, when it is there or has failed",
	"nest tcpconnect -x",
	"failures only: refused, timed out, unreachable, given up",
	NULL,
};

static const struct tool tcpconnect_tool = {
	.name = "tcpconnect",
	.layer = "tcp",
	.summary = "connections that this host asks for, with the time they took or the error",
	.description =
		"Shown when the answer has come, so that port, time and failure are known; connections that do not "
		"wait (non-blocking) included.",
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
	OPTION(struct tcpretrans_config, no_probes, FLAG, "no-lossprobe", 0, NULL, "without tail loss probes"),
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
	"segments sent again as it happens, and why",
	"nest tcpretrans -c -d 10",
	"which connections lose how much, over ten seconds",
	NULL,
};

static const struct tool tcpretrans_tool = {
	.name = "tcpretrans",
	.layer = "tcp",
	.summary = "segments that TCP sends again, and why",
	.description =
		"T tells why: fast (acknowledgements showed the loss), timeout, probe (tail loss probe), syn, synack. "
		"Nothing is paid for segments that are sent once.",
	.examples = tcpretrans_examples,
	.events = {"tcp.retransmit"},
	.columns = tcpretrans_columns,
	.options = tcpretrans_options,
	.config_size = sizeof(struct tcpretrans_config),
	.plan = tcpretrans_plan,
};
TOOL(tcpretrans_tool);
