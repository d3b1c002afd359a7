/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files under /proc/sys and the like, which only people change: in repeated samples each is read once per second. On
 * hosts with many network namespaces less often: the kernel finds such a file by comparing it with those of the same
 * name in all other namespaces.
 */
#pragma once

#include "base/buf.h"
#include "base/map.h"

struct settings {
	struct map files;  /* place -> struct setting */
	size_t namespaces; /* that are sampled; set by the caller */
};

/* Appends the content of a file, as the namespace shows it, to the text; path must be a constant. */
int settings_read(struct settings *settings, uint32_t netns, const char *path, uint64_t now_ns,
		  struct buf *text) _must_check_;
void settings_done(struct settings *settings);
