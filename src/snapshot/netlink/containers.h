/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Network namespaces of the containers of this host, told from other hosts by the links between them: a container hangs
 * off this namespace, which reaches the rest of the network some other way.
 *
 *	struct snapshot *scout = snapshot_new();
 *	containers_add(scout, &list);          list holds the namespace of the caller
 *	if (containers_changed(scout, &list))  later
 *		...                            find them again
 */
#pragma once

#include "snapshot/netlink/link.h"

/* More are left out: those with the fewest processes. */
#define CONTAINERS_MAX 64

/* How two namespaces call each other: nsid, UINT32_MAX where one has none for the other. */
struct netns_pair {
	uint32_t host, other; /* inode numbers */
	uint32_t other_in_host, host_in_other;
	bool host_is_first; /* the host's is that of process 1 */
};

/*
 * Pure: the interface of `host` that leads to `other`, where that is its container, by the links, addresses and routes
 * of both in the snapshot; NULL: it is not.
 */
const struct link_record *containers_port(const struct snapshot *snapshot, const struct netns_pair *pair);

/*
 * Adds the containers of the first namespace of the list, which is that of the caller, and counts those left out. What
 * cannot be entered is not found. The snapshot is for this alone: it remembers the links.
 */
void containers_add(struct snapshot *scout, struct netns_list *list);
/* Whether links to other namespaces came or went since, or a container of the list has ended. */
bool containers_changed(struct snapshot *scout, const struct netns_list *list);
