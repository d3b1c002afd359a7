/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network namespaces: finding them, and looking at one from inside without changing anything else of the process. */
#pragma once

#include "base/option.h"
#include "base/vec.h"
#include "base/why.h"
#include "record/field.h"

struct netns {
	int fd;
	uint32_t inum; /* as in /proc/PID/ns/net */
	uint32_t pid;  /* of a process inside, 0 when none was looked for or found */
	char name[64]; /* below /run/netns, else empty */
};

struct netns_list {
	VEC(struct netns) items;
	uint64_t hidden; /* processes whose namespace could not be looked at */
};

void netns_list_done(struct netns_list *list);
#define _cleanup_netns_ _cleanup_(netns_list_done)

/* NULL or "": the own one. A name below /run/netns, a path, a process id, or "all". */
int netns_find(const char *spec, struct netns_list *ret_list, struct why *why) _must_check_;
/* The same words in every command, because it is the same rule. */
#define NETNS_OPTION(type, member)                                                                                     \
	OPTION(type, member, TEXT, "netns", 'N', "NETNS",                                                              \
	       "network namespace: name, path, PID, or all. Default: snapshots are of the one nest runs in (with "     \
	       "-p, of the process's), events of all")
/* -ENOENT when no namespace of the list has such an interface. Where one cannot be entered it may be there: 0. */
int netns_check_interface(const struct netns_list *list, const char *dev, struct why *why) _must_check_;
/* Where a name, a path or a process id is to be found; the caller frees it. */
char *netns_path(const char *spec);

struct netns_guard {
	int fd; /* where to return to; -1 when nothing was changed */
};

/* Moves this thread; leaving returns it. */
int netns_enter(const struct netns *netns, struct netns_guard *ret_guard, struct why *why) _must_check_;
/* The process ends when the way back is barred: staying in a wrong namespace would make every later answer a lie. */
void netns_leave(struct netns_guard *guard);

/* One row of the table "netns". */
struct netns_record {
	uint32_t netns;
	char name[64];
	uint32_t pid;
};
extern const struct record_type netns_type;
