/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Socket owner tracking (sock_owner.bpf.c): attached with every event outside process context. */
#pragma once

#include "event/core/event.h"

/* Indices of the last two. */
enum { SOCK_OWNER_SEND = 2, SOCK_OWNER_RECEIVE, SOCK_OWNER_ROLES };
extern const struct event_role sock_owner_roles[SOCK_OWNER_ROLES];
/* Ends the storage of earlier sockets (sock_number.bpf.c). */
extern const struct event_role sock_number_role;
/* Follows child processes (process_tree.bpf.c). */
extern const struct event_role event_tree_role;
/* Follows cgroups created below followed ones (cgroup_tree.bpf.c). */
extern const struct event_role event_cgroup_role;
/* Iterator that gives existing sockets their owner. */
#define SOCK_OWNER_SEED "sock_owner_seed"
