/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for interfaces and their drivers. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* --- netsize --- */

static const char *const netsize_examples[] = {
	"nest netsize -i eth0",
	"packet sizes before and after segmentation and GRO, on one interface",
	"nest netsize 10",
	"all interfaces, every 10 seconds",
	NULL,
};

static const struct tool netsize_tool = {
	.name = "netsize",
	.layer = "device",
	.summary = "packet sizes before and after segmentation and GRO",
	.description = "send: what the stack passes to the interface; nic_send: what the driver gets; nic_recv: what "
		       "the driver delivers; recv: what the stack gets. With hardware segmentation (TSO) nic_send "
		       "equals send. All sizes include the link header.",
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
	"transmit completion latency of eth0, by queue",
	"nest trace dev.complete --where 'lat > 1ms'",
	"packets that took longer than 1 ms, with owner",
	NULL,
};

static const struct tool nettxlat_tool = {
	.name = "nettxlat",
	.layer = "device",
	.summary = "transmit completion latency of drivers",
	.description = "By interface, queue and end. handed-on is a virtual interface: nothing is transmitted, the "
		       "time ends when the receiving side or the lower interface has the packet.",
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
	"packets and bytes per second of each queue of eth0, every second",
	"nest netqtop 10 1 --json",
	"all interfaces, once, over 10 seconds",
	NULL,
};

static const struct tool netqtop_tool = {
	.name = "netqtop",
	.layer = "device",
	.summary = "packets and bytes per interface queue",
	.description =
		"SHARE is the queue's share of the packets of its interface in that direction: a quarter each "
		"with four evenly used queues. A queue without packets has no row. Queue - means that the driver "
		"does not report the receive queue.",
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
	"kernel stacks that transmit on eth0, counted for 10 seconds",
	"nest txstack -P 443",
	"packets of one port",
	NULL,
};

static const struct tool txstack_tool = {
	.name = "txstack",
	.layer = "device",
	.summary = "kernel stacks of transmitted packets, counted",
	.description = "The functions above the driver: a write of an application, an ACK that releases the next "
		       "segments, a timer, a queue that was full before.",
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
	OPTION(struct bqllat_config, all, FLAG, "all", 'a', NULL, "include queues that the driver stopped"),
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
	"time that BQL stops the queues of eth0",
	"nest bqllat -a",
	"include stops by drivers with a full ring",
	"nest trace dev.hold --show time_ns,dev,queue,by,inflight,limit,lat_ns",
	"each stop of a queue",
	NULL,
};

static const struct tool bqllat_tool = {
	.name = "bqllat",
	.layer = "device",
	.summary = "time that transmit queues are stopped by byte queue limits",
	.description = "BQL keeps the driver's queue short, so that packets wait in the qdisc, which can still "
		       "schedule them. Long stops mean a full link, or a driver that reports completions late. Virtual "
		       "interfaces have no BQL.",
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
