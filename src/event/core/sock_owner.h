/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How owners of sockets are learnt (sock_owner.bpf.c): attached with every event outside of process context. */
#pragma once

#include "event/core/event.h"

/* The last two of them. */
enum { SOCK_OWNER_SEND = 2, SOCK_OWNER_RECEIVE, SOCK_OWNER_ROLES };
extern const struct event_role sock_owner_roles[SOCK_OWNER_ROLES];
/* How children of followed processes are found (tree.bpf.c). */
extern const struct event_role event_tree_role;
/* How control groups are found that are made below followed ones (cgroup_tree.bpf.c). */
extern const struct event_role event_cgroup_role;
/* The iterator that gives sockets an owner which were there before. */
#define SOCK_OWNER_SEED "sock_owner_seed"
