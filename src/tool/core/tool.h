/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tool is a declaration over events: which, with which filter, which columns, or added up by which keys. It registers
 * itself and is then a command of its own, with help, manual page and completion:
 *
 *	static const struct output_column columns[] = {
 *		{"pid"}, {"comm"}, {"raddr"}, {"lat_ns"}, {}
 *	};
 *	static const struct tool slowconnect_tool = {
 *		.name = "slowconnect", .layer = "tcp", .summary = "connections that took long to come about",
 *		.events = {"sock.connect"}, .where = "lat > 100ms", .columns = columns,
 *	};
 *	TOOL(slowconnect_tool);
 *
 * Options of its own: a struct that begins with struct trace_options, a table with OPTION_GROUP of
 * trace_option_table (trace_stream_table, if it never adds up) in it, and a function that changes the plan as they say.
 */
#pragma once

#include "event/core/available.h"
#include "tool/core/aggregate.h"
#include "tool/core/trace_options.h"

#define TOOL_EVENTS_MAX AGGREGATE_EVENTS_MAX

/* What a run is to do. Texts are the caller's and must live as long. */
struct trace_plan {
	const char *name; /* for messages */
	const char *events[TOOL_EVENTS_MAX];
	struct buf where;                      /* conditions besides those of the options */
	const char *where_of[TOOL_EVENTS_MAX]; /* of one event each: they may name fields that the others lack */
	const struct output_column *columns;
	struct aggregate_spec aggregate;
	struct text_list own_by; /* made from the tool's declaration */
	bool silent;             /* events are kept in a recording and not shown */
	const char *format;      /* of the output, when the user asks for none */
	uint64_t interval_ns;    /* unless the user says otherwise or the run has an end of its own */
	void *own;               /* memory of the tool, freed with the plan */
	struct why why;          /* the tool's options do not fit together: the sentence */
};

struct tool {
	const char *name;
	const char *layer; /* socket, tcp, udp, ip, queue, device, resolver ... */
	const char *summary;
	const char *description;     /* paragraphs for help and man page; may be NULL */
	const char *const *examples; /* "command line", "what it does", ..., NULL; may be NULL */
	const char *events[TOOL_EVENTS_MAX];
	const char *where;                     /* may be NULL */
	const char *where_of[TOOL_EVENTS_MAX]; /* conditions on one of the events each */
	const struct output_column *columns;   /* of tables; NULL: those that are not hidden */
	/* Added up instead of shown one by one: */
	enum aggregate_kind aggregate;
	const char *value;
	const char *by; /* "pid,comm" */
	uint64_t rows;
	uint64_t interval_ns;                   /* shown this often when the user does not say */
	const char *sums[AGGREGATE_EVENTS_MAX]; /* a figure for each event, see aggregate.h */
	const struct aggregate_table *table;    /* further figures */
	/* Options of its own; all NULL or 0 when it has none. */
	const struct option_spec *options;
	size_t config_size;
	void (*plan)(const void *config, struct trace_plan *plan);
};

REGISTRY(tool, struct tool);

#define TOOL(object) REGISTER(tool, struct tool, object)

/* Sorted by layer and name; the array is the caller's to free. */
const struct tool **tool_list(size_t *ret_count);
const struct tool *tool_find(const char *name);
/* Why a tool does not work here; NULL: it does. tool_unavailable is for who recommends it (event_unavailable). */
const char *tool_reason(const struct tool *tool, const struct availability *available);
const char *tool_unavailable(const struct tool *tool);

/*
 * The plan of a tool as its options have it; config begins with struct trace_options. trace_plan_done frees what is the
 * plan's own.
 */
void tool_plan(const struct tool *tool, const void *config, struct trace_plan *ret_plan);
/* For the option -c of tools that else show events one by one: how many by these fields. */
void trace_plan_count(struct trace_plan *plan, char **by, size_t count);
void trace_plan_done(struct trace_plan *plan);
