/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about the queues of interfaces. */
#include "tool/core/tool.h"

static const char *const qdisclat_examples[] = {
	"nest qdisclat",
	"how long packets wait in the queues of interfaces: a histogram for each",
	"nest qdisc-tbf 10",
	"in those of kind tbf, every ten seconds",
	"nest trace qdisc.wait --where 'lat > 10ms'",
	"each packet that waited longer than 10 ms, whose it was and where it goes",
	NULL,
};

#define QDISC_TOOL(object, tool_name, condition, text)                                                                 \
	static const struct tool object##_tool = {                                                                     \
		.name = (tool_name),                                                                                   \
		.layer = "queue",                                                                                      \
		.summary = (text),                                                                                     \
		.description = "Interfaces without a queue (noqueue) and packets that pass an empty queue by do not "  \
			       "wait and are not counted.",                                                            \
		.examples = qdisclat_examples,                                                                         \
		.events = {"qdisc.wait"},                                                                              \
		.where = (condition),                                                                                  \
		.aggregate = AGGREGATE_HIST,                                                                           \
		.value = "lat_ns",                                                                                     \
		.by = "dev,kind,handle",                                                                               \
	};                                                                                                             \
	TOOL(object##_tool)

/* Each kind by the name that people know. */
#define QDISC_KIND(object, kind)                                                                                       \
	QDISC_TOOL(object, "qdisc-" kind, "kind == '" kind "'", "how long packets wait in queues of kind " kind)

QDISC_TOOL(qdisclat, "qdisclat", NULL, "how long packets wait in the queues of interfaces");
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

static const char *const skbdrop_examples[] = {
	"nest skbdrop",
	"packets that the kernel throws away: whose, which and why",
	"nest skbdrop --count --by reason,dev 10",
	"how many for which reason, every ten seconds",
	"nest skbdrop --where 'counter == UdpRcvbufErrors'",
	"nstat says that UdpRcvbufErrors grows: which packets, whose socket",
	"nest skbdrop --stack",
	"and the functions that did it",
	NULL,
};

static const struct tool skbdrop_tool = {
	.name = "skbdrop",
	.layer = "device",
	.summary = "packets that the kernel throws away, and why",
	.description =
		"Of any protocol. REASON is the kernel's own word; NOT_SPECIFIED where it has none. COUNTER is the "
		"one of nstat that moved with it, where one does for sure.",
	.examples = skbdrop_examples,
	.events = {"skb.drop"},
	/* What is left of a FIN once its data was read has no bytes: nothing is lost with it. */
	.where = "bytes > 0",
	.columns = skbdrop_columns,
};
TOOL(skbdrop_tool);
