/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looking at the host: snapshots several times a second, a window every second, a diagnosis after each; of one network namespace
 * or of all, each with windows and a diagnosis of its own. The snapshots come from the live kernel or from a recording, and what
 * follows is the same for both.
 */
#pragma once

#include "base/out.h"
#include "diagnose/infer/diagnosis.h"
#include "store/replay.h"
#include "store/store.h"

/* What the commands that diagnose let people choose; for OPTION_GROUP. */
struct diagnosis_options {
	const char *netns;
	struct selection selection;
	const char *rules;
	const char *engine;
	bool passive;
	struct input_options input; /* a recording instead of the live host */
};
extern const struct option_spec diagnosis_option_table[];

/* One namespace. */
struct live_view {
	uint32_t netns;
	struct diagnosis *diagnosis;
	struct window *window;
	struct snapshot_slice *slice;
	unsigned windows;
	bool gone; /* the namespace is no more: this is its last report, about nothing new */
};

struct loop;

struct live_diagnosis {
	const struct diagnosis_options *options;
	uint64_t duration_ns; /* 0: until somebody ends it, or the recording does */
	unsigned rate;        /* windows a second; 0: one */
	struct store *store;  /* where snapshots and findings are kept as well; NULL: nowhere */
	struct knowledge *knowledge;
	const struct engine *engine;
	struct out out;
	/* Called for each namespace after each window from the third on; a negative errno ends the look. */
	int (*report)(struct live_diagnosis *live, const struct live_view *view);
	/* May be NULL. Called for each namespace that was reported on, when a signal ends the look before its time. */
	void (*interrupted)(struct live_diagnosis *live, const struct live_view *view);
	void *context;
	/* May be NULL. Called once with the loop before it runs, to add what else is to be waited for. */
	int (*prepare_loop)(struct live_diagnosis *live, struct loop *loop);
	/* For the report. */
	VEC(struct live_view *) views;
	unsigned windows;
	bool last;
	/* What was seen. */
	uint64_t records, lost;
	const char *closing; /* more to say at the end; may be NULL */
	struct why why;
};

/* Loads the rules, finds the engine and opens the output; an exit code. */
int live_diagnosis_prepare(struct live_diagnosis *live, const char *command, const char *file);
/* Opens the recording that --save names; NULL is none. An exit code. */
int live_diagnosis_save(struct live_diagnosis *live, const char *command, const char *path);
/* 0, an exit code above it, or a negative errno. */
int live_diagnosis_run(struct live_diagnosis *live);
/* Closes the output, writes the closing line; the command's exit code. */
int live_diagnosis_exit_code(struct live_diagnosis *live, const char *command, int result);
/* Frees what is left. */
void live_diagnosis_done(struct live_diagnosis *live);
