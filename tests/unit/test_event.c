/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event catalogue, and the part of an expression that the kernel evaluates. */
#include <ctype.h>
#include <string.h>

#include "base/map.h"
#include "event/core/filter.h"
#include "event/sock/sock.h"
#include "kernel/object.h"
#include "run/tool_command.h"
#include "tool/core/tool.h"
#include "unit.h"

/* --- declarations: whatever registers itself must keep the rules --- */

static bool is_event_name(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!islower((unsigned char)*p) && !isdigit((unsigned char)*p) && *p != '.' && *p != '_')
			return false;
	return name[0] != '\0';
}

TEST(every_event_is_declared_well)
{
	size_t count;
	_cleanup_free_ const struct event **events = event_list(&count);

	CHECK(count >= 6);
	for (size_t i = 0; i < count; i++) {
		const struct shape shape = {.count = 2, .types = {&event_head_type, &event_extra_type}};
		struct field_ref at = {};
		_cleanup_free_ char *bpf = xstrdup(events[i]->name);

		unit_note("%s", events[i]->name);
		CHECK(is_event_name(events[i]->name));
		CHECK(i == 0 || strcmp(events[i - 1]->name, events[i]->name) < 0);
		/* The BPF name is the event's with _ for the dot: prefix of its maps. */
		for (char *p = bpf; *p; p++)
			*p = *p == '.' ? '_' : *p;
		CHECK_EQ_TEXT(events[i]->bpf, bpf);
		/* An event's own field must not hide a common one. */
		while (shape_next(&shape, &at))
			for (uint32_t f = 0; f < events[i]->type->field_count; f++)
				CHECK(strcmp(events[i]->type->fields[f].name, at.field->name) != 0);
		CHECK(events[i]->role_count > 0);
		CHECK(events[i]->type->size % 8 == 0);
		for (uint32_t f = 0; f < events[i]->type->field_count; f++)
			CHECK(events[i]->type->fields[f].help && events[i]->type->fields[f].help[0]);
	}
}

TEST(every_union_names_events_with_the_same_fields)
{
	unsigned unions = 0;

	registry_each(event_union, entry) {
		const struct event *events[EVENT_UNION_MAX];
		unsigned count = event_resolve((*entry)->name, events);

		unit_note("%s", (*entry)->name);
		CHECK(is_event_name((*entry)->name));
		CHECK(event_find((*entry)->name) == NULL);
		CHECK(count >= 2 && count == event_union_count(*entry));
		for (unsigned i = 0; i < count; i++) {
			CHECK(events[i] != NULL);
			CHECK(events[i] && events[i]->type->fields == events[0]->type->fields);
			CHECK(events[i] && events[i]->type->field_count == events[0]->type->field_count);
		}
		unions++;
	}
	CHECK(unions >= 1);
	CHECK_EQ_INT(event_resolve("nothing.of.this.name", (const struct event *[EVENT_UNION_MAX]){}), 0);
}

TEST(every_program_and_map_that_is_named_was_built)
{
	_cleanup_object_ struct kernel_object *object = NULL;
	struct why why = {};
	size_t count;
	_cleanup_free_ const struct event **events = event_list(&count);

	CHECK_EQ_INT(kernel_object_open("events.bpf.o", &object, &why), 0);
	for (size_t i = 0; object && i < count; i++) {
		_cleanup_free_ char *config = xasprintf("%s_config", events[i]->bpf);
		_cleanup_free_ char *losses = xasprintf("%s_losses", events[i]->bpf);
		void *address;

		unit_note("%s", events[i]->name);
		CHECK_EQ_INT(kernel_object_variable(object, config, sizeof(struct event_config), &address), 0);
		CHECK_EQ_INT(kernel_object_variable(object, losses, sizeof(struct event_losses), &address), 0);
		for (uint32_t r = 0; r < events[i]->role_count; r++)
			for (unsigned h = 0; h < EVENT_HOOKS_MAX; h++)
				for (unsigned p = 0; p < EVENT_PROGRAMS_MAX; p++) {
					const char *program = events[i]->roles[r].hooks[h].programs[p];

					CHECK(!program || kernel_object_section(object, program));
				}
	}
}

static void check_where(const char *text, const struct shape *shape)
{
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct why why = {};

	if (text && text[0])
		CHECK_EQ_INT(expr_parse(text, shape, &expr, &why), 0);
}

/* The columns, filter, keys and value of a tool must be fields of its events. */
static void check_tool(const struct tool *tool)
{
	struct trace_plan plan;
	_cleanup_free_ void *config = xzalloc(max_of(tool->config_size, sizeof(struct trace_options)));

	tool_plan(tool, config, &plan);
	CHECK(plan.events[0] != NULL);
	for (unsigned i = 0; i < TOOL_EVENTS_MAX && plan.events[i]; i++) {
		const struct event *events[EVENT_UNION_MAX];
		const struct event *event = event_resolve(plan.events[i], events) ? events[0] : NULL;
		struct field_ref ref;
		struct shape shape;
		struct why why = {};

		unit_note("%s: %s", tool->name, plan.events[i]);
		CHECK(event != NULL);
		if (!event)
			continue;
		shape = event_shape(event);
		for (const struct output_column *c = plan.columns;
		     c && c->field && plan.aggregate.kind == AGGREGATE_NONE && !plan.events[1]; c++)
			CHECK_EQ_INT(shape_find(&shape, c->field, &ref), 0);
		check_where(buf_text(&plan.where), &shape);
		check_where(plan.where_of[i], &shape);
		if (plan.aggregate.kind != AGGREGATE_NONE) {
			struct aggregate *aggregate = NULL;

			CHECK_EQ_INT(aggregate_open(&plan.aggregate, &shape, 1, &aggregate, &why), 0);
			aggregate_close(aggregate);
		}
	}
	trace_plan_done(&plan);
}

TEST(every_tool_is_declared_well)
{
	size_t count;
	_cleanup_free_ const struct tool **tools = tool_list(&count);

	CHECK(count >= 4);
	for (size_t i = 0; i < count; i++) {
		unit_note("%s", tools[i]->name);
		CHECK(tools[i]->summary && tools[i]->layer);
		CHECK(tools[i]->summary[strlen(tools[i]->summary) - 1] != '.');
		CHECK(!tools[i]->options || tools[i]->config_size >= sizeof(struct trace_options));
		check_tool(tools[i]);
	}
}

static int place_of(const struct output_column *columns, const char *field)
{
	for (int i = 0; columns && columns[i].field; i++)
		if (strcmp(columns[i].field, field) == 0)
			return i;
	return -1;
}

TEST(sent_bytes_stand_before_received_ones)
{
	unsigned with_both = 0;
	size_t count;
	_cleanup_free_ const struct tool **tools = tool_list(&count);

	for (size_t i = 0; i < count; i++) {
		int tx = place_of(tools[i]->columns, "tx_bytes"), rx = place_of(tools[i]->columns, "rx_bytes");

		unit_note("%s", tools[i]->name);
		CHECK(tx < 0 || rx < 0 || tx < rx);
		if (tools[i]->sums[0] && tools[i]->sums[1])
			CHECK_EQ_TEXT(tools[i]->sums[0], "tx_bytes");
		with_both += (tx >= 0 && rx >= 0) || tools[i]->sums[1];
	}
	/* tcplife, solife, udplife, tcptop, udptop. */
	CHECK(with_both >= 5);
}

static bool is_interval(const struct option_spec *spec, void *context)
{
	*(bool *)context |= option_is_positional(spec) && strcmp(spec->arg, "INTERVAL") == 0;
	return true;
}

TEST(tools_that_never_add_up_take_no_interval)
{
	size_t count;
	_cleanup_free_ const struct tool **tools = tool_list(&count);

	for (size_t i = 0; i < count; i++) {
		struct command command = tool_command(tools[i]);
		_cleanup_free_ const struct option_spec *options = command.options;
		/* These aggregate on request: netcalls --summary, skbdrop -c. */
		bool may = tools[i]->aggregate != AGGREGATE_NONE || strcmp(tools[i]->name, "netcalls") == 0 ||
			   strcmp(tools[i]->name, "skbdrop") == 0;
		bool takes = false;

		unit_note("%s", tools[i]->name);
		option_each(options, is_interval, &takes);
		CHECK_EQ_UINT(takes, may);
	}
}

/* --- what the kernel is reported --- */

static bool reported(const char *text, struct event_config *config)
{
	struct shape shape = event_shape(event_find("sock.send"));
	_cleanup_(expr_freep) struct expr *expr = NULL;
	struct why why = {};

	*config = (struct event_config){};
	if (expr_parse(text, &shape, &expr, &why) < 0) {
		unit_note("%s: %s", text, why.text);
		CHECK(false);
		return false;
	}
	return event_filter_add(config, expr);
}

TEST(simple_conditions_go_to_the_kernel)
{
	struct event_config config;

	CHECK(reported("rport == 443 and bytes > 1000", &config));
	CHECK_EQ_UINT(config.term_count, 2);
	CHECK_EQ_UINT(config.terms[0].offset, offsetof(struct event_head, rport));
	CHECK_EQ_UINT(config.terms[0].form, EVENT_U16);
	CHECK_EQ_UINT(config.terms[0].flags, EVENT_ZERO_UNKNOWN | EVENT_ONES_KNOWN);
	CHECK_EQ_UINT(config.terms[0].value[0], 443);
	CHECK_EQ_UINT(config.terms[1].offset, sizeof(struct event_head) + offsetof(struct sock_io, bytes));
	CHECK_EQ_UINT(config.terms[1].op, EVENT_GT);
	CHECK(config.terms[0].clause != config.terms[1].clause);
}

TEST(alternatives_go_to_the_kernel_together)
{
	struct event_config config;

	CHECK(reported("(lport in (80, 443) or rport in (80, 443)) and pid == 7", &config));
	CHECK_EQ_UINT(config.term_count, 5);
	for (unsigned i = 0; i < 4; i++)
		CHECK_EQ_UINT(config.terms[i].clause, 0);
	CHECK_EQ_UINT(config.terms[4].clause, 1);
}

TEST(addresses_and_names_are_compared_under_a_mask)
{
	struct event_config config;

	CHECK(reported("raddr in 10.0.0.0/8 and comm ~ \"ngin*\" and comm != \"nginx\"", &config));
	CHECK_EQ_UINT(config.term_count, 3);
	CHECK_EQ_UINT(config.terms[0].form, EVENT_ADDR);
	CHECK_EQ_UINT(config.terms[0].family, ADDR_V4);
	/* 96 bits of the v4-mapped form and 8 of the address. */
	CHECK_EQ_UINT(config.terms[0].mask[0], UINT64_MAX);
	CHECK_EQ_UINT(__builtin_popcountll(config.terms[0].mask[1]), 40);
	CHECK_EQ_UINT(config.terms[1].form, EVENT_WORDS);
	CHECK_EQ_UINT(__builtin_popcountll(config.terms[1].mask[0]), 32);
	CHECK_EQ_UINT(config.terms[1].mask[1], 0);
	CHECK_EQ_UINT(config.terms[2].op, EVENT_NE);
	CHECK_EQ_UINT(config.terms[2].mask[1], UINT64_MAX);
}

TEST(what_the_kernel_cannot_decide_is_left)
{
	static const struct {
		const char *text;
		uint32_t terms;
	} cases[] = {
		{"comm ~ \"*x\" and pid == 1", 1},
		{"comm == \"a name that is longer than sixteen\" and pid == 1", 1},
		{"cgroup == \"/x\" and pid == 1", 1},
		{"pid == 1 and (lport == 2 or cgroup == \"/x\")", 1},
		{"pid in (1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17)", 0},
		{"not pid == 1", 0},
		{"lport == rport", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct event_config config;

		unit_note("%s", cases[i].text);
		CHECK(!reported(cases[i].text, &config));
		CHECK_EQ_UINT(config.term_count, cases[i].terms);
	}
}
