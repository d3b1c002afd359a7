/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nest path does with journeys, wherever they come from: kept for the end, shown as they come, drawn. */
#pragma once

#include "path/draw/picture.h"
#include "path/draw/trace_event.h"
#include "run/run_journeys.h"
#include "view/output.h"

/* A sink. */
struct path_show {
	struct run_sink sink;
	const struct run_journeys *source;
	const struct path_config *config;
	struct out text; /* of waterfalls and tables of stages */
	struct path_file {
		const char *path; /* NULL: none */
		struct out out;
	} svg, html, data, trace_file;
	bool as_they_come; /* journeys are records of the output; else something is shown at the end */
	bool with_slowest, with_summary;
	struct slowest slowest;
	struct summary summary;
	struct heat heat;
	struct trace_events trace;
	uint64_t journeys;
	uint64_t first_ns, last_ns; /* when the first and the last of them began */
};

/* Makes it a sink of the journeys. */
void path_show_init(struct path_show *show, struct run_journeys *journeys);
