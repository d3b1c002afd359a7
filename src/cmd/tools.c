/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest tools: the list. */
#include <string.h>

#include "event/core/available.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "tool/core/tool.h"
#include "view/output.h"

struct config {
	bool try;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, try, FLAG, "try", 0, NULL, "load and attach every program to see which tools work"),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

struct tool_row {
	const char *layer;
	const char *tool;
	const char *event;
	const char *value;
	const char *summary;
	bool available;
	const char *reason;
};

static const struct field row_fields[] = {
	FIELD(struct tool_row, layer, TEXT, "layer of the network stack"),
	FIELD(struct tool_row, tool, TEXT, "name: nest NAME runs it"),
	FIELD(struct tool_row, event, TEXT, "events it uses", .hidden = true),
	FIELD(struct tool_row, value, TEXT, "field that it adds up: unit of its hist, sum, min, max and avg",
	      .hidden = true),
	FIELD(struct tool_row, available, BOOL, "whether it works here"),
	FIELD(struct tool_row, summary, TEXT, "what the tool shows"),
	FIELD(struct tool_row, reason, TEXT, "why it does not work here", .hidden = true),
};
RECORD_TYPE(tool_row_type, "tool_row", struct tool_row, row_fields, "a tool");

static void show_tool(struct output *output, const struct tool *tool, const struct availability *available)
{
	_cleanup_buf_ struct buf events = BUF_INIT(256);
	struct tool_row row = {
		.layer = tool->layer, .tool = tool->name, .value = tool->value, .summary = tool->summary};
	struct record record = RECORD_OF(&row);

	for (unsigned i = 0; i < TOOL_EVENTS_MAX && tool->events[i]; i++)
		buf_add_format(&events, "%s%s", i ? "," : "", tool->events[i]);
	row.event = buf_text(&events);
	row.reason = tool_reason(tool, available);
	row.available = !row.reason;
	(void)output_record(output, &record);
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_free_ const struct tool **tools = NULL;
	struct shape shape = SHAPE_OF(&tool_row_type);
	struct availability available;
	struct output *output;
	struct why why = {};
	size_t count;
	int r;

	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("tools", r, &why);
	if (config->try)
		availability_try(&available);
	else
		availability_look(&available);
	if (command_confine_live(MAY_READ_PROC, 0, &why) < 0)
		log_warn("tools: %s", why.text);
	tools = tool_list(&count);
	for (size_t i = 0; i < count; i++)
		show_tool(output, tools[i], &available);
	availability_done(&available);
	return output_exit_code("tools", output_close(output));
}

static const struct command tools_command = {
	.name = "tools",
	.summary = "list of tools, by layer of the network stack",
	.description =
		"Each tool is a command: nest TOOL --help. Availability is decided without loading a program; --try "
		"loads and attaches every program, which takes seconds, and its result is kept until the next boot.",
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(tools_command);
