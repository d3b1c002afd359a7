/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about round-trip times, windows and congestion control. */
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
	OPTION(struct tcprtt_config, laddr, TEXT, "laddr", 'a', "ADDR", "only this local address or prefix"),
	OPTION(struct tcprtt_config, raddr, TEXT, "raddr", 'A', "ADDR", "only this remote address or prefix"),
	OPTION(struct tcprtt_config, by_laddr, FLAG, "byladdr", 'b', NULL, "a histogram for each local address"),
	OPTION(struct tcprtt_config, by_raddr, FLAG, "byraddr", 'B', NULL, "a histogram for each remote host"),
	OPTION(struct tcprtt_config, table, FLAG, "table", 'e', NULL,
	       "smallest, largest and average instead of a histogram"),
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
	"round-trip times to each remote host, every ten seconds",
	"nest tcprtt -e -P 443 -d 5",
	"a line for each host that port 443 talks to",
	NULL,
};

static const struct tool tcprtt_tool = {
	.name = "tcprtt",
	.layer = "tcp",
	.summary = "round-trip times of TCP connections, as histograms or by host",
	.description = "The smoothed round-trip time that the kernel keeps, taken each time a segment arrives. "
		       "Connections over "
		       "which much arrives count for much; one that is idle does not count at all.",
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
	OPTION(struct tcpwin_config, plot, FLAG, "plot", 0, NULL, "at the end, draw the windows over time, as SVG"),
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
	"the windows of connections to port 443, each time a segment arrives",
	"nest tcpwin -P 5201 -d 10 --plot -o window.svg",
	"the same as a picture",
	NULL,
};

static const struct tool tcpwin_tool = {
	.name = "tcpwin",
	.layer = "tcp",
	.summary = "congestion window, receiver's window and buffers of connections over time",
	.description =
		"Three kinds of rows: tcp.state when a connection is there, tcp.probe for each segment that arrives, "
		"tcp.retransmit for each that is sent again (KIND tells why). On a busy host name a port or an "
		"address: "
		"there is a row for every segment.",
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
	"how long each connection was in which state of congestion control",
	"nest trace tcp.cong --where 'new_congestion == loss'",
	"each time that a connection runs into a timeout",
	NULL,
};

static const struct tool tcpcong_tool = {
	.name = "tcpcong",
	.layer = "tcp",
	.summary = "how long connections were in which state of congestion control",
	.description =
		"A row for each state of each connection that went through more than one: how long altogether, how "
		"often, and the longest time. A state is "
		"counted "
		"when it ends, the last one with the connection; a state that began before the run is not counted.",
	.examples = tcpcong_examples,
	.events = {"tcp.cong"},
	.columns = tcpcong_columns,
	.aggregate = AGGREGATE_STATS,
	.value = "span_ns",
	.by = "laddr,lport,raddr,rport,old_congestion",
};
TOOL(tcpcong_tool);
