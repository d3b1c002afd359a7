/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IP tools. */
#include "tool/core/tool.h"

/* --- ipecn --- */

static const struct output_column ipecn_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"},   {"dev"},   {"ecn"}, {"proto"},
	{"laddr"},   {"lport"}, {"raddr"}, {"rport"}, {"bytes"}, {},
};

struct ipecn_config {
	struct trace_options common;
	bool all;
	bool count;
};

static const struct option_spec ipecn_options[] = {
	OPTION(struct ipecn_config, all, FLAG, "all", 'a', NULL, "include ECN-capable packets (ECT)"),
	OPTION(struct ipecn_config, count, FLAG, "count", 'c', NULL, "count by peer, direction and mark"),
	OPTION_GROUP(struct ipecn_config, common, trace_stream_table),
	OPTION_END,
};

static void ipecn_plan(const void *data, struct trace_plan *plan)
{
	static char *by[] = {(char *)"raddr", (char *)"dir", (char *)"ecn"};
	const struct ipecn_config *config = data;

	if (!config->all)
		trace_where_add(&plan->where, "ecn == CE");
	if (config->count)
		trace_plan_count(plan, by, ARRAY_SIZE(by));
}

static const char *const ipecn_examples[] = {
	"nest ipecn",
	"packets with a congestion mark (CE), received and transmitted",
	"nest ipecn -a -c -d 10",
	"ECN-capable and marked packets by peer, over 10 seconds",
	NULL,
};

static const struct tool ipecn_tool = {
	.name = "ipecn",
	.layer = "ip",
	.summary = "ECN-marked packets, transmitted and received",
	.description = "Transmitted packets are seen after the qdisc, including its own marks.",
	.examples = ipecn_examples,
	.events = {"ip.ecn"},
	.columns = ipecn_columns,
	.options = ipecn_options,
	.config_size = sizeof(struct ipecn_config),
	.plan = ipecn_plan,
};
TOOL(ipecn_tool);

/* --- ipfrag --- */

static const struct output_column ipfrag_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},      {"what"},  {"dev"},    {"proto"},  {"laddr"}, {"raddr"}, {"id"},
	{"offset"},  {"bytes"}, {"fragments"}, {"whole"}, {"lat_ns"}, {"reason"}, {"error"}, {},
};

static const char *const ipfrag_examples[] = {
	"nest ipfrag",
	"all fragments: their packet, and whether it was reassembled",
	"nest ipfrag --where 'what == lost' --show raddr,reason,error,mem_bytes,mem_limit",
	"dropped fragments, with reason and reassembly memory",
	"nest ipfrag --count --by what,raddr 10",
	"fragments by peer, every 10 seconds",
	NULL,
};

static const struct tool ipfrag_tool = {
	.name = "ipfrag",
	.layer = "ip",
	.summary = "IP fragments and failed reassemblies",
	.description =
		"One lost fragment loses the whole packet, after it has used memory for up to 30 seconds (60 with "
		"IPv6). ERROR is ETIMEDOUT when fragments are missing, ENOMEM when reassembly memory is exhausted.",
	.examples = ipfrag_examples,
	.events = {"ip.frag"},
	.columns = ipfrag_columns,
};
TOOL(ipfrag_tool);

/* --- routelat --- */

static const struct output_column routelat_columns[] = {
	{"time_ns"}, {"table"},  {"proto"},       {"laddr"}, {"raddr"}, {"gateway"},
	{"dev"},     {"lat_ns"}, {"lat_most_ns"}, {"error"}, {},
};

static const char *const routelat_examples[] = {
	"nest routelat",
	"all route lookups: table, result and latency",
	"nest routelat --hist lat_most --by table 10",
	"upper bound of lookup latency for received packets, every 10 seconds",
	"nest routelat --where 'error and error != EAGAIN'",
	"destinations that a route prohibits or blackholes",
	NULL,
};

static const struct tool routelat_tool = {
	.name = "routelat",
	.layer = "ip",
	.summary = "route lookups with result and latency",
	.description =
		"With tracepoints alone only the end of a lookup is visible: LAT is then known for the main table if "
		"the local table was searched just before, as with IPv6; with fentry for every table. LAT_MOST is the "
		"time since the packet arrived, an upper bound; locally generated packets have none.",
	.examples = routelat_examples,
	.events = {"ip.route"},
	.columns = routelat_columns,
};
TOOL(routelat_tool);
