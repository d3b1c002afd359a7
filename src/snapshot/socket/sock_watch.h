/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cheap repeated sampling of many connections. Most are idle, and an idle one costs as much to read as a busy one; so
 * between two full dumps only active connections are read, one by one. Full dumps take at most 1/100 of the time.
 */
#pragma once

#include "snapshot/core/netns_state.h"
#include "snapshot/socket/sock_ask.h"
#include "snapshot/socket/sock_walk.h"

/* A connection without activity for this long is idle; one that waits for an answer stays for longer. */
#define SOCK_ACTIVE_NS  (2 * UINT64_C(1000000000))
#define SOCK_WAITING_NS (30 * UINT64_C(1000000000))

/*
 * A sample that follows a limited number of connections (snapshot_request.followed_max). One that waits has data
 * unacknowledged or unread for this long, a timeout, or recovers from loss; one that moves sent or received data
 * lately.
 */
#define SOCK_WAIT_NS (200 * UINT64_C(1000000))
#define SOCK_MOVE_NS (30 * UINT64_C(1000000000))

/* Which of them are followed: those without these bits in a hash that stays with them. */
struct sock_sieve {
	uint64_t masks[WALK_CLASSES];
	uint64_t classes[WALK_CLASSES]; /* out: how many there are of each */
};

struct sock_watch {
	struct netns_state of;
	uint64_t ended_ns; /* end of the last full dump, CLOCK_MONOTONIC */
	uint64_t took_ns;  /* its CPU time, of both threads if divided */
	struct sock_sieve sieve;
	struct sock_questions active;
};

bool socket_is_active(const struct socket_record *socket, const struct tcp_record *tcp);

/* Whether a full dump is due; least_ns: not before this time has passed. */
bool sock_watch_due(const struct sock_watch *watch, uint64_t least_ns);
/* The class of a connection; WALK_CLASSES: it rests. */
enum walk_class socket_class(const struct socket_record *socket, const struct tcp_record *tcp);
/* Before the first dump of about that many connections: as if all moved. */
void sock_sieve_begin(struct sock_sieve *sieve, uint64_t expected, const struct snapshot_request *request);
/* After a dump: chooses who is followed from the next one on, as many of each class as the request says. */
void sock_sieve_adapt(struct sock_sieve *sieve, const struct snapshot_request *request);
/*
 * After a full dump that added the sockets from index `from`: drops those that are not active; with a sieve (NULL:
 * none) those that it does not let pass, and counts them.
 */
void sock_watch_sift(struct snapshot *snapshot, size_t from, struct sock_sieve *sieve);
/* What is left is read one by one until the next dump. ext: extensions to request. */
void sock_watch_remember(struct sock_watch *watch, const struct snapshot *snapshot, size_t from, uint8_t ext);
