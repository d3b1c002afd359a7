/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whose socket is it: type "owner", one record for each process and descriptor that holds a socket of the snapshot. */
#pragma once

#include "snapshot/snapshot.h"

struct owner_record {
	uint32_t inode; /* of the socket */
	uint32_t pid;
	uint32_t fd;
};

extern const struct record_type owner_type;

/* Told about each descriptor that is a socket; most will not be of the snapshot. */
typedef void owner_found_fn(void *context, const struct owner_record *owner);

/* One of several that divide the processes among them, and what it could not look at. */
struct owner_share {
	unsigned index;
	unsigned parts;
	uint64_t hidden;
};

/* Looks at every descriptor in /proc of its share of the processes. */
int owner_scan_proc(struct owner_share *share, owner_found_fn *found, void *context, struct why *why) _must_check_;
/* "socket:[4711]" */
bool owner_parse_link(const char *link, size_t len, uint32_t *ret_inode);

/* The same through the kernel's iterator over files, which needs BPF and sees all processes. */
struct owner_bpf;
int owner_bpf_open(struct owner_bpf **ret_bpf, struct why *why) _must_check_;
void owner_bpf_close(struct owner_bpf *bpf);
int owner_scan_bpf(struct owner_bpf *bpf, owner_found_fn *found, void *context, struct why *why) _must_check_;

/*
 * Whether some socket without an owner is still there. One that was closed between the reading of the sockets and that of the
 * descriptors has no owner either, and that is no reason to complain.
 */
bool owner_really_missing(const struct snapshot *snapshot, const struct snapshot_request *request);
