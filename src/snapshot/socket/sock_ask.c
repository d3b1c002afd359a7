/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>

#include "snapshot/socket/sock_ask.h"

/* Requests per batch; the replies must fit into the socket's receive buffer. */
#define BATCH 32

struct inet_diag_req_v2 sock_question(const struct socket_record *socket, uint8_t ext)
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

	/* IPv4 addresses are stored IPv4-mapped: use the last four bytes. */
	if (req.sdiag_family == AF_INET) {
		memcpy(req.id.idiag_src, socket->laddr.bytes + 12, 4);
		memcpy(req.id.idiag_dst, socket->raddr.bytes + 12, 4);
	} else {
		memcpy(req.id.idiag_src, socket->laddr.bytes, 16);
		memcpy(req.id.idiag_dst, socket->raddr.bytes, 16);
	}
	return req;
}

void sock_ask_about(struct sock_questions *questions, const struct inet_diag_msg *msg)
{
	struct inet_diag_req_v2 req = {
		.sdiag_family = msg->idiag_family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_ext = SOCK_ASK_TCP,
		.idiag_states = UINT32_MAX,
		.id = msg->id,
	};

	req.id.idiag_cookie[0] = req.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	vec_push(questions, req);
}

/* Parses replies and returns their number; an error marks its socket as gone. */
static size_t take_answers(struct sock_questions *questions, struct snapshot *snapshot, struct socket_parse *context,
			   ssize_t n)
{
	const struct nlmsghdr *message = (const void *)snapshot->message;
	int left = (int)n;
	size_t count = 0;

	for (; nl_message_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
		if (message->nlmsg_seq == 0 || message->nlmsg_seq > questions->count)
			continue;
		count++;
		if (message->nlmsg_type == NLMSG_ERROR)
			questions->items[message->nlmsg_seq - 1].sdiag_family = AF_UNSPEC;
		else if (message->nlmsg_type >= NLMSG_MIN_TYPE)
			socket_parse_message(snapshot, message, context);
	}
	return count;
}

static size_t write_batch(const struct sock_questions *questions, size_t from, size_t count, char *bytes)
{
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		struct nlmsghdr *header = mnl_nlmsg_put_header(bytes + len);
		void *extra = mnl_nlmsg_put_extra_header(header, sizeof(struct inet_diag_req_v2));

		header->nlmsg_type = SOCK_DIAG_BY_FAMILY;
		header->nlmsg_flags = NLM_F_REQUEST;
		header->nlmsg_seq = (uint32_t)(from + i + 1);
		memcpy(extra, &questions->items[from + i], sizeof(struct inet_diag_req_v2));
		len += MNL_ALIGN(header->nlmsg_len);
	}
	return len;
}

static void forget_gone(struct sock_questions *questions)
{
	size_t kept = 0;

	vec_each(questions, question)
		if (question->sdiag_family != AF_UNSPEC)
			questions->items[kept++] = *question;
	questions->count = kept;
}

int sock_ask(struct sock_questions *questions, struct snapshot *snapshot, struct socket_parse *context, struct why *why)
{
	_cleanup_(nl_closep) struct mnl_socket *socket = NULL;
	_Alignas(8) char bytes[BATCH * MNL_ALIGN(sizeof(struct nlmsghdr) + sizeof(struct inet_diag_req_v2))];

	if (questions->count == 0)
		return 0;
	socket = nl_open(NETLINK_SOCK_DIAG, why);
	if (!socket)
		return -errno;
	for (size_t from = 0; from < questions->count; from += BATCH) {
		size_t count = min_of((size_t)BATCH, questions->count - from), answered = 0;

		if (mnl_socket_sendto(socket, bytes, write_batch(questions, from, count, bytes)) < 0)
			return why_set(why, -errno, "sock_diag request for single sockets failed: %s", strerror(errno));
		while (answered < count) {
			ssize_t n = mnl_socket_recvfrom(socket, snapshot->message, SNAPSHOT_MESSAGE_MAX);

			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0)
				return why_set(why, -errno, "sock_diag request for single sockets failed: %s",
					       strerror(errno));
			answered += take_answers(questions, snapshot, context, n);
		}
	}
	forget_gone(questions);
	return 0;
}
