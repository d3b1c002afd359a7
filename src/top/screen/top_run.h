/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest top as a sink of a run: snapshots and findings come from it, keys from the terminal. */
#pragma once

#include "run/run_diagnosis.h"
#include "top/model/top_settings.h"
#include "top/screen/keeping.h"
#include "top/screen/playback.h"
#include "top/screen/runner.h"
#include "top/screen/screen.h"
#include "top/screen/terminal.h"

struct top_options {
	struct diagnosis_options live;
	uint64_t duration_ns;
	uint64_t interval_ns;
	uint64_t keep_ns; /* 0: nothing is kept */
	double speed;
	const char *theme;
	const char *page;
	const char *flow; /* a function trace; NULL: none */
};

struct top_run {
	struct run_sink sink;
	struct run run;
	const struct top_options *options;
	struct run_diagnosis diagnosis;
	struct run_snapshots look; /* live: what the page shows */
	const struct record_type **types;
	uint64_t shown_ns; /* of a recording: time of the snapshot that was shown last */
	uint64_t again_ns; /* live: a second sample soon after a page was opened, for its rates; 0: none */
	bool seeking;      /* nothing is drawn before it has arrived */
	struct screen *screen;
	struct terminal *terminal;
	struct canvas canvas;
	struct runner runner;
	struct playback playback;
	struct top_settings settings;
	struct keeping keeping;
	struct buf always;
	/* What the diagnosis costs, and when it rests. */
	uint64_t burst_begin_ns, burst_cpu_ns, look_cpu_ns;
	uint64_t rests_until_ns;
	bool rests;      /* its memory is released */
	unsigned costly; /* bursts in a row that took too much */
	bool thrifty;    /* there are many connections */
	char note[64];
	VEC(char *) messages; /* for after the screen */
};

/* Runs it to its end; an exit code. */
int top_run(const struct top_options *options);

/* --- for the files of this folder --- */

void top_run_redraw(struct top_run *top);
/* Callbacks of the screen, of a recording or of the host. */
struct screen_host top_run_host(struct top_run *top);
/* Reads the recording up to a time, from a little before it. */
void top_run_seek(struct top_run *top, uint64_t at_ns);
/* The rows of a page that was just opened. */
void top_run_open_recorded(struct top_run *top);
/* Hands out what the clock asks for. */
void top_run_play(struct top_run *top);
/* After each diagnosis: whether it should rest for a while. */
void top_run_budget(struct top_run *top);
/* Where there are many connections, the diagnosis leaves out idle ones, and nothing is kept for S. */
void top_run_save_effort(struct top_run *top, const struct snapshot *snapshot);
/* When the rest is over. */
void top_run_wake(struct top_run *top);
