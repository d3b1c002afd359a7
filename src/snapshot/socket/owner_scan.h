/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Scan for all socket descriptors by BPF or /proc, in this thread or in the background. */
#pragma once

#include "base/worker.h"
#include "snapshot/socket/owner.h"

/* Parallel parts of a scan. */
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
	struct owner_list lists[OWNER_SCAN_LISTS]; /* result of the last scan */
	uint64_t hidden;                           /* unreadable processes */
	uint64_t ended_ns;                         /* CLOCK_MONOTONIC; 0: no scan yet */
	uint64_t took_ns;
	struct owner_bpf *bpf;
	struct owner_files *files;
	bool files_failed;
	bool by_files; /* the last scan used owner_files.c and may have missed some */
	bool many;     /* enough descriptors for owner_files.c */
	struct owner_walk walk;
	bool bpf_failed;
	bool use_bpf;
	uint64_t began_ns; /* start of the current scan; 0: none */
	struct owner_part parts[OWNER_SCAN_LISTS];
};

/* Starts a background scan if that pays; finish completes it or runs it all. */
void owner_scan_begin(struct owner_scan *scan, const struct snapshot_request *request);
int owner_scan_finish(struct owner_scan *scan, const struct snapshot_request *request, struct why *why) _must_check_;
/* Repeats the scan with the iterator, which misses nothing. */
int owner_scan_thoroughly(struct owner_scan *scan, struct why *why) _must_check_;
void owner_scan_done(struct owner_scan *scan);
