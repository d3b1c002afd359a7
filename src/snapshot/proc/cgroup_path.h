/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the path of a control group tells: the container and the systemd unit that a process belongs to. Pure functions.
 */
#pragma once

#include "base/macros.h"

#define CGROUP_PATH_MAX 512

struct cgroup_names {
	char container[80]; /* id, or the name where the manager has no ids; empty: none */
	char unit[120];     /* innermost service or scope; empty: none */
};

/* Whether a path (NULL: not known) is that group or lies below it; slashes at the group's end do not matter. */
bool cgroup_path_is_below(const char *path, const char *group);
void cgroup_path_names(const char *path, struct cgroup_names *ret_names);

/*
 * The path of one hierarchy out of /proc/PID/cgroup: of a controller ("cpu", "name=systemd"), or of the unified
 * hierarchy (""). -ENODATA when there is none, -E2BIG when it is longer than size.
 */
int cgroup_text_find(const char *text, const char *controller, char *path, size_t size) _must_check_;
/* The most telling of all: the first that is not the root, unified first. */
int cgroup_text_best(const char *text, char *path, size_t size) _must_check_;
