/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owners of sockets: type "owner", one record per process and descriptor that holds a socket of the snapshot. */
#pragma once

#include "base/vec.h"
#include "snapshot/core/snapshot.h"

struct owner_record {
	uint32_t inode; /* of the socket */
	uint32_t pid;
	uint32_t fd;
};

extern const struct record_type owner_type;

/* Limit of descriptors kept. */
#define OWNER_LIST_MAX ((size_t)4 << 20)

/* Socket descriptors; not all are of the snapshot. */
struct owner_list {
	struct owner_record *items;
	size_t count;
	size_t room;
};

/* Work queue of a /proc scan, shared by all its threads. */
struct owner_walk {
	VEC(uint32_t) pids;
	dev_t sockets;   /* device of sockfs: inode numbers are unique per file system only */
	size_t next;     /* atomic */
	uint64_t hidden; /* unreadable processes; atomic */
};

/* Lists the processes. */
int owner_walk_begin(struct owner_walk *walk, struct why *why) _must_check_;
/* Scans processes until the queue is empty. */
void owner_scan_proc(struct owner_walk *walk, struct owner_list *list);

/* Number of processes unreadable in /proc. The BPF iterator does not report those it skips. */
uint64_t owner_count_hidden(void);

/* Scan by the task_file BPF iterator. */
struct owner_bpf;
int owner_bpf_open(struct owner_bpf **ret_bpf, struct why *why) _must_check_;
void owner_bpf_close(struct owner_bpf *bpf);
int owner_scan_bpf(struct owner_bpf *bpf, struct owner_list *list, struct why *why) _must_check_;

/* Scan of the descriptor tables by BPF (Linux 6.2 and later): much faster, may miss a few. */
struct owner_files;
int owner_files_open(struct owner_files **ret_files, struct why *why) _must_check_;
void owner_files_close(struct owner_files *files);
int owner_scan_files(struct owner_files *files, struct owner_list *list, struct why *why) _must_check_;

/*
 * Whether a socket without an owner still exists. One closed between the socket dump and the scan also has no owner,
 * which is normal.
 */
bool owner_really_missing(const struct snapshot *snapshot, const struct snapshot_request *request);
