/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of nest checklist: the figures of each, the findings of the diagnosis that belong to it, and what to run
 * next. Only the diagnosis makes findings; a step only says that its resource is used up.
 */
#pragma once

#include "base/buf.h"
#include "diagnose/graph/module.h"
#include "diagnose/infer/diagnosis.h"
#include "snapshot/core/snapshot.h"

/* The last graph of the diagnosis, and the counters at begin and end. */
struct checklist_view {
	const struct graph *graph;
	const struct snapshot *before; /* NULL: no counters (a recording) */
	const struct snapshot *after;
};

struct checklist_step {
	const char *title;
	/* Adds the figures, in one sentence. */
	void (*describe)(const struct checklist_view *view, struct buf *found);
	const char *const *next; /* commands, NULL at the end */
	bool open;               /* left to the user */
};

#define CHECKLIST_STEPS 10
extern const struct checklist_step checklist_steps[CHECKLIST_STEPS];

/* Whether the resource of the step (from 0) is used up: fully busy CPUs are not ok. */
bool checklist_is_busy(unsigned step, const struct checklist_view *view);
/* The step (from 0) that a finding belongs to. */
unsigned checklist_step_of(const struct finding_record *finding);
