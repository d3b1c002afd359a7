/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds network namespaces, and moves the calling thread into one and back. */
#pragma once

#include "base/option.h"
#include "base/vec.h"
#include "base/why.h"
#include "record/field.h"

struct netns {
	int fd;
	uint32_t inum;         /* inode of /proc/PID/ns/net */
	uint32_t pid;          /* a process inside; 0: unknown */
	uint32_t processes;    /* with "all": inside; 0: unknown */
	uint32_t container_of; /* the namespace that it is a container of (netlink/containers.h); 0: of none */
	bool is_empty;         /* nothing can happen there (netlink/netns_empty.h): it is only listed */
	char port[16];         /* of a container: the interface of its host that leads there; may be empty */
	char name[64];         /* in /run/netns; may be empty */
};

struct netns_list {
	VEC(struct netns) items;
	uint64_t hidden;   /* processes whose namespace is not readable */
	uint64_t left_out; /* containers beyond the limit */
};

void netns_list_done(struct netns_list *list);
#define _cleanup_netns_ _cleanup_(netns_list_done)

/* SPEC is NULL or "" (the current one), a name in /run/netns, a path, a process id, or "all". */
int netns_find(const char *spec, struct netns_list *ret_list, struct why *why) _must_check_;
/* The same words in every command, because it is the same rule. */
#define NETNS_OPTION(type, member, ...)                                                                                \
	OPTION(type, member, TEXT, "netns", 'N', "NETNS",                                                              \
	       "network namespace: name, path, PID, or all. Default: for snapshots the one nest runs in (with -p, "    \
	       "that of the process), for events all",                                                                 \
	       __VA_ARGS__)
/* -ENOENT when no namespace of the list has such an interface. Where one cannot be entered it may be there: 0. */
int netns_check_interface(const struct netns_list *list, const char *dev, struct why *why) _must_check_;
/* Where a name, a path or a process id is to be found; the caller frees it. */
char *netns_path(const char *spec);

struct netns_guard {
	int fd; /* namespace to return to; -1: not moved */
};

/* Moves the calling thread; netns_leave() returns it. */
int netns_enter(const struct netns *netns, struct netns_guard *ret_guard, struct why *why) _must_check_;
/* Aborts if the thread cannot return: all later samples would come from the wrong namespace. */
void netns_leave(struct netns_guard *guard);

/* A row of table "netns". */
struct netns_record {
	uint32_t netns;
	char name[64];
	uint32_t pid;
	uint32_t container_of;
	bool empty;
	char port[16];
};
extern const struct record_type netns_type;
