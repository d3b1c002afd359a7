/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest tools: the list. */
#include <string.h>

#include "event/core/available.h"
#include "run/command.h"
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
	const char *summary;
	bool available;
	const char *reason;
};

static const struct field row_fields[] = {
	FIELD(struct tool_row, layer, TEXT, "layer of the stack that it looks at"),
	FIELD(struct tool_row, tool, TEXT, "name: nest NAME runs it"),
	FIELD(struct tool_row, event, TEXT, "events that it is made of", .hidden = true),
	FIELD(struct tool_row, available, BOOL, "whether it works here"),
	FIELD(struct tool_row, summary, TEXT, "what it shows"),
	FIELD(struct tool_row, reason, TEXT, "why it does not work here", .hidden = true),
};
RECORD_TYPE(tool_row_type, "tool_row", struct tool_row, row_fields, "a tool");

static void show_tool(struct output *output, const struct tool *tool, const struct availability *available)
{
	_cleanup_buf_ struct buf events = BUF_INIT(256);
	struct tool_row row = {.layer = tool->layer, .tool = tool->name, .summary = tool->summary};
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

	if (output_open(&config->output, &shape, &output, &why) < 0)
		return command_fail(EXIT_USAGE, "tools: %s", why.text);
	if (config->try)
		availability_try(&available);
	else
		availability_look(&available);
	tools = tool_list(&count);
	for (size_t i = 0; i < count; i++)
		show_tool(output, tools[i], &available);
	availability_done(&available);
	return output_exit_code(output_close(output));
}

static const struct command tools_command = {
	.name = "tools",
	.summary = "the tools, by layer of the network stack",
	.description = "Each is a command of its own: nest TOOL --help explains it. What works here is decided without "
		       "loading anything; --try loads and attaches every program instead, which takes seconds, and "
		       "the next list knows what it found, until the host is booted again.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(tools_command);
