/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that show tables of a snapshot have in common: where to look, how often, and how they end. */
#pragma once

#include "run/command.h"
#include "snapshot/core/snapshot.h"
#include "store/replay.h"
#include "view/output.h"

struct look_options {
	const char *netns;
	bool no_bpf;
	uint64_t duration_ns; /* of looks that are repeated; 0: no limit */
	struct input_options input;
};

/* For OPTION_GROUP. */
extern const struct option_spec look_option_table[];

/*
 * One look and then, where an interval was given, another after each until the count is reached or a signal ends it.
 * Of a recording: with an interval its samples, else the first one after --from, or the last one.
 */
struct look {
	const char *command;
	const struct look_options *options;
	const struct output_options *output;
	const struct shape *shape;
	const struct output_column *columns; /* of tables, unless the user names others; NULL: what is not hidden */
	const struct record_type *const *types;
	/* May be NULL. Types that will do while nothing is shown of a part of the shape, and which part that is. */
	const struct record_type *const *fewer_types;
	unsigned fewer_part;
	const char *dev;      /* may be NULL: an interface that must be there, except in a recording */
	uint64_t interval_ns; /* 0: a single look */
	uint64_t count;       /* 0: without end */
	/* Shows the records of a snapshot and returns how many were shown. */
	uint64_t (*show)(const struct snapshot *snapshot, struct output *output, void *context);
	void *context;
};

/* What could not be seen, and why, as warnings. Once a run: a gap that repeats at every look says nothing new. */
void snapshot_tell_gaps(const struct snapshot *snapshot);

/* Returns the exit code. */
int look_run(const struct look *look);

/* For a show function: all records of one type. */
uint64_t look_show_table(const struct snapshot *snapshot, const struct record_type *type, struct output *output);
