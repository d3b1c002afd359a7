/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about interfaces and their drivers. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- netsize --- */

static const char *const netsize_examples[] = {
	"nest netsize -i eth0",
	"sizes of packets before and after they are cut up and put together, of one interface",
	"nest netsize 10",
	"of all interfaces, every ten seconds",
	NULL,
};

static const struct tool netsize_tool = {
	.name = "netsize",
	.layer = "device",
	.summary = "sizes of packets, before and after they are cut up (GSO) and put together (GRO)",
	.description = "send is what the stack hands over, nic_send what the driver gets; nic_recv is what the driver "
		       "hands over, recv what the stack gets. Where the hardware cuts packets up itself (TSO) nic_send "
		       "is as large as send. All sizes are with the header of the link.",
	.examples = netsize_examples,
	.events = {"dev.queue", "dev.xmit", "dev.arrive", "dev.receive"},
	.aggregate = AGGREGATE_HIST,
	.value = "bytes",
	.by = "dev,stage",
};
TOOL(netsize_tool);

/* --- nettxlat --- */

static const char *const nettxlat_examples[] = {
	"nest nettxlat -i eth0",
	"how long the driver of eth0 has packets until they are sent, for each of its queues",
	"nest trace dev.complete --where 'lat > 1ms'",
	"each packet that took longer than 1 ms, and whose it was",
	NULL,
};

static const struct tool nettxlat_tool = {
	.name = "nettxlat",
	.layer = "device",
	.summary = "how long drivers have packets until the hardware has sent them",
	.description = "By interface, queue and end. An end of handed-on means that the interface is virtual: nothing "
		       "is sent there, and the time is that until the receiving side or the interface below had the "
		       "packet.",
	.examples = nettxlat_examples,
	.events = {"dev.complete"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "dev,queue,end",
};
TOOL(nettxlat_tool);

/* --- netqtop --- */

static const struct aggregate_class netqtop_classes[] = {
	{"below_64", 64},
	{"below_512", 512},
	{"below_2K", 2048},
	{"below_16K", 16384},
	{"below_64K", 65536},
	{"above", 1ull << 32},
	{},
};

static const struct aggregate_table netqtop_table = {.rates = true, .share_keys = 2, .classes = netqtop_classes};

static const struct output_column netqtop_columns[] = {
	{"dev"},
	{"dir"},
	{"queue"},
	{"count_rate", "PACKETS"},
	{"sum_rate", "BYTES"},
	{"avg", "AVG_SIZE"},
	{"share"},
	{"below_64", "<64"},
	{"below_512", "<512"},
	{"below_2K", "<2K"},
	{"below_16K", "<16K"},
	{"below_64K", "<64K"},
	{"above", ">=64K"},
	{},
};

static const char *const netqtop_examples[] = {
	"nest netqtop -i eth0",
	"packets and bytes a second through each queue of eth0, every second",
	"nest netqtop 10 1 --json",
	"all interfaces, once, over ten seconds",
	NULL,
};

static const struct tool netqtop_tool = {
	.name = "netqtop",
	.layer = "device",
	.summary = "what goes through each queue of interfaces: rates, sizes, and how evenly",
	.description = "SHARE is the queue's share of the packets of its interface that go the same way: with four "
		       "queues that are used evenly each has 0.25. A queue without packets has no row; one of - "
		       "means that the driver does not say by which queue a packet came.",
	.examples = netqtop_examples,
	.events = {"dev.xmit", "dev.arrive"},
	.columns = netqtop_columns,
	.aggregate = AGGREGATE_HIST,
	.value = "bytes",
	.by = "dev,dir,queue",
	.table = &netqtop_table,
	.interval_ns = NSEC_PER_SEC,
};
TOOL(netqtop_tool);

/* --- txstack --- */

static const char *const txstack_examples[] = {
	"nest txstack -i eth0 -d 10",
	"which ways through the kernel packets take to eth0, counted for ten seconds",
	"nest txstack -P 443",
	"those of one port",
	NULL,
};

static const struct tool txstack_tool = {
	.name = "txstack",
	.layer = "device",
	.summary = "ways through the kernel by which packets reach a driver, counted",
	.description = "The functions from the driver's border upwards: a write of an application, an acknowledgement "
		       "that arrived and let the next packets go, a timer, a queue that was full before.",
	.examples = txstack_examples,
	.events = {"dev.xmit"},
	.aggregate = AGGREGATE_COUNT,
	.by = "kstack",
};
TOOL(txstack_tool);

/* --- bqllat --- */

struct bqllat_config {
	struct trace_options common;
	bool all;
};

static const struct option_spec bqllat_options[] = {
	OPTION(struct bqllat_config, all, FLAG, "all", 'a', NULL, "queues that their driver stopped, too"),
	OPTION_GROUP(struct bqllat_config, common, trace_option_table),
	OPTION_END,
};

static void bqllat_plan(const void *config, struct trace_plan *plan)
{
	if (!((const struct bqllat_config *)config)->all)
		trace_where_add(&plan->where, "by in (bql, both)");
}

static const char *const bqllat_examples[] = {
	"nest bqllat -i eth0",
	"how long packets are held back by the byte queue limits of eth0",
	"nest bqllat -a",
	"and by drivers that have no room",
	"nest trace dev.hold --show time_ns,dev,queue,by,inflight,limit,lat_ns",
	"each time that a queue was stopped",
	NULL,
};

static const struct tool bqllat_tool = {
	.name = "bqllat",
	.layer = "device",
	.summary = "how long queues of interfaces are stopped by their byte queue limit",
	.description =
		"The limit keeps the driver's queue short, so that packets wait where they can still be chosen "
		"from (the qdisc). Long waits mean that the link is full, or that the driver tells late what was "
		"sent. Virtual interfaces have no such limit.",
	.examples = bqllat_examples,
	.events = {"dev.hold"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "dev,queue,by",
	.options = bqllat_options,
	.config_size = sizeof(struct bqllat_config),
	.plan = bqllat_plan,
};
TOOL(bqllat_tool);
