/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest trace: any event, with any filter, printed or aggregated. */
#include <errno.h>
#include <string.h>

#include "base/parse.h"
#include "run/command.h"
#include "run/run_events.h"

struct config {
	const char *event;
	bool count;
	const char *sum;
	const char *stats;
	const char *hist;
	struct text_list lhist;
	const char *top;
	struct text_list by;
	uint64_t rows;
	struct trace_options common;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, event, TEXT, "EVENT", "event to trace, or several separated by commas (nest events)",
		   .required = true),
	OPTION(struct config, count, FLAG, "count", 0, NULL, "count the events"),
	OPTION(struct config, sum, TEXT, "sum", 0, "FIELD", "add up this field"),
	OPTION(struct config, stats, TEXT, "stats", 0, "FIELD",
	       "show count, sum, minimum, maximum and average of this field"),
	OPTION(struct config, hist, TEXT, "hist", 0, "FIELD", "show a log2 histogram of this field"),
	OPTION(struct config, lhist, NAMES, "lhist", 0, "FIELD,MIN,MAX,STEP", "show a linear histogram"),
	OPTION(struct config, top, TEXT, "top", 0, "FIELD",
	       "show the groups with the largest sum of this field (--rows)"),
	OPTION(struct config, by, NAMES, "by", 0, "FIELD,..", "group by these fields, up to six"),
	OPTION(struct config, rows, UINT, "rows", 0, "N", "limit to N groups (default: all; --top: 20)"),
	OPTION_GROUP(struct config, common, trace_option_table),
	OPTION_END,
};

#define TOP_ROWS 20

/* A bound of a histogram: a plain number, or a duration or size with its unit. */
static int parse_bound(const char *text, int64_t *ret_value)
{
	uint64_t value;

	if (parse_i64(text, INT64_MIN, INT64_MAX, ret_value) == 0)
		return 0;
	if (parse_duration_ns(text, &value) < 0 && parse_size_bytes(text, &value) < 0)
		return -EINVAL;
	*ret_value = (int64_t)value;
	return 0;
}

static int set_lhist(const struct text_list *list, struct aggregate_spec *spec, struct why *why)
{
	if (list->count != 4 || parse_bound(list->items[1], &spec->first) < 0 ||
	    parse_bound(list->items[2], &spec->last) < 0 || parse_bound(list->items[3], &spec->step) < 0)
		return why_set(why, -EINVAL, "--lhist needs FIELD,MIN,MAX,STEP");
	spec->kind = AGGREGATE_LHIST;
	spec->value = list->items[0];
	return 0;
}

static int set_aggregate(const struct config *config, struct aggregate_spec *spec, struct why *why)
{
	const struct {
		enum aggregate_kind kind;
		const char *value;
	} kinds[] = {
		{AGGREGATE_SUM, config->sum},
		{AGGREGATE_STATS, config->stats},
		{AGGREGATE_HIST, config->hist},
		{AGGREGATE_TOP, config->top},
	};
	unsigned asked = config->count + (config->lhist.count > 0);

	if (config->count)
		spec->kind = AGGREGATE_COUNT;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].value) {
			spec->kind = kinds[i].kind;
			spec->value = kinds[i].value;
			asked++;
		}
	if (asked > 1)
		return why_set(why, -EINVAL, "only one of --count, --sum, --stats, --hist, --lhist and --top");
	if (config->lhist.count && set_lhist(&config->lhist, spec, why) < 0)
		return -EINVAL;
	if (config->by.count && spec->kind == AGGREGATE_NONE)
		return why_set(why, -EINVAL,
			       "--by needs an aggregation: --count, --sum, --stats, --hist, --lhist or --top");
	spec->by = config->by;
	spec->rows = config->rows ?: spec->kind == AGGREGATE_TOP ? TOP_ROWS : 0;
	return 0;
}

/* "sock.send,sock.recv" */
static int set_events(char *names, struct trace_plan *plan, struct why *why)
{
	unsigned count = 0;

	for (char *name; (name = strsep(&names, ","));) {
		if (count == TOOL_EVENTS_MAX)
			return why_set(why, -EINVAL, "at most %d events together", TOOL_EVENTS_MAX);
		plan->events[count++] = name;
	}
	return 0;
}

static int run(const void *data)
{
	const struct config *config = data;
	struct trace_plan plan = {.name = "trace", .where = BUF_INIT(65536)};
	_cleanup_free_ char *names = xstrdup(config->event);
	struct why why = {};

	if (set_events(names, &plan, &why) < 0 || set_aggregate(config, &plan.aggregate, &why) < 0)
		return run_refuse("trace", &why);
	return run_trace(&plan, &config->common);
}

static const char *const examples[] = {
	"nest trace tcp.retransmit --where 'raddr in 10.0.0.0/8'",
	"retransmissions to that network, as they happen",
	"nest trace sock.send --hist bytes --by comm",
	"histogram of send sizes by program",
	"nest trace sock.connect -x --count --by comm,raddr,rport,error 10",
	"failed connections, counted every 10 s",
	NULL,
};

static const struct command trace_command = {
	.name = "trace",
	.summary = "any event: filtered, printed one by one or aggregated",
	.description = "Simple conditions and aggregations run in the kernel; the rest is evaluated in user space, "
		       "with the same result.\n\nAggregations are printed at the end, at Ctrl-C, and every INTERVAL. "
		       "Events without a value of the aggregated field are left out.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(trace_command);
