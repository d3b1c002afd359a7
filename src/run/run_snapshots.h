/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots in a run: of the host at intervals, or of a recording. The items are struct snapshot. */
#pragma once

#include "run/run.h"
#include "run/sampler.h"
#include "snapshot/core/snapshot.h"

struct run_snapshots {
	struct run_source source;
	struct run *run;
	const char *netns;               /* as -N names it */
	bool containers;                 /* where -N names none: also the containers of this host */
	const char *dev;                 /* may be NULL: an interface that must exist, except in a recording */
	struct snapshot_request request; /* namespaces are filled in */
	bool no_time_wait;               /* without sockets in TIME_WAIT */
	uint64_t pace_ns;                /* live: time between two of them */
	bool paused;                     /* live: no samples for now */
	bool unsaved;                    /* not written into the recording of --save: another source is */
	uint64_t apart_ns;               /* recorded: those that follow closer than this are passed over */
	/* Now. */
	struct loop_source *timer; /* live */
	struct netns_list namespaces;
	struct sampler *sampler; /* live and repeated: who takes them; else NULL */
	struct snapshot *snapshot;
	struct replay *replay;
	uint64_t due_ns; /* recorded: the next one that is wanted */
	uint64_t lost;
	bool refresh;      /* live: namespaces are looked for before the next one */
	uint64_t missed;   /* live: that were due since the one under way was asked for */
	uint64_t known_ns; /* CLOCK_BOOTTIME: until then samples came, or their loss was noted */
	uint64_t taken;    /* live: samples so far */
	uint64_t skipped;  /* live: samples that were due while another was taken, or the process was stopped */
	uint64_t gaps_ns;  /* live: time without a sample where that was more than a second */
};

/* Makes it a source of the run. */
void run_snapshots_init(struct run_snapshots *snapshots, struct run *run, const char *netns);
/* Of -N all and of containers, which come and go: looks for them before the next sample. */
void run_snapshots_refresh(struct run_snapshots *snapshots);
/* Whether -N chooses this namespace of a recording; wanted may be NULL. */
bool run_snapshots_match(const char *wanted, const struct netns_record *netns);
/* Live: time between two samples from now on. */
void run_snapshots_set_pace(struct run_snapshots *snapshots, uint64_t pace_ns);
/* Live, at once: a sample before its time. */
void run_snapshots_now(struct run_snapshots *snapshots);
/* Live: a sample beside those of the run, not while one of these is under way; namespaces are those of the run. */
int run_snapshots_take(struct run_snapshots *snapshots, const struct snapshot_request *request,
		       struct snapshot *snapshot, struct why *why) _must_check_;
/* Live: CPU time of the process that samples. */
uint64_t run_snapshots_cpu_ns(const struct run_snapshots *snapshots);
/* Recorded: goes on with the first sample at or after that time; then run_restep. */
int run_snapshots_seek(struct run_snapshots *snapshots, uint64_t from_ns) _must_check_;
/* Gaps as warnings, once per run. */
void run_snapshots_warn_gaps(const struct snapshot *snapshot);
