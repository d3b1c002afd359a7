/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What nest path does with journeys, wherever they come from: kept for the end, shown as they come, drawn, recorded. */
#pragma once

#include "path/draw/picture.h"
#include "path/draw/trace_event.h"
#include "path/journey/journey_store.h"
#include "tool/core/trace_options.h"

struct path_config {
	bool rx, tx;
	uint64_t slowest;
	bool hist;
	struct text_list by;
	const char *svg;
	const char *html;
	const char *trace;
	const char *sample;
	const char *stages;
	const char *max_cpu;
	bool returns;
	struct trace_options common;
};

struct path_show {
	const struct path_config *config;
	struct output *output; /* of records, else NULL */
	struct out text;       /* of waterfalls and tables of stages */
	bool has_text;
	struct path_file {
		const char *path; /* NULL: not asked for */
		struct out out;
		bool made;    /* it was not there before */
		bool written; /* something is in it by now */
	} svg, html, trace_file;
	bool as_they_come; /* journeys are records of the output; else something is shown at the end */
	bool with_slowest, with_summary;
	bool narrowed; /* not every packet is asked for */
	struct slowest slowest;
	struct summary summary;
	struct heat heat;
	struct trace_events trace;
	struct journey_keeper keeper;
	struct store *store; /* NULL: nothing is recorded */
	int kept;            /* what recording came to */
	uint64_t journeys;
	uint64_t first_ns, last_ns; /* when the first and the last of them began */
	uint64_t followed;          /* packets, whether or not the filter let their journeys through */
};

/* -EINVAL with a sentence when options do not fit together. */
int path_show_init(struct path_show *show, const struct path_config *config, struct why *why) _must_check_;
/* Opens what is written to, now: a file that cannot be written is not found out after an hour. -EINVAL: a field is wrong. */
int path_show_open(struct path_show *show, struct why *why) _must_check_;
/* Journeys go there, too, from now on; the store stays the caller's. */
int path_show_keep(struct path_show *show, struct store *store) _must_check_;
void path_show_journey(void *context, const struct journey *journey);
/* What is shown at the end. note: what was looked at, for pictures. A negative errno with a sentence when a file cannot be written. */
int path_show_end(struct path_show *show, const char *note, struct why *why) _must_check_;
/* What is shown so far goes out; the first error that writing met. */
int path_show_flush(struct path_show *show);
/* What has not gone out yet is forgotten. */
void path_show_drop(struct path_show *show);
/* Frees it; the first error that writing met. */
int path_show_close(struct path_show *show) _must_check_;
