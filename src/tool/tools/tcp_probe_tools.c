/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for TCP RTT, windows and congestion control. */
#include "tool/core/tool.h"

/* --- tcprtt --- */

struct tcprtt_config {
	struct trace_options common;
	const char *laddr;
	const char *raddr;
	bool by_laddr;
	bool by_raddr;
	bool table;
};

static const struct option_spec tcprtt_options[] = {
	OPTION(struct tcprtt_config, laddr, TEXT, "laddr", 'a', "ADDR", "limit to this local address or prefix"),
	OPTION(struct tcprtt_config, raddr, TEXT, "raddr", 'A', "ADDR", "limit to this remote address or prefix"),
	OPTION(struct tcprtt_config, by_laddr, FLAG, "byladdr", 'b', NULL, "group by local address"),
	OPTION(struct tcprtt_config, by_raddr, FLAG, "byraddr", 'B', NULL, "group by remote host"),
	OPTION(struct tcprtt_config, table, FLAG, "table", 'e', NULL,
	       "print minimum, maximum and average instead of a histogram"),
	OPTION_GROUP(struct tcprtt_config, common, trace_option_table),
	OPTION_END,
};

static const struct output_column local_columns[] = {{"laddr"}, {"count"}, {"min"}, {"avg"}, {"max"}, {}};
static const struct output_column remote_columns[] = {{"raddr"}, {"count"}, {"min"}, {"avg"}, {"max"}, {}};

static void tcprtt_plan(const void *data, struct trace_plan *plan)
{
	static char *by_local[] = {(char *)"laddr"}, *by_remote[] = {(char *)"raddr"};
	const struct tcprtt_config *config = data;

	if (config->laddr)
		trace_where_add(&plan->where, "laddr in %s", config->laddr);
	if (config->raddr)
		trace_where_add(&plan->where, "raddr in %s", config->raddr);
	if (config->table)
		plan->aggregate.kind = AGGREGATE_STATS;
	if (config->table)
		plan->columns = config->by_laddr ? local_columns : remote_columns;
	if (config->by_laddr)
		plan->aggregate.by = (struct text_list){1, by_local};
	else if (config->by_raddr || config->table)
		plan->aggregate.by = (struct text_list){1, by_remote};
}

static const char *const tcprtt_examples[] = {
	"nest tcprtt -B 10",
	"RTT to each remote host, every 10 seconds",
	"nest tcprtt -e -P 443 -d 5",
	"RTT of port 443, one line per host",
	NULL,
};

static const struct tool tcprtt_tool = {
	.name = "tcprtt",
	.layer = "tcp",
	.summary = "TCP RTT by host or as a histogram",
	.description = "The smoothed RTT (SRTT) that the kernel keeps, sampled at each received segment: busy "
		       "connections weigh more, idle ones not at all.",
	.examples = tcprtt_examples,
	.events = {"tcp.probe"},
	.aggregate = AGGREGATE_HIST,
	.value = "srtt_ns",
	.options = tcprtt_options,
	.config_size = sizeof(struct tcprtt_config),
	.plan = tcprtt_plan,
};
TOOL(tcprtt_tool);

/* --- tcpwin --- */

static const struct output_column tcpwin_columns[] = {
	{"event"},          {"elapsed_ns"}, {"cookie"}, {"lport"},      {"rport"}, {"cwnd"}, {"ssthresh"},
	{"inflight_bytes"}, {"peer_wnd"},   {"sndbuf"}, {"wmem_bytes"}, {"kind"},  {},
};

struct tcpwin_config {
	struct trace_options common;
	bool plot;
};

static const struct option_spec tcpwin_options[] = {
	OPTION(struct tcpwin_config, plot, FLAG, "plot", 0, NULL, "plot the windows over time as SVG at the end"),
	OPTION_GROUP(struct tcpwin_config, common, trace_stream_table),
	OPTION_END,
};

static void tcpwin_plan(const void *config, struct trace_plan *plan)
{
	if (((const struct tcpwin_config *)config)->plot)
		plan->format = "plot";
}

static const char *const tcpwin_examples[] = {
	"nest tcpwin --where 'rport == 443'",
	"windows of connections to port 443, at each received segment",
	"nest tcpwin -P 5201 -d 10 --plot -o window.svg",
	"the same as a plot",
	NULL,
};

static const struct tool tcpwin_tool = {
	.name = "tcpwin",
	.layer = "tcp",
	.summary = "congestion window, receive window and buffers over time",
	.description = "Three kinds of rows: tcp.state when a connection is established, tcp.probe for each received "
		       "segment, tcp.retransmit for each retransmission (KIND is its cause). On a busy host limit it "
		       "to a port or an address: every segment is a row.",
	.examples = tcpwin_examples,
	.events = {"tcp.state", "tcp.probe", "tcp.retransmit"},
	.where_of = {"newstate == ESTABLISHED"},
	.columns = tcpwin_columns,
	.options = tcpwin_options,
	.config_size = sizeof(struct tcpwin_config),
	.plan = tcpwin_plan,
};
TOOL(tcpwin_tool);

/* --- tcpcong --- */

static const struct output_column tcpcong_columns[] = {
	{"laddr"},       {"lport"},          {"raddr"},          {"rport"}, {"old_congestion", "STATE"},
	{"sum", "TIME"}, {"count", "TIMES"}, {"max", "LONGEST"}, {},
};

static const char *const tcpcong_examples[] = {
	"nest tcpcong -d 30",
	"time in each congestion control state, by connection",
	"nest trace tcp.cong --where 'new_congestion == loss'",
	"each retransmission timeout",
	NULL,
};

static const struct tool tcpcong_tool = {
	.name = "tcpcong",
	.layer = "tcp",
	.summary = "time in each TCP congestion control state",
	.description = "One row per connection and state, for connections that changed state: total time, count and "
		       "longest stay. A state is counted when it ends; a state that began before the run is not.",
	.examples = tcpcong_examples,
	.events = {"tcp.cong"},
	.columns = tcpcong_columns,
	.aggregate = AGGREGATE_STATS,
	.value = "span_ns",
	.by = "laddr,lport,raddr,rport,old_congestion",
};
TOOL(tcpcong_tool);
