/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The counters of this user's last run (nest counters --last), in nest's own file, not nstat's history. A file of an
 * earlier boot is ignored.
 */
#pragma once

#include "base/map.h"
#include "base/why.h"

struct counter_seen {
	uint64_t value;
	uint64_t boot_ns; /* time of the sample */
};

/* Path of the file; NULL without XDG_STATE_HOME and HOME. The caller frees it. */
char *counter_history_path(void);
/* Fills "NETNS NAME" -> struct counter_seen. A missing file, or one of another boot, is empty. */
int counter_history_load(const char *path, struct map *seen, struct why *why) _must_check_;
/* Replaces the file atomically. Entries unused for a week are dropped. */
int counter_history_save(const char *path, const struct map *seen, uint64_t now_ns, struct why *why) _must_check_;

/* Parsing and formatting without a file. */
bool counter_history_parse(char *text, const char *boot_id, struct map *seen);
