/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "tool/core/tool.h"

static int by_layer(const void *a, const void *b)
{
	const struct tool *x = *(const struct tool *const *)a, *y = *(const struct tool *const *)b;

	return strcmp(x->layer, y->layer) ?: strcmp(x->name, y->name);
}

const struct tool **tool_list(size_t *ret_count)
{
	VEC(const struct tool *) list = {};

	registry_each(tool, tool)
		vec_push(&list, *tool);
	vec_sort(&list, by_layer);
	*ret_count = list.count;
	return list.items;
}

const struct tool *tool_find(const char *name)
{
	registry_each(tool, tool)
		if (strcmp((*tool)->name, name) == 0)
			return *tool;
	return NULL;
}

const char *tool_reason(const struct tool *tool, const struct availability *available)
{
	const char *reason = NULL;

	for (unsigned i = 0; !reason && i < TOOL_EVENTS_MAX && tool->events[i]; i++)
		reason = availability_reason(available, tool->events[i]);
	return reason;
}

const char *tool_unavailable(const struct tool *tool)
{
	const char *reason = NULL;

	for (unsigned i = 0; !reason && i < TOOL_EVENTS_MAX && tool->events[i]; i++)
		reason = event_unavailable(tool->events[i]);
	return reason;
}

/* Splits "pid,comm" as --by does. */
static void split_names(const char *names, struct text_list *list)
{
	while (names && *names) {
		size_t n = strcspn(names, ",");

		list->items = xrealloc_array(list->items, list->count + 1, sizeof(*list->items));
		list->items[list->count++] = xstrndup(names, n);
		names += n + (names[n] == ',');
	}
}

void tool_plan(const struct tool *tool, const void *config, struct trace_plan *ret_plan)
{
	*ret_plan = (struct trace_plan){
		.name = tool->name,
		.where = BUF_INIT(65536),
		.columns = tool->columns,
		.aggregate = {.kind = tool->aggregate, .value = tool->value, .rows = tool->rows, .table = tool->table},
		.interval_ns = tool->interval_ns,
	};
	memcpy(ret_plan->events, tool->events, sizeof(ret_plan->events));
	memcpy(ret_plan->where_of, tool->where_of, sizeof(ret_plan->where_of));
	memcpy(ret_plan->aggregate.sums, tool->sums, sizeof(ret_plan->aggregate.sums));
	if (tool->where)
		trace_where_add(&ret_plan->where, "%s", tool->where);
	split_names(tool->by, &ret_plan->own_by);
	ret_plan->aggregate.by = ret_plan->own_by;
	if (tool->plan)
		tool->plan(config, ret_plan);
}

void trace_plan_count(struct trace_plan *plan, char **by, size_t count)
{
	plan->aggregate = (struct aggregate_spec){.kind = AGGREGATE_COUNT, .by = {count, by}};
	plan->columns = NULL;
}

void trace_plan_done(struct trace_plan *plan)
{
	for (size_t i = 0; i < plan->own_by.count; i++)
		free(plan->own_by.items[i]);
	free(plan->own_by.items);
	free(plan->own);
	buf_done(&plan->where);
}
