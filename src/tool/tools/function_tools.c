/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools for kernel functions. */
#include "event/cpu/func_call.h"
#include "tool/core/tool.h"

static const struct output_column funccount_columns[] = {{"function", "FUNC"}, {"count"}, {}};

struct funccount_config {
	struct trace_options common;
	const char *patterns;
};

static const struct option_spec funccount_options[] = {
	POSITIONAL(struct funccount_config, patterns, TEXT, "PATTERN,..", "function names, with * and ? ('tcp_*')",
		   .required = true),
	OPTION_GROUP(struct funccount_config, common, trace_option_table),
	OPTION_END,
};

static const char *function_text(const void *context _unused_, const struct value *value)
{
	return value->class == VALUE_UINT ? func_call_name(value->uint) : NULL;
}

static const struct aggregate_label function_label = {"function", "address", function_text, NULL};

static void funccount_plan(const void *data, struct trace_plan *plan)
{
	const struct funccount_config *config = data;

	func_call_set_patterns(config->patterns);
	plan->aggregate.label = &function_label;
}

static const char *const funccount_examples[] = {
	"nest funccount 'tcp_*' -d 10",
	"TCP functions and their call counts, over 10 seconds",
	"nest funccount 'virtnet_*,veth_*' 1",
	"driver functions, every second",
	NULL,
};

static const struct tool funccount_tool = {
	.name = "funccount",
	.layer = "device",
	.summary = "kernel function call counts",
	.description = "Counts in the kernel. Needs CONFIG_FPROBE or CONFIG_KPROBES, and tracefs for the list of "
		       "functions. Calls while another BPF program runs on the same CPU are not seen.",
	.examples = funccount_examples,
	.events = {"func.call"},
	.columns = funccount_columns,
	.aggregate = AGGREGATE_COUNT,
	.by = "function",
	.options = funccount_options,
	.config_size = sizeof(struct funccount_config),
	.plan = funccount_plan,
};
TOOL(funccount_tool);
