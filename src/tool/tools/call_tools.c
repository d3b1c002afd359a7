/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for network system calls. */
#include "tool/core/tool.h"

static const struct output_column netcalls_columns[] = {
	{"pid"},   {"comm"}, {"call"},   {"fd"},    {"laddr"},  {"lport"}, {"raddr"},
	{"rport"}, {"args"}, {"result"}, {"error"}, {"lat_ns"}, {},
};

/* The columns of strace -c. */
static const struct output_column summary_columns[] = {
	{"call"}, {"error"}, {"count", "CALLS"}, {"sum", "TOTAL"}, {"avg"}, {"min"}, {"max"}, {},
};

struct netcalls_config {
	struct trace_options common;
	bool summary;
};

static const struct option_spec netcalls_options[] = {
	OPTION(struct netcalls_config, summary, FLAG, "summary", 'c', NULL,
	       "count calls and sum their time, by call and error"),
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
	"network calls of a process, as strace shows them, without stopping it",
	"nest netcalls -x",
	"failed calls of all processes",
	"nest netcalls -c -- curl -s http://127.0.0.1/",
	"calls of a command: count and time",
	"nest netcalls --where 'lat > 100ms'",
	"calls that took longer than 100 ms",
	NULL,
};

static const struct tool netcalls_tool = {
	.name = "netcalls",
	.layer = "socket",
	.summary = "network system calls with arguments, result and latency",
	.description = "The calls of strace -e trace=network, reported when they return: a blocked call is not shown "
		       "yet. Data is shown by its length only. read and write on sockets are not included; socketio "
		       "also counts them.",
	.examples = netcalls_examples,
	.events = {"sock.call"},
	.columns = netcalls_columns,
	.options = netcalls_options,
	.config_size = sizeof(struct netcalls_config),
	.plan = netcalls_plan,
};
TOOL(netcalls_tool);
