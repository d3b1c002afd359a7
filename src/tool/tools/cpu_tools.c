/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for CPU time in the network stack. */
#include "event/cpu/cpu_sample.h"
#include "tool/core/net_layers.h"
#include "tool/core/tool.h"

static const struct output_column layer_columns[] = {
	{"layer"}, {"count", "SAMPLES"}, {"sum", "CPU"}, {"share"}, {},
};

static const struct output_column process_columns[] = {
	{"pid"}, {"comm"}, {"layer"}, {"count", "SAMPLES"}, {"sum", "CPU"}, {"share"}, {},
};

struct netcpu_config {
	struct trace_options common;
	uint64_t hz;
	bool processes;
	bool folded;
};

static const struct option_spec netcpu_options[] = {
	OPTION(struct netcpu_config, hz, UINT, "frequency", 'F', "HZ", "sample each CPU at HZ per second (99)",
	       .min = 1, .max = CPU_SAMPLE_HZ_MAX),
	OPTION(struct netcpu_config, processes, FLAG, "processes", 'b', NULL, "group by process"),
	OPTION(struct netcpu_config, folded, FLAG, "folded", 0, NULL,
	       "print folded stacks for flame graphs: layer;process;functions COUNT"),
	OPTION_GROUP(struct netcpu_config, common, trace_option_table),
	OPTION_END,
};

static const char *layer_text(const void *context _unused_, const struct value *value)
{
	static const struct stack none;

	return net_layer_of_stack(value->class == VALUE_STACK ? value->stack : &none);
}

static const struct aggregate_label layer_label = {"layer", "kstack", layer_text, NULL};

static const struct aggregate_table netcpu_table = {.share = true};

static void netcpu_plan(const void *data, struct trace_plan *plan)
{
	static char *by_process[] = {(char *)"pid", (char *)"comm", (char *)"layer"};
	static char *by_stack[] = {(char *)"layer", (char *)"comm", (char *)"kstack"};
	const struct netcpu_config *config = data;

	cpu_sample_set_rate(config->hz ? (unsigned)config->hz : CPU_SAMPLE_HZ_DEFAULT);
	plan->aggregate.label = &layer_label;
	plan->aggregate.table = &netcpu_table;
	if (config->folded) {
		plan->aggregate.by = (struct text_list){ARRAY_SIZE(by_stack), by_stack};
		plan->format = "folded";
		plan->columns = NULL;
	} else if (config->processes) {
		plan->aggregate.by = (struct text_list){ARRAY_SIZE(by_process), by_process};
		plan->columns = process_columns;
	}
}

static const char *const netcpu_examples[] = {
	"nest netcpu -d 10",
	"CPU time per layer of the network stack, over 10 seconds",
	"nest netcpu -b -d 10",
	"the same by process",
	"nest netcpu --folded -d 10 | flamegraph.pl >net.svg",
	"flame graph with the layers at its base",
	"nest netcpu -F 999 -- iperf3 -c 10.0.0.2 -t 5",
	"CPU time of one command, sampled 999 times per second",
	NULL,
};

static const struct tool netcpu_tool = {
	.name = "netcpu",
	.layer = "softirq",
	.summary = "CPU time in the network stack, by layer",
	.description =
		"Samples each CPU 99 times per second; the innermost function that belongs to a layer decides the "
		"layer. user, other (the rest of the kernel) and idle complete the total. The process is the "
		"interrupted one: received packets are processed in the context of whatever runs on the CPU.",
	.examples = netcpu_examples,
	.events = {"cpu.sample"},
	.columns = layer_columns,
	.aggregate = AGGREGATE_TOP,
	.value = "cpu_ns",
	.by = "layer",
	.options = netcpu_options,
	.config_size = sizeof(struct netcpu_config),
	.plan = netcpu_plan,
};
TOOL(netcpu_tool);
