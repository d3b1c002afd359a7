/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools of IP. */
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
	OPTION(struct ipecn_config, all, FLAG, "all", 'a', NULL, "packets that could be marked, too"),
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
	"packets that were marked because of congestion, received and sent",
	"nest ipecn -a -c -d 10",
	"whose packets can be marked at all, and how many were, over ten seconds",
	NULL,
};

static const struct tool ipecn_tool = {
	.name = "ipecn",
	.layer = "ip",
	.summary = "packets with marks of congestion (ECN), in and out",
	.description = "What leaves is looked at behind the queue of the interface, so its own marks are seen.",
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
	"every fragment: which packet it is a part of, and whether the packet came whole",
	"nest ipfrag --where 'what == lost' --show raddr,reason,error,mem_bytes,mem_limit",
	"fragments that were thrown away, why, and how much memory those that wait may take",
	"nest ipfrag --count --by what,raddr 10",
	"how many from and to whom, every ten seconds",
	NULL,
};

static const struct tool ipfrag_tool = {
	.name = "ipfrag",
	.layer = "ip",
	.summary = "fragments of packets, and those that never became whole",
	.description = "A packet of which one fragment is lost is lost whole, after it has taken memory for up to 30 "
		       "seconds (60 with "
		       "IPv6). ERROR is ETIMEDOUT when the rest did not come, ENOMEM when the memory for waiting "
		       "fragments was "
		       "used up.",
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
	"every look-up of a route: which table, what was found, how long it took",
	"nest routelat --hist lat_most --by table 10",
	"how long look-ups for packets that arrive take at most, every ten seconds",
	"nest routelat --where 'error and error != EAGAIN'",
	"destinations that a route forbids or throws away",
	NULL,
};

static const struct tool routelat_tool = {
	.name = "routelat",
	.layer = "ip",
	.summary = "look-ups of routes: what was found, and how long they took",
	.description = "With tracepoints alone only the end of a look-up is told: LAT is then known of the main table "
		       "where the "
		       "local one was asked before it, as with IPv6, and of all where functions can be watched "
		       "(fentry). LAT_MOST is the "
		       "time since the packet arrived: the look-up took no longer. What this host sends has none.",
	.examples = routelat_examples,
	.events = {"ip.route"},
	.columns = routelat_columns,
};
TOOL(routelat_tool);
