/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording from outside the observed program: creates its files before the program starts, and collects what its
 * threads left when it has ended. In between the runtime inside the program does the work.
 */
#pragma once

#include "base/option.h"
#include "base/why.h"
#include "flow/trace/trace_format.h"

struct recorder_options {
	const struct text_list *only;    /* patterns of functions to record; may be NULL */
	const struct text_list *without; /* patterns of functions to omit; may be NULL */
	uint64_t max_depth;              /* 0: no limit */
	uint64_t stamp_depth;            /* 0: every event carries time */
	uint64_t min_ns;
	uint64_t max_bytes;
	uint64_t buffer_bytes; /* of a thread; 0: 64 KiB */
	uint64_t threads;      /* maximum at a time; 0: 4096 */
	uint64_t sample;
	uint64_t toggle_signal; /* pauses and resumes; 0: none */
	bool no_sockets;
	bool paused;
	bool summary; /* summarise sessions while the program runs, write no events */
	const char *command;
};

struct recorder_end {
	uint64_t dropped;   /* events of chunks that could not be written */
	int error;          /* errno of the last failed write, or 0 */
	uint64_t processes; /* collected slots */
};

struct wakeup;

/* Creates TRACE and TRACE.live. */
int recorder_begin(const char *path, const struct recorder_options *options, struct why *why) _must_check_;
/* Before the timer is set. */
void recorder_begin_wakeups(struct wakeup *wakeup);
/* Adds what was noted to the trace, before it is finished. False: it cannot be written; the trace does without. */
bool recorder_add_wakeups(const char *path, const struct wakeup *wakeup);
/* Collects what is left in TRACE.live, ends the trace, removes TRACE.live. */
int recorder_finish(const char *path, struct recorder_end *ret_end, struct why *why) _must_check_;
/* Seals a chunk and appends it; bytes torn off by a full disk are added to torn. clock: enum flow_clock. */
int recorder_append(int fd, uint32_t clock, struct flow_chunk *chunk, const void *payload, uint64_t *torn) _must_check_;
/* Pauses or resumes all processes of the recording at once. live_path: TRACE.live. */
int recorder_set_paused(const char *live_path, bool paused, struct why *why) _must_check_;
