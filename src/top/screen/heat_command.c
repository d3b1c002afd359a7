/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/heat_command.h"

#include <errno.h>
#include <string.h>

#include "tool/core/tool.h"
#include "top/screen/pane.h"

static const char heat_option[] = " --format heat";

static bool has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (strcmp(*words, word) == 0)
			return true;
	return false;
}

/* A number that is no value of an option. */
static bool has_interval(char **words)
{
	for (size_t i = 1; words[i]; i++)
		if (words[i - 1][0] != '-' && strspn(words[i], "0123456789.") == strlen(words[i]))
			return true;
	return false;
}

/* What takes time, else what has a size: the first field of the event's own. */
static const char *drawn_field(const struct event *event)
{
	static const enum field_kind kinds[] = {KIND_DURATION, KIND_BYTES};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
		for (uint32_t i = 0; i < event->type->field_count; i++)
			if (event->type->fields[i].kind == kinds[k])
				return event->type->fields[i].name;
	return NULL;
}

static int draw_event(const char *name, const char *where, struct buf *out, struct why *why)
{
	const struct event *events[EVENT_UNION_MAX];
	const char *field = event_resolve(name, events) ? drawn_field(events[0]) : NULL;

	if (!field)
		return why_set(why, -EINVAL, "%.60s has no duration or size to draw", name);
	buf_add_format(out, "trace %s --hist %s", name, field);
	if (where)
		buf_add_format(out, " --where '%s'", where);
	buf_add_format(out, "%s 1", heat_option);
	return 0;
}

static int draw_words(const char *command, char **words, struct buf *out, struct why *why)
{
	const struct tool *tool = tool_find(words[0]);
	bool draws = has_word(words, "--hist") || has_word(words, "--lhist") ||
		     (tool && (tool->aggregate == AGGREGATE_HIST || tool->aggregate == AGGREGATE_LHIST));

	if (strcmp(words[0], "trace") == 0 && !draws && words[1] && !words[2])
		return draw_event(words[1], NULL, out, why);
	/* A tool that prints rows: the event behind them. Its options are not those of nest trace. */
	if (tool && !draws && tool->aggregate == AGGREGATE_NONE && !words[1])
		return draw_event(tool->events[0], tool->where, out, why);
	if (!draws || (!tool && strcmp(words[0], "trace") != 0))
		return why_set(why, -EINVAL, "'%.60s' draws no histogram: run a tool or an event without options (0)",
			       command);
	buf_add_format(out, "%s%s%s", command, heat_option, has_interval(words) ? "" : " 1");
	return 0;
}

int heat_command_switch(const char *command, struct buf *ret_command, struct why *why)
{
	const char *option = strstr(command, heat_option);
	char **words = pane_split_words(command);
	int r;

	if (!words || !words[0])
		r = why_set(why, -EINVAL, "no command");
	else if (option)
		r = 0;
	else
		r = draw_words(command, words, ret_command, why);
	pane_free_words(words);
	if (r == 0 && option)
		buf_add_format(ret_command, "%.*s%s", (int)(option - command), command, option + strlen(heat_option));
	return r;
}
