/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching many connections cheaply. Most are idle most of the time, and reading an idle one costs as much as a busy
 * one; so between two full readings only those are asked about, one by one, on which something happened. Full readings
 * are as frequent as a fiftieth of the time allows.
 */
#pragma once

#include "snapshot/core/netns_state.h"
#include "snapshot/socket/sock_ask.h"

/* Something moved on a connection within this time, or it is idle. */
#define SOCK_ACTIVE_NS (2 * UINT64_C(1000000000))

struct sock_watch {
	struct netns_state of;
	uint64_t ended_ns; /* of the last full reading, CLOCK_MONOTONIC */
	uint64_t took_ns;  /* of processor time, both threads' where it was divided */
	struct sock_questions active;
};

bool socket_is_active(const struct socket_record *socket, const struct tcp_record *tcp);

/* Whether it is time for a full reading again. */
bool sock_watch_due(const struct sock_watch *watch);
/* After a full reading that added the sockets from index `from` on: keeps the active ones. ext: what to ask of them. */
void sock_watch_remember(struct sock_watch *watch, struct snapshot *snapshot, size_t from, uint8_t ext);
