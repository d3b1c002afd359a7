/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for services, whatever their protocol. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- svclat --- */

static const struct aggregate_table svclat_table = {.adds = {"min_rtt_ns"}, .means = true, .percentiles = true};

static const struct output_column svclat_columns[] = {
	{"role"}, {"service"}, {"service_port", "PORT"}, {"outcome"}, {"count"}, {"p50"},
	{"p99"},  {"max"},     {"min_rtt_ns", "RTT"},    {},
};

struct svclat_config {
	struct trace_options common;
	bool hist;
	bool each;
};

static const struct option_spec svclat_options[] = {
	OPTION(struct svclat_config, hist, FLAG, "hist", 0, NULL, "print a histogram per service"),
	OPTION(struct svclat_config, each, FLAG, "each", 'e', NULL, "group by process as well"),
	OPTION_GROUP(struct svclat_config, common, trace_option_table),
	OPTION_END,
};

static const struct output_column svclat_each_columns[] = {
	{"pid"},   {"comm"}, {"role"}, {"service"}, {"service_port", "PORT"}, {"outcome"},
	{"count"}, {"p50"},  {"p99"},  {"max"},     {"min_rtt_ns", "RTT"},    {},
};

static void svclat_plan(const void *data, struct trace_plan *plan)
{
	static char *by[] = {(char *)"pid",     (char *)"comm",         (char *)"role",
			     (char *)"service", (char *)"service_port", (char *)"outcome"};
	const struct svclat_config *config = data;

	if (config->each) {
		plan->aggregate.by = (struct text_list){ARRAY_SIZE(by), by};
		plan->columns = svclat_each_columns;
	}
	if (config->hist) {
		plan->aggregate.table = NULL;
		plan->columns = NULL;
	}
}

static const char *const svclat_examples[] = {
	"nest svclat",
	"answer times of all services, every second",
	"nest svclat --where 'role == client' -d 10",
	"services that this host uses, over 10 seconds",
	"nest svclat --hist -P 5432",
	"histogram of the answer times of port 5432",
	"nest trace tcp.exchange --where 'outcome != answered or lat > 1s'",
	"each request that was slow or got no answer",
	NULL,
};

static const struct tool svclat_tool = {
	.name = "svclat",
	.layer = "tcp",
	.summary = "answer times of TCP services",
	.description =
		"Time from the last byte of a request to the first byte of the answer, for any protocol in which "
		"client and server take turns. A service is the peer's address and port where this host is the "
		"client, its own port where it is the server. OUTCOME is answered, or how the connection "
		"ended without an answer: closed (by this host), peer-closed, reset, timed-out; the time is then "
		"how long the request waited. RTT is the mean of the minimum RTT.",
	.examples = svclat_examples,
	.events = {"tcp.exchange"},
	.columns = svclat_columns,
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "role,service,service_port,outcome",
	.table = &svclat_table,
	.interval_ns = NSEC_PER_SEC,
	.options = svclat_options,
	.config_size = sizeof(struct svclat_config),
	.plan = svclat_plan,
};
TOOL(svclat_tool);
