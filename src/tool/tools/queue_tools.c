/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for qdiscs and packet drops. */
#include "kernel/symbols.h"
#include "tool/core/tool.h"

static const char *const qdisclat_examples[] = {
	"nest qdisclat",
	"queueing delay histogram of each qdisc",
	"nest qdisc-tbf 10",
	"tbf qdiscs, every 10 seconds",
	"nest trace qdisc.wait --where 'lat > 10ms'",
	"packets that waited longer than 10 ms, with owner and destination",
	NULL,
};

#define QDISC_TOOL(object, tool_name, condition, text)                                                                 \
	static const struct tool object##_tool = {                                                                     \
		.name = (tool_name),                                                                                   \
		.layer = "queue",                                                                                      \
		.summary = (text),                                                                                     \
		.description = "Packets of noqueue interfaces, and packets that bypass an empty qdisc, do not wait "   \
			       "and are not counted.",                                                                 \
		.examples = qdisclat_examples,                                                                         \
		.events = {"qdisc.wait"},                                                                              \
		.where = (condition),                                                                                  \
		.aggregate = AGGREGATE_HIST,                                                                           \
		.value = "lat_ns",                                                                                     \
		.by = "dev,kind,handle",                                                                               \
	};                                                                                                             \
	TOOL(object##_tool)

/* One tool per kind of qdisc. */
#define QDISC_KIND(object, kind)                                                                                       \
	QDISC_TOOL(object, "qdisc-" kind, "kind == '" kind "'", "queueing delay in " kind " qdiscs")

QDISC_TOOL(qdisclat, "qdisclat", NULL, "queueing delay in qdiscs");
QDISC_KIND(qdisc_cake, "cake");
QDISC_KIND(qdisc_cbq, "cbq");
QDISC_KIND(qdisc_cbs, "cbs");
QDISC_KIND(qdisc_codel, "codel");
QDISC_KIND(qdisc_fq, "fq");
QDISC_KIND(qdisc_fq_codel, "fq_codel");
QDISC_KIND(qdisc_htb, "htb");
QDISC_KIND(qdisc_red, "red");
QDISC_KIND(qdisc_tbf, "tbf");

/* --- skbdrop --- */

static const struct output_column skbdrop_columns[] = {
	{"time_ns"}, {"pid"},   {"comm"},  {"dir"},    {"dev"},     {"proto"}, {"laddr"},
	{"lport"},   {"raddr"}, {"rport"}, {"reason"}, {"counter"}, {"bytes"}, {},
};

struct skbdrop_config {
	struct trace_options common;
	bool flows;
};

static const struct option_spec skbdrop_options[] = {
	OPTION(struct skbdrop_config, flows, FLAG, "flows", 'c', NULL, "count by reason, kernel function and flow"),
	OPTION_GROUP(struct skbdrop_config, common, trace_option_table),
	OPTION_END,
};

static const char *place_text(const void *context _unused_, const struct value *value)
{
	const struct kernel_symbols *symbols = kernel_symbols_get(NULL);

	return symbols && value->class == VALUE_UINT ? kernel_symbols_find(symbols, value->uint) : NULL;
}

static const struct aggregate_label place_label = {"place", "location", place_text, NULL};

static void skbdrop_plan(const void *data, struct trace_plan *plan)
{
	static char *by[] = {(char *)"reason", (char *)"place", (char *)"dev",   (char *)"dir",  (char *)"proto",
			     (char *)"laddr",  (char *)"lport", (char *)"raddr", (char *)"rport"};

	if (!((const struct skbdrop_config *)data)->flows)
		return;
	trace_plan_count(plan, by, ARRAY_SIZE(by));
	plan->aggregate.kind = AGGREGATE_SUM;
	plan->aggregate.value = "bytes";
	plan->aggregate.label = &place_label;
}

static const char *const skbdrop_examples[] = {
	"nest skbdrop",
	"dropped packets with owner, addresses and reason",
	"nest skbdrop -c 10",
	"drops by reason, kernel function and flow, every 10 seconds",
	"nest skbdrop --count --by reason,dev 10",
	"drops by reason, every 10 seconds",
	"nest skbdrop --where 'counter == UdpRcvbufErrors'",
	"packets and sockets behind UdpRcvbufErrors of nstat",
	"nest skbdrop --stack",
	"include the kernel stack of each drop",
	NULL,
};

static const struct tool skbdrop_tool = {
	.name = "skbdrop",
	.layer = "device",
	.summary = "dropped packets with reason and SNMP counter",
	.description = "All protocols. REASON is the kernel's drop reason; NOT_SPECIFIED where it gives none. COUNTER "
		       "is the nstat counter that the drop increments, where that is certain.",
	.examples = skbdrop_examples,
	.events = {"skb.drop"},
	/* A FIN whose data was read is freed with 0 bytes: that is no drop. */
	.where = "bytes > 0",
	.columns = skbdrop_columns,
	.options = skbdrop_options,
	.config_size = sizeof(struct skbdrop_config),
	.plan = skbdrop_plan,
};
TOOL(skbdrop_tool);
