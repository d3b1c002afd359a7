/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest events: the catalogue, and what is available on this kernel. */
#include <string.h>

#include "base/text.h"
#include "event/core/available.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "view/output.h"

struct config {
	struct text_list names;
	bool try;
	struct output_options output;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, names, TEXTS, "EVENT", "limit to these events, and list their fields"),
	OPTION(struct config, try, FLAG, "try", 0, NULL, "load and attach every program to see which events work"),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

struct field_name {
	const char *name;
};
static const struct field field_name_fields[] = {FIELD(struct field_name, name, TEXT, "name of a field")};
static RECORD_TYPE(field_name_type, "field_name", struct field_name, field_name_fields, "a field of an event",
		   .bare = true);

struct event_row {
	const char *event;
	const char *help;
	const char *hook;
	bool available;
	const char *reason;
	const char *instead;
	const char *without;
	struct list fields;
};

static const struct field row_fields[] = {
	FIELD(struct event_row, event, TEXT, "name of the event"),
	FIELD(struct event_row, available, BOOL, "whether it works on this kernel"),
	FIELD(struct event_row, help, TEXT, "what the event is"),
	FIELD(struct event_row, hook, TEXT, "hooks in use"),
	FIELD(struct event_row, reason, TEXT, "why it is not available", .hidden = true),
	FIELD(struct event_row, instead, TEXT, "why another hook than the best is used", .hidden = true),
	FIELD(struct event_row, without, TEXT, "what is missing although the event is available", .hidden = true),
	FIELD(struct event_row, fields, LIST, "names of its fields", .element = &field_name_type, .hidden = true),
};
RECORD_TYPE(event_row_type, "event_row", struct event_row, row_fields, "an event of the catalogue");

/* An unknown event is an error, not an empty table. */
static int check_names(const struct config *config)
{
	for (size_t i = 0; i < config->names.count; i++) {
		_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
		const char *name = config->names.items[i];
		struct near near = {.word = name};

		if (event_find(name) || event_union_find(name))
			continue;
		registry_each(event, event)
			near_consider(&near, (*event)->name);
		registry_each(event_union, entry)
			near_consider(&near, (*entry)->name);
		near_add_text(&near, &hint);
		text_add_terminal(&shown, name, strnlen(name, 60));
		return command_fail(EXIT_USAGE, "events: unknown event '%s'%s (nest events lists them)",
				    buf_text(&shown), buf_text(&hint));
	}
	return EXIT_DONE;
}

static bool is_wanted(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->names.count; i++)
		if (strcmp(config->names.items[i], name) == 0)
			return true;
	return config->names.count == 0;
}

/* What the plan says about one event. */
static void fill_hooks(const struct hook_plan *plan, size_t request, struct event_row *row, struct buf *hooks)
{
	row->available = true;
	vec_each(&plan->choices, choice) {
		const struct event_hook *hook = hook_choice_get(choice);

		if (choice->request != request)
			continue;
		if (hook)
			buf_add_format(hooks, "%s%s", hooks->len ? ", " : "", choice->section);
		if (hook && choice->reason[0])
			row->instead = choice->reason;
		if (!hook && choice->role->without)
			row->without = choice->role->without;
		if (!hook && !choice->role->without) {
			row->available = false;
			row->reason = choice->reason;
		}
	}
	row->hook = row->available && hooks->len ? buf_text(hooks) : NULL;
}

/* The row has a name and its help; its fields are those of the event. */
static void show_row(struct output *output, const struct event *event, struct event_row *row)
{
	struct shape shape = event_shape(event);
	VEC(struct field_name) names = {};
	struct record record = RECORD_OF(row);
	struct field_ref at = {};

	while (shape_next(&shape, &at))
		vec_push(&names, (struct field_name){at.field->name});
	row->fields = (struct list){names.items, (uint32_t)names.count};
	(void)output_record(output, &record);
	vec_done(&names);
}

static void show_event(struct output *output, const struct availability *available, size_t request)
{
	const struct event *event = available->events[request];
	_cleanup_buf_ struct buf hooks = BUF_INIT(1024);
	struct event_row row = {.event = event->name, .help = event->help};

	if (available->plan)
		fill_hooks(available->plan, request, &row, &hooks);
	else
		row.reason = available->why.text;
	show_row(output, event, &row);
}

/* In place of the hooks, the events that have them. */
static void show_union(struct output *output, const struct availability *available, const struct event_union *several)
{
	_cleanup_buf_ struct buf names = BUF_INIT(1024);
	struct event_row row = {.event = several->name, .help = several->help};
	const struct event *events[EVENT_UNION_MAX];
	unsigned count = event_resolve(several->name, events);

	for (unsigned i = 0; i < count; i++)
		buf_add_format(&names, "%s%s", i ? ", " : "the events ", events[i]->name);
	row.reason = availability_reason(available, several->name);
	row.available = !row.reason;
	row.hook = row.available ? buf_text(&names) : NULL;
	show_row(output, events[0], &row);
}

/* Those whose names come before that of the event, and after the event before it. */
static void show_unions(struct output *output, const struct config *config, const struct availability *available,
			size_t at)
{
	registry_each(event_union, entry) {
		const char *name = (*entry)->name;
		bool after = at == 0 || strcmp(available->events[at - 1]->name, name) < 0;
		bool before = at == available->count || strcmp(name, available->events[at]->name) < 0;

		if (after && before && is_wanted(config, name))
			show_union(output, available, *entry);
	}
}

/* The fields, below the table of named events. */
static void show_fields(struct out *out, const char *name)
{
	const struct event *events[EVENT_UNION_MAX];
	struct field_ref at = {};
	struct shape shape;

	if (event_resolve(name, events) == 0)
		return;
	shape = event_shape(events[0]);

	out_end_line(out);
	while (shape_next(&shape, &at)) {
		buf_add_format(&out->pending, "  %-12s %s", at.field->name, at.field->help);
		out_end_line(out);
	}
}

static int run(const void *data)
{
	const struct config *config = data;
	struct shape shape = SHAPE_OF(&event_row_type);
	struct availability available;
	struct output *output;
	struct why why = {};
	int r = check_names(config);

	if (r != EXIT_DONE)
		return r;
	r = output_open(&config->output, &shape, &output, &why);
	if (r < 0)
		return output_refused("events", r, &why);
	if (config->try)
		availability_try(&available);
	else
		availability_look(&available);
	if (command_confine_live(MAY_READ_PROC, 0, &why) < 0)
		log_warn("events: %s", why.text);
	if (!available.plan)
		log_warn("events: %s", available.why.text);
	for (size_t i = 0; i < available.count; i++) {
		show_unions(output, config, &available, i);
		if (is_wanted(config, available.events[i]->name))
			show_event(output, &available, i);
	}
	show_unions(output, config, &available, available.count);
	if (config->names.count && !output_shows_all(&config->output)) {
		(void)output_flush(output);
		for (size_t i = 0; i < config->names.count; i++)
			show_fields(output_out(output), config->names.items[i]);
	}
	availability_done(&available);
	return output_exit_code("events", output_close(output));
}

static const char *const examples[] = {
	"nest events",
	"all events, with the hook used on this kernel, or the reason for none",
	"nest events tcp.close",
	"one event with its fields",
	NULL,
};

static const struct command events_command = {
	.name = "events",
	.summary = "catalogue of events, and which ones work on this kernel",
	.description =
		"Availability is decided without loading a program: from privileges, BTF, tracepoints, and the result "
		"of the last --try since boot. --try loads and attaches every program, which takes seconds.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(events_command);
