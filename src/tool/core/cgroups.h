/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cgroup ids to paths: the kernel reports inode numbers, people read paths. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/why.h"

struct cgroup_known {
	char *path;
	char *container; /* NULL: none */
};

/* Cache; each cgroup is looked up once. */
struct cgroups {
	int mount_fd; /* unified hierarchy; -1: not opened yet, -2: not mounted */
	struct map known;
};

#define CGROUPS_INIT                                                                                                   \
	(struct cgroups)                                                                                               \
	{                                                                                                              \
		.mount_fd = -1, .known = MAP_INIT(sizeof(uint64_t), sizeof(struct cgroup_known), 100000)               \
	}

void cgroups_done(struct cgroups *cgroups);
/* NULL if unknown or removed before the lookup. */
const struct cgroup_known *cgroups_find(struct cgroups *cgroups, uint64_t id);

/* Directory of a cgroup; path as in /proc/PID/cgroup, or in the file system. */
int cgroups_find_directory(const char *path, char **ret_directory, struct why *why) _must_check_;
/* Whether the cgroup exists, in the unified hierarchy or a v1 one: 0 or -ENOENT. */
int cgroups_check(const char *path, struct why *why) _must_check_;
