/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/sock_watch.h"

/* Full readings take at most this part of the time. */
#define PAUSE_FACTOR 50
/* A new stall on an idle connection is to be seen within this time all the same. */
#define PAUSE_MAX_NS (2 * NSEC_PER_SEC)
/* Questions that are sent at once; the answers must fit into the socket's receive buffer. */
#define BATCH 32

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
		return true; /* on the way to another state, or a listener */
	}
	if ((socket->recvq_bytes && socket->recvq_bytes != UINT32_MAX) ||
	    (socket->sendq_bytes && socket->sendq_bytes != UINT32_MAX))
		return true;
	/* Unknown times are large ones. */
	return tcp &&
	       (tcp->unacked > 0 || tcp->last_sent_ns < SOCK_ACTIVE_NS || tcp->last_received_ns < SOCK_ACTIVE_NS);
}

bool sock_watch_due(const struct sock_watch *watch)
{
	uint64_t pause = min_of(PAUSE_MAX_NS, PAUSE_FACTOR * watch->took_ns);

	return watch->ended_ns == 0 || clock_monotonic_ns() - watch->ended_ns >= pause;
}

struct inet_diag_req_v2 sock_watch_question(const struct socket_record *socket, uint8_t ext)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = socket->family == ADDR_V6 ? AF_INET6 : AF_INET,
		.sdiag_protocol = socket->proto,
		.idiag_ext = ext,
		.idiag_states = UINT32_MAX,
		.id.idiag_sport = htons(socket->lport),
		.id.idiag_dport = htons(socket->rport),
		.id.idiag_if = socket->ifindex,
		.id.idiag_cookie = {(uint32_t)socket->cookie, (uint32_t)(socket->cookie >> 32)},
	};

	/* Addresses of IPv4 are kept in their IPv6 form: the last four bytes are the old one. */
	if (req.sdiag_family == AF_INET) {
		memcpy(req.id.idiag_src, socket->laddr.bytes + 12, 4);
		memcpy(req.id.idiag_dst, socket->raddr.bytes + 12, 4);
	} else {
		memcpy(req.id.idiag_src, socket->laddr.bytes, 16);
		memcpy(req.id.idiag_dst, socket->raddr.bytes, 16);
	}
	return req;
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

		/* The parts of the sockets that come first are not touched. */
		if (kept_parts == SIZE_MAX && socket->tcp != SOCKET_NONE)
			kept_parts = socket->tcp;
		if (!socket_is_active(socket, socket->tcp == SOCKET_NONE ? NULL : &parts[socket->tcp]))
			continue;
		/* Listeners are asked for together; a lookup of one may find its neighbour. */
		if (socket->state != SOCKET_LISTEN)
			vec_push(&watch->active, sock_watch_question(socket, ext));
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

/* How many of the answers the buffer holds; those that are errors mark their question as gone. */
static size_t take_answers(struct sock_watch *watch, struct snapshot *snapshot, struct socket_parse *context, ssize_t n)
{
	const struct nlmsghdr *message = (const void *)snapshot->message;
	int left = (int)n;
	size_t count = 0;

	for (; nl_message_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		if (message->nlmsg_seq == 0 || message->nlmsg_seq > watch->active.count)
			continue;
		count++;
		if (message->nlmsg_type == NLMSG_ERROR)
			watch->active.items[message->nlmsg_seq - 1].sdiag_family = AF_UNSPEC;
		else if (message->nlmsg_type >= NLMSG_MIN_TYPE)
			socket_parse_message(snapshot, message, context);
	}
	return count;
}

static size_t write_batch(const struct sock_watch *watch, size_t from, size_t count, char *bytes)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		struct nlmsghdr *header = mnl_nlmsg_put_header(bytes + len);
		void *extra = mnl_nlmsg_put_extra_header(header, sizeof(struct inet_diag_req_v2));

		header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
		header->nlmsg_flags = NLM_F_REQUEST;
		header->nlmsg_seq = (uint32_t)(from + i + 1);
		memcpy(extra, &watch->active.items[from + i], sizeof(struct inet_diag_req_v2));
		len += MNL_ALIGN(header->nlmsg_len);
	}
	return len;
}

static void forget_gone(struct sock_watch *watch)
{
	size_t kept = 0;

	vec_each(&watch->active, question)
		if (question->sdiag_family != AF_UNSPEC)
			watch->active.items[kept++] = *question;
	watch->active.count = kept;
}

int sock_watch_again(struct sock_watch *watch, struct snapshot *snapshot, struct socket_parse *context, struct why *why)
{
	_cleanup_(nl_closep) struct mnl_socket *socket = nl_open(NETLINK_SOCK_DIAG, why);
	_Alignas(8) char bytes[BATCH * MNL_ALIGN(sizeof(struct nlmsghdr) + sizeof(struct inet_diag_req_v2))];

	if (!socket)
		return -errno;
	for (size_t from = 0; from < watch->active.count; from += BATCH) {
		size_t count = min_of((size_t)BATCH, watch->active.count - from), answered = 0;

		if (mnl_socket_sendto(socket, bytes, write_batch(watch, from, count, bytes)) < 0)
			return why_set(why, -errno, "asking about sockets one by one: %s", strerror(errno));
		while (answered < count) {
			ssize_t n = mnl_socket_recvfrom(socket, snapshot->message, SNAPSHOT_MESSAGE_MAX);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return why_set(why, -errno, "asking about sockets one by one: %s", strerror(errno));
			answered += take_answers(watch, snapshot, context, n);
		}
	}
	forget_gone(watch);
	return 0;
}
