/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces in which nothing can happen: no process is inside, no socket is open, no interface is up but
 * loopback. On hosts with many of them, sampling each in full takes longer than the samples are apart.
 */
#pragma once

#include "snapshot/core/snapshot.h"

/*
 * Marks the empty ones of a list of all (netns_find); the first one, in which nest runs, is never marked. One that
 * cannot be looked at is not empty. The snapshot lends its buffers.
 */
void netns_empty_mark(struct snapshot *snapshot, struct netns_list *list);
/* Whether /proc/net/sockstat shows that no socket is open. */
bool netns_empty_sockstat(const char *text);
