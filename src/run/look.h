/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the commands that show tables of a snapshot: namespaces, interval, output. */
#pragma once

#include "run/command.h"
#include "run/run_snapshots.h"
#include "view/output.h"

struct look_options {
	const char *netns;
	bool no_bpf;
	uint64_t duration_ns; /* of looks that are repeated; 0: no limit */
	uint64_t interval_ns; /* 0: a single look */
	uint64_t count;       /* of looks; 0: without end */
	struct input_options input;
	const char *save;
	struct output_options output;
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
	const struct shape *shape;
	const struct output_column *columns; /* of tables; NULL: those that are not hidden */
	const struct record_type *const *types;
	/* May be NULL. Types that will do while nothing is shown of a part of the shape, and which part that is. */
	const struct record_type *const *fewer_types;
	unsigned fewer_part;
	const char *dev;       /* may be NULL: an interface that must exist, except in a recording */
	uint64_t looks_before; /* that show nothing and do not count */
	/* Shows the records of a snapshot and returns how many were shown. NULL: all of the shape's type. */
	uint64_t (*show)(const struct snapshot *snapshot, struct output *output, void *context);
	void *context;
};

/* Returns the exit code. */
int look_run(const struct look *look);

struct command;
/* Whether the command shows a table of a snapshot by look_run. */
bool look_is(const struct command *command);
/*
 * Runs the command with these words (without its name), but hands what it would look at to borrow instead: for a server
 * that shows the same tables. borrow returns an exit code; EXIT_USAGE also where the words are wrong.
 */
int look_borrow(const struct command *command, int argc, char **argv,
		int (*borrow)(const struct look *look, void *context), void *context);
