/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of each program goes, as records: member "time" of a diagnosis. */
#pragma once

#include "diagnose/graph/module.h"

struct share_record {
	double share;
	const char *on;
	const char *what;
	uint64_t count;
	uint64_t p50_ns, max_ns;
	uint64_t rtt_ns;
	/* For the text only: */
	const char *program; /* name of the module */
	const char *on_name;
	bool estimate;
};

struct time_record {
	const char *module;
	const char *name;
	bool estimate;
	struct list shares; /* share_record, largest first */
};

extern const struct record_type time_type, share_type;

/*
 * Of the programs that are not hidden, or of one process (pid 0: all), in that many of the last windows; those that
 * spend least of their time idle first. Lives as long as the graph.
 */
struct list time_list(struct graph *graph, uint64_t pid, unsigned windows);
