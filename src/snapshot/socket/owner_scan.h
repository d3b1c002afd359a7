/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding all descriptors that are sockets: through BPF or /proc, in this thread or beside it. */
#pragma once

#include "base/worker.h"
#include "snapshot/socket/owner.h"

/* Parts of the work that can go on at the same time. */
#define OWNER_SCAN_LISTS 4

struct owner_part {
	struct owner_scan *scan;
	struct owner_list *list;
	bool done;
	int result;
	struct why why;
	struct worker worker;
};

struct owner_scan {
	struct owner_list lists[OWNER_SCAN_LISTS]; /* what the last scan found */
	uint64_t hidden;                           /* processes that could not be looked at */
	uint64_t ended_ns;                         /* CLOCK_MONOTONIC; 0: no scan yet */
	uint64_t took_ns;
	struct owner_bpf *bpf;
	struct owner_files *files;
	bool files_failed;
	bool by_files; /* the last scan read the tables of descriptors, and may have missed some */
	bool many;     /* descriptors are so many that this pays */
	struct owner_walk walk;
	bool bpf_failed;
	bool use_bpf;
	uint64_t began_ns; /* of the one under way; 0: none */
	struct owner_part parts[OWNER_SCAN_LISTS];
};

/* Begins one beside this thread, where that pays; finish does the rest, or all. */
void owner_scan_begin(struct owner_scan *scan, const struct snapshot_request *request);
int owner_scan_finish(struct owner_scan *scan, const struct snapshot_request *request, struct why *why) _must_check_;
/* Once more, so that nothing is missed. */
int owner_scan_thoroughly(struct owner_scan *scan, struct why *why) _must_check_;
void owner_scan_done(struct owner_scan *scan);
