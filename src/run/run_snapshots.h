/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots in a run: of the host at intervals, or of a recording. The items are struct snapshot. */
#pragma once

#include "run/run.h"
#include "snapshot/core/snapshot.h"

struct run_snapshots {
	struct run_source source;
	struct run *run;
	const char *netns;               /* as -N names it */
	const char *dev;                 /* may be NULL: an interface that must exist, except in a recording */
	struct snapshot_request request; /* namespaces are filled in */
	uint64_t pace_ns;                /* live: time between two of them */
	uint64_t apart_ns;               /* recorded: those that follow closer than this are passed over */
	/* Now. */
	struct netns_list namespaces;
	struct snapshot *snapshot;
	struct replay *replay;
	uint64_t due_ns; /* recorded: the next one that is wanted */
	uint64_t lost;
};

/* Makes it a source of the run. */
void run_snapshots_init(struct run_snapshots *snapshots, struct run *run, const char *netns);
/* Of -N all, where namespaces come and go: one that is held open outlives its owner, with all its interfaces. */
void run_snapshots_refresh(struct run_snapshots *snapshots);
/* Whether -N chooses this namespace of a recording; wanted may be NULL. */
bool run_snapshots_match(const char *wanted, const struct netns_record *netns);
/* Gaps as warnings, once per run. */
void run_snapshots_warn_gaps(const struct snapshot *snapshot);
