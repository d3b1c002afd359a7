/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/sock_watch.h"

#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"

/* Full dumps take at most this share of the time. */
#define PAUSE_FACTOR 100
/* Upper bound: a new stall on an idle connection is seen within this time. */
#define PAUSE_MAX_NS (2 * NSEC_PER_SEC)
/* An answer that comes as fast as this may seem to have come before its question: the kernel counts in ticks. */
#define ANSWER_NS (20 * NSEC_PER_MSEC)

bool socket_is_active(const struct socket_record *socket, const struct tcp_record *tcp)
{
	switch (socket->state) {
	case SOCKET_TIME_WAIT:
	case SOCKET_FIN_WAIT2:
	case SOCKET_CLOSE:
		return false;
	case SOCKET_ESTABLISHED:
	case SOCKET_CLOSE_WAIT:
		break;
	default:
		return true; /* in transition, or a listener */
	}
	if ((socket->recvq_bytes && socket->recvq_bytes != UINT32_MAX) ||
	    (socket->sendq_bytes && socket->sendq_bytes != UINT32_MAX))
		return true;
	/* Unknown times compare as large. */
	return tcp &&
	       (tcp->unacked > 0 || tcp->last_sent_ns < SOCK_ACTIVE_NS || tcp->last_received_ns < SOCK_ACTIVE_NS);
}

/* Ports on which somebody listens, by bit. */
struct ports {
	uint64_t bits[65536 / 64];
};

static void find_listeners(const struct socket_record *sockets, size_t count, struct ports *ports)
{
	memset(ports, 0, sizeof(*ports));
	for (size_t i = 0; i < count; i++)
		if (sockets[i].proto == IPPROTO_TCP && sockets[i].state == SOCKET_LISTEN)
			ports->bits[sockets[i].lport / 64] |= UINT64_C(1) << sockets[i].lport % 64;
}

/* A client that has sent data after what it received last. Of a server that is the usual end of an exchange. */
static bool is_waiting(const struct socket_record *socket, const struct tcp_record *tcp, const struct ports *ports)
{
	return socket->state == SOCKET_ESTABLISHED && tcp && tcp->last_sent_ns < SOCK_WAITING_NS &&
	       tcp->last_sent_ns + ANSWER_NS < tcp->last_received_ns && tcp->bytes_sent != 0 &&
	       !(ports->bits[socket->lport / 64] >> socket->lport % 64 & 1);
}

bool sock_watch_due(const struct sock_watch *watch, uint64_t least_ns)
{
	uint64_t pause = max_of(min_of(PAUSE_MAX_NS, PAUSE_FACTOR * watch->took_ns), least_ns);

	return watch->ended_ns == 0 || clock_monotonic_ns() - watch->ended_ns >= pause;
}

/* As sock_walk.c has it. Unknown times and counts compare as large. */
enum walk_class socket_class(const struct socket_record *socket, const struct tcp_record *tcp)
{
	if (socket->state != SOCKET_ESTABLISHED && socket->state != SOCKET_CLOSE_WAIT)
		return socket_is_active(socket, tcp) ? WALK_WAITS : WALK_CLASSES;
	if (!tcp)
		return WALK_MOVES;
	if ((tcp->retransmits && tcp->retransmits != UINT8_MAX) ||
	    (tcp->ca_state >= WALK_CA_RECOVERY && tcp->ca_state != UINT8_MAX) ||
	    (socket->sendq_bytes && tcp->last_ack_ns >= SOCK_WAIT_NS) ||
	    (socket->recvq_bytes && tcp->last_received_ns >= SOCK_WAIT_NS))
		return WALK_WAITS;
	return tcp->last_sent_ns < SOCK_MOVE_NS || tcp->last_received_ns < SOCK_MOVE_NS ? WALK_MOVES : WALK_CLASSES;
}

/* With hysteresis, so that the same connections are followed while their number varies a little. */
void sock_sieve_adapt(struct sock_sieve *sieve, const struct snapshot_request *request)
{
	for (unsigned i = 0; i < WALK_CLASSES; i++) {
		size_t most = i == WALK_MOVES && request->moving_max ? request->moving_max : request->followed_max;
		uint64_t *mask = &sieve->masks[i];

		while (sieve->classes[i] / (*mask + 1) > most && *mask < WALK_MASK_MAX)
			*mask = *mask * 2 + 1;
		while (*mask && sieve->classes[i] / (*mask / 2 + 1) <= most * 4 / 5)
			*mask /= 2;
		sieve->classes[i] = 0;
	}
}

void sock_sieve_begin(struct sock_sieve *sieve, uint64_t expected, const struct snapshot_request *request)
{
	for (unsigned i = 0; i < WALK_CLASSES; i++)
		sieve->classes[i] = expected;
	sock_sieve_adapt(sieve, request);
}

static bool passes(struct sock_sieve *sieve, const struct socket_record *socket, const struct tcp_record *tcp)
{
	enum walk_class class = socket_class(socket, tcp);

	if (socket->state == SOCKET_LISTEN || class == WALK_CLASSES)
		return socket->state == SOCKET_LISTEN;
	sieve->classes[class]++;
	return !(socket->cookie * UINT64_C(0x9e3779b97f4a7c15) >> 40 & sieve->masks[class]);
}

void sock_watch_sift(struct snapshot *snapshot, size_t from, struct sock_sieve *sieve)
{
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type),
			      *tcps = snapshot_table(snapshot, &tcp_type);
	struct socket_record *all = (struct socket_record *)sockets->items;
	struct tcp_record *parts = (struct tcp_record *)tcps->items;
	size_t kept = from, kept_parts = SIZE_MAX;
	struct ports ports;

	find_listeners(all + from, sockets->count - from, &ports);
	for (size_t i = from; i < sockets->count; i++) {
		struct socket_record *socket = &all[i];
		const struct tcp_record *tcp = socket->tcp == SOCKET_NONE ? NULL : &parts[socket->tcp];

		/* TCP records of earlier sockets are not touched. */
		if (kept_parts == SIZE_MAX && tcp)
			kept_parts = socket->tcp;
		if (sieve ? !passes(sieve, socket, tcp)
			  : !socket_is_active(socket, tcp) && !is_waiting(socket, tcp, &ports))
			continue;
		if (tcp) {
			parts[kept_parts] = *tcp;
			socket->tcp = (uint32_t)kept_parts++;
		}
		all[kept++] = *socket;
	}
	sockets->count = kept;
	if (kept_parts != SIZE_MAX)
		tcps->count = kept_parts;
}

void sock_watch_remember(struct sock_watch *watch, const struct snapshot *snapshot, size_t from, uint8_t ext)
{
	const struct snapshot_table *table = snapshot_table(snapshot, &socket_type);
	const struct socket_record *sockets = (const struct socket_record *)table->items;

	watch->active.count = 0;
	/* Listeners are dumped together: a lookup with SO_REUSEPORT may find another one. */
	for (size_t i = from; i < table->count; i++)
		if (sockets[i].state != SOCKET_LISTEN)
			vec_push(&watch->active, sock_question(&sockets[i], ext));
}
