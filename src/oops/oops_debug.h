/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source lines and variables from debug information of the kernel and of modules, by libdw. */
#pragma once

#include "base/why.h"
#include "oops/oops.h"

struct oops_debug;

/* vmlinux or NAME.ko[.debug] with DWARF, added one by one. */
int oops_debug_open(struct oops_debug **ret_debug, struct why *why) _must_check_;
int oops_debug_add(struct oops_debug *debug, const char *path, struct why *why) _must_check_;
void oops_debug_close(struct oops_debug *debug);
static inline void oops_debug_closep(struct oops_debug **debug)
{
	oops_debug_close(*debug);
}

/* Fills file, line, variables and members. Returns the number of functions that are of another build. */
uint32_t oops_debug_apply(struct oops_debug *debug, struct oops_list *list);
