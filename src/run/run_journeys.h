/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Journeys in a run: of the kernel or of a recording, those that the options ask for. The items are struct journey. */
#pragma once

#include "path/journey/journey_store.h"
#include "path/source/journey_source.h"
#include "run/run.h"
#include "tool/core/trace_options.h"

/* Options; the common ones select packets and control the run. */
struct path_config {
	bool rx, tx;
	uint64_t slowest;
	bool hist;
	struct text_list by;
	const char *svg;
	const char *html;
	const char *data;
	const char *trace;
	const char *sample;
	const char *stages;
	const char *max_cpu;
	bool returns;
	struct trace_options common;
};

struct run_journeys {
	struct run_source source;
	struct run *run;
	const struct path_config *config;
	bool progress;    /* show a progress line on the terminal */
	struct buf where; /* what all options together ask for */
	struct journey_source_options wanted;
	char *cgroup;
	struct journey_source *live;
	struct journey_source *before; /* with all stages, until that cost too much; NULL */
	bool cost_reported;
	struct journey_replay *replay;
	struct expr *filter; /* of a recording */
	struct journey next;
	struct journey_keeper keeper;
	uint64_t begin_ns;
	uint64_t handed_out; /* journeys */
	uint64_t recorded;   /* journeys of the recording, whether or not the filter let them through */
};

/* Makes it a source of the run. */
void run_journeys_init(struct run_journeys *journeys, struct run *run, const struct path_config *config);
/* Packets that were followed, or journeys that are recorded, whether or not the filter passed them. */
uint64_t run_journeys_followed(const struct run_journeys *journeys);
/* Whether a filter or direction limits the packets. */
bool run_journeys_narrowed(const struct run_journeys *journeys);
/* The selection and the loss, for a picture: "; where ...; one flow in 64". */
void run_journeys_add_note(const struct run_journeys *journeys, struct buf *note);
