/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cheap repeated sampling of many connections. Most are idle, and an idle one costs as much to read as a busy one; so
 * between two full dumps only active connections are read, one by one. Full dumps take at most a fiftieth of the time.
 */
#pragma once

#include "snapshot/core/netns_state.h"
#include "snapshot/socket/sock_ask.h"

/* A connection without activity for this long is idle; one that waits for an answer stays for longer. */
#define SOCK_ACTIVE_NS  (2 * UINT64_C(1000000000))
#define SOCK_WAITING_NS (30 * UINT64_C(1000000000))

struct sock_watch {
	struct netns_state of;
	uint64_t ended_ns; /* end of the last full dump, CLOCK_MONOTONIC */
	uint64_t took_ns;  /* its CPU time, of both threads if divided */
	struct sock_questions active;
};

bool socket_is_active(const struct socket_record *socket, const struct tcp_record *tcp);

/* Whether a full dump is due. */
bool sock_watch_due(const struct sock_watch *watch);
/* After a full dump that added the sockets from index `from`: keeps the active ones. ext: extensions to request. */
void sock_watch_remember(struct sock_watch *watch, struct snapshot *snapshot, size_t from, uint8_t ext);
