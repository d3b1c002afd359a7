/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tools and events: Enter runs one inside the screen. */
#include <string.h>

#include "event/core/available.h"
#include "run/command.h"
#include "tool/core/tool.h"
#include "top/model/top_table.h"

static const struct record_type *const types[] = {NULL};

enum runnable_kind { RUNNABLE_TOOL, RUNNABLE_EVENT, RUNNABLE_COMMAND };

static const struct enum_name kind_items[] = {
	{RUNNABLE_TOOL, "tool", "a tool: nest NAME"},
	{RUNNABLE_EVENT, "event", "an event: nest trace NAME"},
	{RUNNABLE_COMMAND, "command", "another command of nest"},
};
static struct enum_names kind_names = {kind_items, ARRAY_SIZE(kind_items)};

struct runnable {
	uint8_t kind;
	const char *layer;
	const char *name;
	const char *summary;
	const char *reason;
	bool sums;
};

static const struct field runnable_fields[] = {
	FIELD(struct runnable, kind, ENUM, "tool or event", .names = &kind_names),
	FIELD(struct runnable, layer, TEXT, "layer of the network stack"),
	FIELD(struct runnable, name, TEXT, "name"),
	FIELD(struct runnable, summary, TEXT, "what it shows"),
	FIELD(struct runnable, sums, BOOL, "shows figures or a histogram per interval", .hidden = true),
	FIELD(struct runnable, reason, TEXT, "why it does not work here"),
};
static RECORD_TYPE(runnable_type, "top_tool", struct runnable, runnable_fields, "a tool or event that can be run");

/* Commands that look at the host as a whole, in the order in which one would ask them. */
static void add_commands(struct grid *grid)
{
	static const char *const commands[] = {"diagnose",  "checklist",        "stalls -d 10",
					       "path -d 5", "path -d 5 --hist", "doctor"};

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		_cleanup_free_ char *name = xstrndup(commands[i], strcspn(commands[i], " "));
		const struct command *command = command_find(name);
		struct runnable row = {.kind = RUNNABLE_COMMAND,
				       .layer = "host",
				       .name = commands[i],
				       .summary = command ? command->summary : NULL};

		grid_add(grid, &RECORD_OF(&row));
	}
}

/* Sessions of a server, where they differ, and where its time goes. */
static void add_flow(struct grid *grid, const char *trace)
{
	static const char *const views[] = {"flow sessions", "flow compare", "flow summary", "flow tree"};

	for (size_t i = 0; i < ARRAY_SIZE(views); i++) {
		const struct command *command = command_find(views[i]);
		_cleanup_free_ char *name = xasprintf("%s '%s'", views[i], trace);
		struct runnable row = {.kind = RUNNABLE_COMMAND,
				       .layer = "application",
				       .name = name,
				       .summary = command ? command->summary : NULL};

		grid_add(grid, &RECORD_OF(&row));
	}
}

static void add_tools(struct grid *grid, const struct availability *available)
{
	size_t count;
	_cleanup_free_ const struct tool **tools = tool_list(&count);

	for (size_t i = 0; i < count; i++) {
		struct runnable row = {.kind = RUNNABLE_TOOL,
				       .layer = tools[i]->layer,
				       .name = tools[i]->name,
				       .summary = tools[i]->summary,
				       .sums = tools[i]->aggregate != AGGREGATE_NONE,
				       .reason = available ? tool_reason(tools[i], available) : NULL};

		grid_add(grid, &RECORD_OF(&row));
	}
}

static void add_event(struct grid *grid, const char *name, const char *help)
{
	_cleanup_free_ char *family = xstrndup(name, strcspn(name, "."));
	struct runnable row = {.kind = RUNNABLE_EVENT, .layer = family, .name = name, .summary = help};

	grid_add(grid, &RECORD_OF(&row));
}

static void add_events(struct grid *grid)
{
	size_t count;
	_cleanup_free_ const struct event **events = event_list(&count);

	for (size_t i = 0; i < count; i++)
		add_event(grid, events[i]->name, events[i]->help);
	registry_each(event_union, entry)
		add_event(grid, (*entry)->name, (*entry)->help);
}

/* They do not change while the program runs. */
static void fill(struct grid *grid, const struct top_moment *moment, void *state _unused_)
{
	static struct availability available;
	static bool looked;

	if (!looked && moment->live)
		availability_look(&available);
	looked = looked || moment->live;
	add_commands(grid);
	if (moment->flow && !strchr(moment->flow, '\''))
		add_flow(grid, moment->flow);
	add_tools(grid, moment->live ? &available : NULL);
	add_events(grid);
}

static void links(const struct record *record, struct top_links *links)
{
	const struct runnable *row = record->parts[0];

	if (row->kind == RUNNABLE_COMMAND)
		top_links_add(links, NULL, "run it", "%s", row->name);
	else if (row->kind == RUNNABLE_TOOL)
		top_links_add(links, NULL, "run it", "%s%s", row->name, row->sums ? " 1" : "");
	else
		top_links_add(links, NULL, "run it", "trace %s", row->name);
	if (row->kind != RUNNABLE_COMMAND)
		top_links_add(links, NULL, "explanation", "explain %s", row->name);
}

static const struct top_column columns[] = {{"layer"}, {"name", .ink = INK_BOLD}, {"summary"}, {"kind"}, {"reason"},
					    {}};

static const struct top_table tools_table = {
	.name = "tools",
	.key = '0',
	.help = "commands, tools and events; Enter runs one",
	.command = "tools",
	.types = types,
	.shape = {1, {&runnable_type}},
	.columns = columns,
	.trees = {"layer", "kind"},
	.id = {"name"},
	.runs = true,
	.fill = fill,
	.links = links,
};
TOP_TABLE(tools_table);
