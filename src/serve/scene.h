/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a page looks at, live or recorded: the diagnosis, findings from beginning to end, figures over time. A recording
 * is read in steps while requests are answered; a moment of it is diagnosed when somebody asks.
 */
#pragma once

#include "run/run_diagnosis.h"
#include "show/figure.h"
#include "show/findings.h"

/* The last diagnosis of a namespace. */
struct scene_verdict {
	uint32_t netns;
	uint64_t end_ns; /* of its window */
	double certainty;
	struct buf json;
};

struct scene {
	unsigned id;
	const char *path; /* of a recording; NULL: live */
	const char *name; /* without its folder */
	char host[65];
	uint64_t begin_ns, end_ns; /* of a recording */
	struct time_range range;
	struct recording *recording; /* for tables */
	bool has_samples;            /* of a recording: false where it has events or journeys alone */
	struct findings findings;
	struct figure_history figures;
	VEC(struct scene_verdict) verdicts;
	/* Inside: reading a recording. */
	const struct diagnosis_options *options;
	struct scene_reader *reader;
	bool complete; /* it was read to its end, or cannot be */
	struct why why;
};

void scene_init(struct scene *scene);
void scene_done(struct scene *scene);
/* A diagnosis of the window that was just seen; returns its JSON, valid until the next. */
const struct buf *scene_take_diagnosis(struct scene *scene, const struct diagnosis_record *record);
/* The strongest verdict of the last window; NULL: none yet. */
const struct scene_verdict *scene_verdict(const struct scene *scene);

/*
 * Opens a recording; options: of the diagnosis, with from and to. One without samples of the host has no diagnosis, but
 * tools and journeys.
 */
int scene_open(struct scene *scene, const char *path, const struct diagnosis_options *options,
	       struct why *why) _must_check_;
/* Reads on for this long. */
void scene_read(struct scene *scene, uint64_t budget_ns);
/* The diagnosis of a recording at a moment, as JSON. -ENODATA: too early, -ENOENT: no such namespace. */
int scene_diagnose(const struct scene *scene, uint64_t at_ns, struct buf *out, struct why *why) _must_check_;
