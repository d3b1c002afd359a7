/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of nest checklist: what each looks at, which findings of the diagnosis belong to it, and what to run next.
 * The steps judge nothing themselves: what is wrong, the diagnosis says.
 */
#pragma once

#include "base/buf.h"
#include "diagnose/graph/module.h"
#include "diagnose/infer/diagnosis.h"
#include "snapshot/core/snapshot.h"

/* What was seen: the diagnosis's last graph, and what the kernel counted from one snapshot to the other. */
struct checklist_view {
	const struct graph *graph;
	const struct snapshot *before; /* NULL: nothing was counted (a recording) */
	const struct snapshot *after;
};

struct checklist_step {
	const char *title;
	/* One sentence about what is there, added to the buffer. */
	void (*tell)(const struct checklist_view *view, struct buf *found);
	const char *const *next; /* commands, NULL at the end */
	bool open;               /* it is left to a person: there is nothing to judge */
};

#define CHECKLIST_STEPS 10
extern const struct checklist_step checklist_steps[CHECKLIST_STEPS];

/* The step (from 0) under which a finding is told. */
unsigned checklist_step_of(const struct finding_record *finding);
