/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups of the processes that hold sockets: throttled, frozen, short of memory. Type "cgroup". */
#pragma once

#include "snapshot/core/snapshot.h"

struct cgroup_record {
	const char *cgroup; /* as processes name it */
	const char *container;
	const char *unit;
	uint64_t periods;
	uint64_t throttled_periods;
	uint64_t throttled_ns;
	double quota; /* processors; unknown when there is no limit */
	uint8_t frozen;
	uint64_t memory_bytes;
	uint64_t memory_max; /* unknown when there is no limit */
	uint64_t socket_bytes;
	double cpu_pressure; /* share of the last ten seconds, version 2 */
	double memory_pressure;
};

/* Which group a process is in: with hierarchies of version 1, the path of one says nothing about the others. */
struct cgroup_member_record {
	uint32_t pid;
	uint32_t group; /* the how-manyeth record of type "cgroup" */
};

extern const struct record_type cgroup_type;
extern const struct record_type cgroup_member_type;

/* cpu.stat of either version. */
void cgroup_parse_cpu_stat(struct cgroup_record *cgroup, const char *text);
/* cpu.max: "max 100000" or "50000 100000". */
void cgroup_parse_cpu_max(struct cgroup_record *cgroup, const char *text);
/* Where a controller of version 1 is mounted, out of /proc/self/mountinfo; -ENODATA. */
int cgroup_parse_mount(const char *mountinfo, const char *controller, char *path, size_t size) _must_check_;
