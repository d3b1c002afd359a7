/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ways of attaching for programs whose section does not say all of it: for struct event_hook's attach. */
#pragma once

#include "kernel/object.h"

/* To the root of the control groups: sees every process. -ENOENT where none are mounted. */
int event_check_cgroups(struct why *why) _must_check_;
int event_attach_cgroups(struct kernel_object *object, const char *program, struct why *why) _must_check_;
