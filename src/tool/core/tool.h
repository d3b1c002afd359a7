/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool is a declaration over events: which events, filter, columns or aggregation keys. It registers itself and
 * becomes a command with help, manual page and completion:
 *
 *	static const struct output_column columns[] = {
 *		{"pid"}, {"comm"}, {"raddr"}, {"lat_ns"}, {}
 *	};
 *	static const struct tool slowconnect_tool = {
 *		.name = "slowconnect", .layer = "tcp", .summary = "slow TCP connects",
 *		.events = {"sock.connect"}, .where = "lat > 100ms", .columns = columns,
 *	};
 *	TOOL(slowconnect_tool);
 *
 * Own options: a struct that begins with struct trace_options, a table that includes OPTION_GROUP of
 * trace_option_table (trace_stream_table, if it never aggregates), and a function that adjusts the plan.
 */
#pragma once

#include "event/core/available.h"
#include "tool/core/aggregate.h"
#include "tool/core/trace_options.h"

#define TOOL_EVENTS_MAX AGGREGATE_EVENTS_MAX

/* What a run does. Texts belong to the caller and must outlive the plan. */
struct trace_plan {
	const char *name; /* for messages */
	const char *events[TOOL_EVENTS_MAX];
	struct buf where;                      /* conditions in addition to those of the options */
	const char *where_of[TOOL_EVENTS_MAX]; /* per event: may use fields that other events lack */
	const struct output_column *columns;
	struct aggregate_spec aggregate;
	struct text_list own_by; /* from the declaration of the tool */
	bool silent;             /* save events, show none */
	unsigned keep_rate;      /* events that are saved per second, the others are counted; 0: all */
	const char *format;      /* default output format */
	uint64_t interval_ns;    /* default interval, unless the run ends by itself */
	void *own;               /* tool's memory, freed with the plan */
	struct why why;          /* error: conflicting or invalid options of the tool */
};

struct tool {
	const char *name;
	const char *layer; /* socket, tcp, udp, ip, queue, device, resolver ... */
	const char *summary;
	const char *description;     /* paragraphs for help and man page; may be NULL */
	const char *const *examples; /* "command line", "what it does", ..., NULL; may be NULL */
	const char *events[TOOL_EVENTS_MAX];
	const char *where;                     /* may be NULL */
	const char *where_of[TOOL_EVENTS_MAX]; /* conditions per event */
	const struct output_column *columns;   /* of tables; NULL: all fields that are not hidden */
	/* Aggregation: */
	enum aggregate_kind aggregate;
	const char *value;
	const char *by; /* "pid,comm" */
	uint64_t rows;
	uint64_t interval_ns;                   /* default interval */
	const char *sums[AGGREGATE_EVENTS_MAX]; /* one sum per event, see aggregate.h */
	const struct aggregate_table *table;    /* additional figures */
	/* Own options; NULL or 0 without any. */
	const struct option_spec *options;
	size_t config_size;
	void (*plan)(const void *config, struct trace_plan *plan);
};

REGISTRY(tool, struct tool);

#define TOOL(object) REGISTER(tool, struct tool, object)

/* Sorted by layer and name; the caller frees the array. */
const struct tool **tool_list(size_t *ret_count);
const struct tool *tool_find(const char *name);
/* Why a tool does not work here; NULL: it does. tool_unavailable is for who recommends it (event_unavailable). */
const char *tool_reason(const struct tool *tool, const struct availability *available);
const char *tool_unavailable(const struct tool *tool);

/* Plan of a tool with its options; config begins with struct trace_options. trace_plan_done frees it. */
void tool_plan(const struct tool *tool, const void *config, struct trace_plan *ret_plan);
/* For option -c of streaming tools: count by these fields. */
void trace_plan_count(struct trace_plan *plan, char **by, size_t count);
void trace_plan_done(struct trace_plan *plan);
