/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose socket is it: type "owner", one record for each process and descriptor that holds a socket of the snapshot. */
#pragma once

#include "base/vec.h"
#include "snapshot/core/snapshot.h"

struct owner_record {
	uint32_t inode; /* of the socket */
	uint32_t pid;
	uint32_t fd;
};

extern const struct record_type owner_type;

/* More descriptors than this are not kept. */
#define OWNER_LIST_MAX ((size_t)4 << 20)

/* Descriptors that are sockets; most may not be of the snapshot. */
struct owner_list {
	struct owner_record *items;
	size_t count;
	size_t room;
};

/* What a scan of /proc has yet to look at: any number of threads take from it until nothing is left. */
struct owner_walk {
	VEC(uint32_t) pids;
	dev_t sockets;   /* the file system of sockets: on others, an inode number means something else */
	size_t next;     /* changed by all of them */
	uint64_t hidden; /* processes that could not be looked at; likewise */
};

/* Lists the processes. */
int owner_walk_begin(struct owner_walk *walk, struct why *why) _must_check_;
/* Looks at the descriptors of as many of them as are left for this thread. */
void owner_scan_proc(struct owner_walk *walk, struct owner_list *list);

/* How many processes a scan of /proc could not look at. The kernel's iterator does not report those it leaves out. */
uint64_t owner_count_hidden(void);

/* A scan through the kernel's iterator over files, which needs BPF. */
struct owner_bpf;
int owner_bpf_open(struct owner_bpf **ret_bpf, struct why *why) _must_check_;
void owner_bpf_close(struct owner_bpf *bpf);
int owner_scan_bpf(struct owner_bpf *bpf, struct owner_list *list, struct why *why) _must_check_;

/* The same out of the tables of descriptors (Linux 6.2 and later), much faster; a few may be missing. */
struct owner_files;
int owner_files_open(struct owner_files **ret_files, struct why *why) _must_check_;
void owner_files_close(struct owner_files *files);
int owner_scan_files(struct owner_files *files, struct owner_list *list, struct why *why) _must_check_;

/*
 * Whether some socket without an owner is still there. One that was closed between the reading of the sockets and that
 * of the descriptors has no owner either, and that is no reason to complain.
 */
bool owner_really_missing(const struct snapshot *snapshot, const struct snapshot_request *request);
