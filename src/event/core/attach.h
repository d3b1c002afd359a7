/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attach functions for programs whose section does not name the full target: for struct event_hook. */
#pragma once

#include "kernel/object.h"

/* To the root cgroup: sees every process. -ENOENT if cgroup2 is not mounted. */
int event_check_cgroups(struct why *why) _must_check_;
int event_attach_cgroups(struct kernel_object *object, const char *program, struct why *why) _must_check_;

/* An iterator over the open files of all processes: runs it once, for what was there before the run. */
int event_attach_walk(struct kernel_object *object, const char *program, struct why *why) _must_check_;
/* Attaches nothing: the program is run by live_sweep. */
int event_attach_later(struct kernel_object *object, const char *program, struct why *why) _must_check_;
