/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups by number: the kernel tells events' groups as inode numbers, people read paths. */
#pragma once

#include "base/buf.h"
#include "base/map.h"
#include "base/why.h"

struct cgroup_known {
	char *path;
	char *container; /* NULL: none */
};

/* What has been asked for; the kernel is asked once a group. */
struct cgroups {
	int mount_fd; /* of the unified hierarchy; -1: not looked for, -2: there is none */
	struct map known;
};

#define CGROUPS_INIT                                                                                                   \
	(struct cgroups)                                                                                               \
	{                                                                                                              \
		.mount_fd = -1, .known = MAP_INIT(sizeof(uint64_t), sizeof(struct cgroup_known), 100000)               \
	}

void cgroups_done(struct cgroups *cgroups);
/* NULL when it is not known, or has gone before anybody asked. */
const struct cgroup_known *cgroups_find(struct cgroups *cgroups, uint64_t id);

/* The directory of a group; path as in /proc/PID/cgroup, or in the file system. */
int cgroups_find_directory(const char *path, char **ret_directory, struct why *why) _must_check_;
/* Whether there is such a group, in the unified hierarchy or in another: 0, or -ENOENT. */
int cgroups_check(const char *path, struct why *why) _must_check_;
