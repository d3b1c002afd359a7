/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/tool_command.h"
#include "run/run_events.h"

struct plain_config {
	struct trace_options common;
};

static const struct option_spec plain_options[] = {
	OPTION_GROUP(struct plain_config, common, trace_option_table),
	OPTION_END,
};

static const struct option_spec stream_options[] = {
	OPTION_GROUP(struct plain_config, common, trace_stream_table),
	OPTION_END,
};

/* Whether all of the tool's events have that field, and show it: sums have no stack of each event. */
static bool has_field(const char *field, const void *subject)
{
	const struct event *events[EVENT_UNION_MAX];
	const struct tool *tool = subject;

	if (tool->aggregate != AGGREGATE_NONE && trace_is_stack(field))
		return false;
	for (unsigned i = 0; i < TOOL_EVENTS_MAX && tool->events[i]; i++)
		for (unsigned k = event_resolve(tool->events[i], events); k-- > 0;)
			if (!event_has_field(events[k], field))
				return false;
	return true;
}

static const struct option_spec *options_of(const struct tool *tool)
{
	const struct option_spec *all = tool->aggregate == AGGREGATE_NONE ? stream_options : plain_options;

	return option_fit(tool->options ?: all, has_field, tool);
}

static int run_tool(const void *subject, const void *config)
{
	struct trace_plan plan;
	int code;

	tool_plan(subject, config, &plan);
	code = plan.why.text[0] ? run_refuse(plan.name, &plan.why) : run_trace(&plan, config);
	trace_plan_done(&plan);
	return code;
}

struct command tool_command(const struct tool *tool)
{
	return (struct command){
		.name = tool->name,
		.summary = tool->summary,
		.description = tool->description,
		.examples = tool->examples,
		.options = options_of(tool),
		.config_size = tool->options ? tool->config_size : sizeof(struct plain_config),
		.run_subject = run_tool,
		.subject = tool,
		.looks = true,
	};
}
