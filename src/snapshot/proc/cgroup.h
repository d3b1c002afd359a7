/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cgroups of processes that hold sockets: throttling, freezer, memory. Types "cgroup" and "cgroup_member". */
#pragma once

#include "snapshot/core/snapshot.h"

struct cgroup_record {
	const char *cgroup; /* path, as in /proc/PID/cgroup */
	const char *container;
	const char *unit;
	uint64_t periods;
	uint64_t throttled_periods;
	uint64_t throttled_ns;
	double quota; /* in CPUs; unknown: no limit */
	uint8_t frozen;
	uint64_t memory_bytes;
	uint64_t memory_max; /* unknown: no limit */
	uint64_t socket_bytes;
	double cpu_pressure; /* PSI some avg10, cgroup v2 only */
	double memory_pressure;
};

/* Cgroup of a process. With v1 hierarchies one path does not determine the others, so it is stored per process. */
struct cgroup_member_record {
	uint32_t pid;
	uint32_t group; /* index in table "cgroup" */
};

extern const struct record_type cgroup_type;
extern const struct record_type cgroup_member_type;

/* cpu.stat of cgroup v1 or v2. */
void cgroup_parse_cpu_stat(struct cgroup_record *cgroup, const char *text);
/* cpu.max: "max 100000" or "50000 100000". */
void cgroup_parse_cpu_max(struct cgroup_record *cgroup, const char *text);
/* Mount point of a v1 controller from /proc/self/mountinfo; -ENODATA: not mounted. */
int cgroup_parse_mount(const char *mountinfo, const char *controller, char *path, size_t size) _must_check_;
