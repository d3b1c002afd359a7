/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for interrupts and softirqs. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* -r: duration instead of latency. */
struct run_config {
	struct trace_options common;
	bool run;
};

static const struct option_spec run_options[] = {
	OPTION(struct run_config, run, FLAG, "run", 'r', NULL, "show the duration instead of the latency"),
	OPTION_GROUP(struct run_config, common, trace_option_table),
	OPTION_END,
};

static void run_plan(const void *config, struct trace_plan *plan)
{
	if (((const struct run_config *)config)->run)
		plan->aggregate.value = "run_ns";
}

/* --- softirqlat --- */

static const char *const softirqlat_examples[] = {
	"nest softirqlat",
	"latency of NET_RX and NET_TX, from raise to start",
	"nest softirqlat -r 10",
	"duration of each run, every 10 seconds",
	"nest trace softirq --stats run --by vec,cpu",
	"all softirqs, by CPU",
	NULL,
};

static const struct tool softirqlat_tool = {
	.name = "softirqlat",
	.layer = "softirq",
	.summary = "network softirq latency and duration",
	.description = "NET_RX polls interfaces; NET_TX resumes qdiscs and frees transmitted packets. They wait for "
		       "interrupt handlers, for other softirqs, and under load for the ksoftirqd thread.",
	.examples = softirqlat_examples,
	.events = {"softirq"},
	.where = "vec in (NET_TX, NET_RX)",
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "vec",
	.options = run_options,
	.config_size = sizeof(struct run_config),
	.plan = run_plan,
};
TOOL(softirqlat_tool);

/* --- napilat --- */

static const char *const napilat_examples[] = {
	"nest napilat",
	"time from NAPI schedule to poll, by interface",
	"nest napilat -r -i eth0",
	"duration of the polls of eth0",
	"nest trace napi.poll --where 'packets >= budget'",
	"polls that used up their budget",
	NULL,
};

static const struct tool napilat_tool = {
	.name = "napilat",
	.layer = "softirq",
	.summary = "NAPI poll latency",
	.description = "By interface; (backlog) is the per-CPU backlog of loopback and virtual interfaces. Where the "
		       "kernel does not show which interface schedules NAPI, the latency is known only for the first "
		       "interface polled in each softirq; the others are left out. -r counts all of them.",
	.examples = napilat_examples,
	.events = {"napi.poll"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "dev",
	.options = run_options,
	.config_size = sizeof(struct run_config),
	.plan = run_plan,
};
TOOL(napilat_tool);

/* --- irqlat --- */

struct irqlat_config {
	struct trace_options common;
	bool all;
};

static const struct option_spec irqlat_options[] = {
	OPTION(struct irqlat_config, all, FLAG, "all", 'a', NULL, "include interrupts of other devices"),
	OPTION_GROUP(struct irqlat_config, common, trace_option_table),
	OPTION_END,
};

static void irqlat_plan(const void *config, struct trace_plan *plan)
{
	if (!((const struct irqlat_config *)config)->all)
		trace_where_add(&plan->where, "vec in (NET_TX, NET_RX)");
}

static const char *const irqlat_examples[] = {
	"nest irqlat",
	"handler duration of network interrupts",
	"nest irqlat -a",
	"all interrupts",
	"nest trace irq --count --by name,cpu 1",
	"interrupts by CPU, every second",
	NULL,
};

static const struct tool irqlat_tool = {
	.name = "irqlat",
	.layer = "softirq",
	.summary = "duration of network interrupt handlers",
	.description =
		"An interrupt counts as a network interrupt once its handler raises NET_RX or NET_TX during the run.",
	.examples = irqlat_examples,
	.events = {"irq"},
	.aggregate = AGGREGATE_HIST,
	.value = "lat_ns",
	.by = "irq,name",
	.options = irqlat_options,
	.config_size = sizeof(struct irqlat_config),
	.plan = irqlat_plan,
};
TOOL(irqlat_tool);

/* --- softnet --- */

struct softnet_config {
	struct trace_options common;
	bool devices;
};

static const struct option_spec softnet_options[] = {
	OPTION(struct softnet_config, devices, FLAG, "devices", 0, NULL, "count packets by interface and CPU"),
	OPTION_GROUP(struct softnet_config, common, trace_option_table),
	OPTION_END,
};

static const struct aggregate_table softnet_table = {.rates = true,
						     .adds = {"packets", "squeezed", "dropped", "run_ns"}};
static const struct aggregate_table softnet_devices_table = {.rates = true, .share_keys = 1};

static const struct output_column softnet_columns[] = {
	{"cpu"}, {"count", "RUNS"}, {"packets"}, {"squeezed"}, {"dropped"}, {"max", "BACKLOG"}, {"run_ns", "BUSY"}, {},
};

static const struct output_column softnet_devices_columns[] = {
	{"dev"}, {"cpu"}, {"count", "PACKETS"}, {"count_rate", "RATE"}, {"share"}, {},
};

static void softnet_plan(const void *config, struct trace_plan *plan)
{
	static char *by[] = {(char *)"dev", (char *)"cpu"};

	if (!((const struct softnet_config *)config)->devices)
		return;
	plan->events[0] = "dev.receive";
	plan->where_of[0] = NULL;
	plan->aggregate = (struct aggregate_spec){
		.kind = AGGREGATE_COUNT, .by = {ARRAY_SIZE(by), by}, .table = &softnet_devices_table};
	plan->columns = softnet_devices_columns;
}

static const char *const softnet_examples[] = {
	"nest softnet",
	"receive processing per CPU, every second",
	"nest softnet --devices 10 1",
	"packets by interface and CPU, over 10 seconds",
	NULL,
};

static const struct tool softnet_tool = {
	.name = "softnet",
	.layer = "softirq",
	.summary = "receive processing per CPU, with squeezes and backlog drops",
	.description = "RUNS of NET_RX, PACKETS processed, runs that ended with work left (SQUEEZED), packets DROPPED "
		       "at a full backlog, the longest BACKLOG, and the time spent. --devices: packets by interface "
		       "and CPU, and the CPU's share.",
	.examples = softnet_examples,
	.events = {"softirq"},
	.where_of = {"vec == NET_RX"},
	.columns = softnet_columns,
	.aggregate = AGGREGATE_STATS,
	.value = "backlog",
	.by = "cpu",
	.table = &softnet_table,
	.interval_ns = NSEC_PER_SEC,
	.options = softnet_options,
	.config_size = sizeof(struct softnet_config),
	.plan = softnet_plan,
};
TOOL(softnet_tool);
