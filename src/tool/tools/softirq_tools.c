/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools about interrupts and the deferred work that they raise. */
#include "base/clock.h"
#include "tool/core/tool.h"

/* How long it took instead of how long it waited. */
struct run_config {
	struct trace_options common;
	bool run;
};

static const struct option_spec run_options[] = {
	OPTION(struct run_config, run, FLAG, "run", 'r', NULL, "how long it took, instead of how long it waited"),
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
	"how long the network's deferred work waits until it is begun",
	"nest softirqlat -r 10",
	"how long each run of it takes, every ten seconds",
	"nest trace softirq --stats run --by vec,cpu",
	"all deferred work, by processor",
	NULL,
};

static const struct tool softirqlat_tool = {
	.name = "softirqlat",
	.layer = "softirq",
	.summary = "how long the network's deferred work (softirqs) waits or takes",
	.description = "NET_RX takes packets from interfaces, NET_TX lets queues go on sending and frees packets. It "
		       "waits while interrupts are handled, while other deferred work is done, and for a thread "
		       "(ksoftirqd) when there is too much of it.",
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
	"how long interfaces wait for their packets to be taken",
	"nest napilat -r -i eth0",
	"how long each look at eth0 takes",
	"nest trace napi.poll --where 'packets >= budget'",
	"looks that ended because the interface had more than it may give at once",
	NULL,
};

static const struct tool napilat_tool = {
	.name = "napilat",
	.layer = "softirq",
	.summary = "how long interfaces wait until the packets that arrived are taken (raise to poll)",
	.description =
		"By interface; (backlog) is the queue of a processor, by which packets of virtual interfaces "
		"come. Where the kernel does not show which interface asks, the wait is known of the first one in each "
		"softirq only; the others are left out. With -r all of them count.",
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
	OPTION(struct irqlat_config, all, FLAG, "all", 'a', NULL, "all interrupts, not those of the network only"),
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
	"how long the handlers of the network's interrupts take, for each interrupt",
	"nest irqlat -a",
	"those of all interrupts",
	"nest trace irq --count --by name,cpu 1",
	"which processor gets which interrupts, every second",
	NULL,
};

static const struct tool irqlat_tool = {
	.name = "irqlat",
	.layer = "softirq",
	.summary = "how long the handlers of the network's interrupts take",
	.description = "An interrupt is one of the network's once its handler has raised NET_RX or NET_TX during the "
		       "run.",
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
	OPTION(struct softnet_config, devices, FLAG, "devices", 0, NULL,
	       "which processor takes how many packets of which interface"),
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
	"what each processor does for packets that arrive, every second",
	"nest softnet --devices 10 1",
	"which processor takes the packets of which interface, over ten seconds",
	NULL,
};

static const struct tool softnet_tool = {
	.name = "softnet",
	.layer = "softirq",
	.summary = "what each processor does for packets that arrive, and where it does not keep up",
	.description = "RUNS of NET_RX, PACKETS taken, how often it stopped with work left (SQUEEZED), packets dropped "
		       "as the processor's queue was full, the longest that queue was (BACKLOG), and the time spent. "
		       "With --devices instead: which interface's packets it took, and its share of them.",
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
