/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of nest checklist: what each shows, which findings of the diagnosis belong to it, and what to run next.
 * The steps make no verdicts: findings come only from the diagnosis.
 */
#pragma once

#include "base/buf.h"
#include "diagnose/graph/module.h"
#include "diagnose/infer/diagnosis.h"
#include "snapshot/core/snapshot.h"

/* Input of the steps: the last graph of the diagnosis, and the kernel's counters in two snapshots. */
struct checklist_view {
	const struct graph *graph;
	const struct snapshot *before; /* NULL: no counters (a recording) */
	const struct snapshot *after;
};

struct checklist_step {
	const char *title;
	/* Adds one line with the step's figures to the buffer. */
	void (*describe)(const struct checklist_view *view, struct buf *found);
	const char *const *next; /* commands, NULL at the end */
	bool open;               /* left to the user: no verdict */
};

#define CHECKLIST_STEPS 10
extern const struct checklist_step checklist_steps[CHECKLIST_STEPS];

/* Whether the resource that the step (from 0) looks at is used up: fully busy CPUs are not fine. */
bool checklist_is_busy(unsigned step, const struct checklist_view *view);
/* The step (from 0) that reports a finding. */
unsigned checklist_step_of(const struct finding_record *finding);
