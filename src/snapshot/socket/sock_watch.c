/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/sock_watch.h"
#include "base/clock.h"

/* Full dumps take at most this share of the time. */
#define PAUSE_FACTOR 50
/* Upper bound: a new stall on an idle connection is seen within this time. */
#define PAUSE_MAX_NS (2 * NSEC_PER_SEC)

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

bool sock_watch_due(const struct sock_watch *watch)
{
	uint64_t pause = min_of(PAUSE_MAX_NS, PAUSE_FACTOR * watch->took_ns);

	return watch->ended_ns == 0 || clock_monotonic_ns() - watch->ended_ns >= pause;
}

void sock_watch_remember(struct sock_watch *watch, struct snapshot *snapshot, size_t from, uint8_t ext)
{
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type),
			      *tcps = snapshot_table(snapshot, &tcp_type);
	struct socket_record *all = (struct socket_record *)sockets->items;
	struct tcp_record *parts = (struct tcp_record *)tcps->items;
	size_t kept = from, kept_parts = SIZE_MAX;

	watch->active.count = 0;
	for (size_t i = from; i < sockets->count; i++) {
		struct socket_record *socket = &all[i];

		/* TCP records of earlier sockets are not touched. */
		if (kept_parts == SIZE_MAX && socket->tcp != SOCKET_NONE)
			kept_parts = socket->tcp;
		if (!socket_is_active(socket, socket->tcp == SOCKET_NONE ? NULL : &parts[socket->tcp]))
			continue;
		/* Listeners are dumped together: a lookup with SO_REUSEPORT may find another one. */
		if (socket->state != SOCKET_LISTEN)
			vec_push(&watch->active, sock_question(socket, ext));
		if (socket->tcp != SOCKET_NONE) {
			parts[kept_parts] = parts[socket->tcp];
			socket->tcp = (uint32_t)kept_parts++;
		}
		all[kept++] = *socket;
	}
	sockets->count = kept;
	if (kept_parts != SIZE_MAX)
		tcps->count = kept_parts;
}
