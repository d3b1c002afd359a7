/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters as they stood at the last look of this user (nest counters --last), in a file of nest's own: nstat's
 * history is left alone. What was kept before the host started anew is void.
 */
#pragma once

#include "base/map.h"
#include "base/why.h"

struct counter_seen {
	uint64_t value;
	uint64_t boot_ns; /* when */
};

/* Where it is kept; NULL when neither XDG_STATE_HOME nor HOME says. The caller frees it. */
char *counter_history_path(void);
/* Fills "NETNS NAME" -> struct counter_seen. A file that is not there, or of another start of the host, is empty. */
int counter_history_load(const char *path, struct map *seen, struct why *why) _must_check_;
/* Replaces the file in one step. What nobody looked at for a week is forgotten. */
int counter_history_save(const char *path, const struct map *seen, uint64_t now_ns, struct why *why) _must_check_;

/* The two halves without a file. */
bool counter_history_parse(char *text, const char *boot_id, struct map *seen);
