/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about the system calls of the network. */
#include "tool/core/tool.h"

static const struct output_column netcalls_columns[] = {
	{"pid"},   {"comm"}, {"call"},   {"fd"},    {"laddr"},  {"lport"}, {"raddr"},
	{"rport"}, {"args"}, {"result"}, {"error"}, {"lat_ns"}, {},
};

/* As strace -c has them. */
static const struct output_column summary_columns[] = {
	{"call"}, {"error"}, {"count", "CALLS"}, {"sum", "TOTAL"}, {"avg"}, {"min"}, {"max"}, {},
};

struct netcalls_config {
	struct trace_options common;
	bool summary;
};

static const struct option_spec netcalls_options[] = {
	OPTION(struct netcalls_config, summary, FLAG, "summary", 'c', NULL,
	       "count them and add up their time, by call and error"),
	OPTION_GROUP(struct netcalls_config, common, trace_option_table),
	OPTION_END,
};

static void netcalls_plan(const void *config, struct trace_plan *plan)
{
	static char *by[] = {(char *)"call", (char *)"error"};

	if (!((const struct netcalls_config *)config)->summary)
		return;
	plan->aggregate = (struct aggregate_spec){.kind = AGGREGATE_STATS, .value = "lat_ns", .by = {2, by}};
	plan->columns = summary_columns;
}

static const char *const netcalls_examples[] = {
	"nest netcalls -p 4711",
	"the network calls of a process, as strace shows them, without stopping it",
	"nest netcalls -x",
	"those that failed, of all processes",
	"nest netcalls -c -- curl -s http://127.0.0.1/",
	"how many of which call a command makes, and how long they take",
	"nest netcalls --where 'lat > 100ms'",
	"who waits in a call for longer than 100 ms",
	NULL,
};

static const struct tool netcalls_tool = {
	.name = "netcalls",
	.layer = "socket",
	.summary = "network system calls with arguments, socket, result and duration",
	.description = "The calls of strace -e trace=network, told when they end: one that is still waiting is not "
		       "shown. Of data only the length is shown. read and write on a socket are not among them: "
		       "socketio counts those, too.",
	.examples = netcalls_examples,
	.events = {"sock.call"},
	.columns = netcalls_columns,
	.options = netcalls_options,
	.config_size = sizeof(struct netcalls_config),
	.plan = netcalls_plan,
};
TOOL(netcalls_tool);
