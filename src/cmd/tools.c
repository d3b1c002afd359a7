/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest tools: the list. */
#include <string.h>

#include "event/core/live.h"
#include "run/command.h"
#include "run/output_exit.h"
#include "tool/core/tool.h"
#include "view/output.h"

struct config {
	struct output_options output;
};

static const struct option_spec options[] = {
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

/* Which events of the catalogue work, found out once for all tools. */
struct catalogue {
	struct event_request *requests;
	size_t count;
	struct live *live;
	struct why why;
};

static void look(struct catalogue *catalogue)
{
	_cleanup_free_ const struct event **events = event_list(&catalogue->count);

	catalogue->requests = xzalloc((catalogue->count + 1) * sizeof(*catalogue->requests));
	for (size_t i = 0; i < catalogue->count; i++)
		catalogue->requests[i] = (struct event_request){.event = events[i], .config.needs = ~(uint32_t)0};
	if (live_open(catalogue->requests, (unsigned)catalogue->count, &(struct live_options){.probe = true},
		      &catalogue->live, &catalogue->why) < 0)
		catalogue->live = NULL;
}

/* NULL when the event works. */
static const char *reason_of(const struct catalogue *catalogue, const char *name)
{
	if (!catalogue->live)
		return catalogue->why.text;
	vec_each(&live_hooks(catalogue->live)->choices, choice)
		if (choice->request < catalogue->count && !choice->role->without && !hook_choice_get(choice) &&
		    strcmp(catalogue->requests[choice->request].event->name, name) == 0)
			return choice->reason;
	return event_find(name) ? NULL : "no such event was built in";
}

static void show_tool(struct output *output, const struct tool *tool, const struct catalogue *catalogue)
{
	_cleanup_buf_ struct buf events = BUF_INIT(256);
	struct tool_row row = {.layer = tool->layer, .tool = tool->name, .summary = tool->summary};
	struct record record = RECORD_OF(&row);

	for (unsigned i = 0; i < TOOL_EVENTS_MAX && tool->events[i]; i++) {
		buf_add_format(&events, "%s%s", i ? "," : "", tool->events[i]);
		row.reason = row.reason ?: reason_of(catalogue, tool->events[i]);
	}
	row.event = buf_text(&events);
	row.available = !row.reason;
	(void)output_record(output, &record);
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_free_ const struct tool **tools = NULL;
	struct shape shape = SHAPE_OF(&tool_row_type);
	struct catalogue catalogue = {};
	struct output *output;
	struct why why = {};
	size_t count;

	if (output_open(&config->output, &shape, &output, &why) < 0)
		return command_fail(EXIT_USAGE, "tools: %s", why.text);
	look(&catalogue);
	tools = tool_list(&count);
	for (size_t i = 0; i < count; i++)
		show_tool(output, tools[i], &catalogue);
	live_close(catalogue.live);
	free(catalogue.requests);
	return output_exit_code(output_close(output));
}

static const struct command tools_command = {
	.name = "tools",
	.summary = "the tools, by layer of the network stack",
	.description = "Each is a command of its own: nest TOOL --help explains it.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(tools_command);
