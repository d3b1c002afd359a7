/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Looking at the live host: snapshots several times a second, a window every second, a diagnosis after each. */
#pragma once

#include "base/out.h"
#include "diagnose/diagnosis.h"

struct live_diagnosis {
	const char *netns;    /* NULL: the own namespace */
	uint64_t duration_ns; /* 0: until somebody ends it */
	const char *engine_name; /* NULL: the default */
	const struct engine *engine;
	struct knowledge *knowledge;
	struct out out;
	/* Called after each window from the third on; a negative errno ends the look. */
	int (*report)(struct live_diagnosis *live);
	void *context;
	/* For the report. */
	struct diagnosis *diagnosis;
	unsigned windows;
	bool last;
	/* What was seen. */
	uint64_t records, lost;
	struct why why;
};

/* Loads the rules, finds the engine and opens the output; an exit code. */
int live_diagnosis_prepare(struct live_diagnosis *live, const char *command, const char *rules_dir, const char *file);
/* 0, an exit code above it, or a negative errno. */
int live_diagnosis_run(struct live_diagnosis *live);
/* Closes the output, writes the closing line; the command's exit code. */
int live_diagnosis_exit_code(struct live_diagnosis *live, const char *command, int result);
