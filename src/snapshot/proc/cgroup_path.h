/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Container and systemd unit from a cgroup path. Pure functions. */
#pragma once

#include "base/macros.h"

#define CGROUP_PATH_MAX 512

struct cgroup_names {
	char container[80]; /* id, or the name if the runtime has no ids; empty: none */
	char unit[120];     /* innermost service or scope; empty: none */
};

/* Whether a path (NULL: unknown) is that group or below it; ignores trailing slashes of the group. */
bool cgroup_path_is_below(const char *path, const char *group);
void cgroup_path_names(const char *path, struct cgroup_names *ret_names);

/*
 * The path in one hierarchy from the text of /proc/PID/cgroup: of a controller ("cpu", "name=systemd"), or of the
 * unified hierarchy (""). -ENODATA: not listed, -E2BIG: longer than size.
 */
int cgroup_text_find(const char *text, const char *controller, char *path, size_t size) _must_check_;
/* The most specific path: the first that is not the root, unified hierarchy first. */
int cgroup_text_best(const char *text, char *path, size_t size) _must_check_;
