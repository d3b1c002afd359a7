/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sock_diag requests for known sockets, one by one. */
#pragma once

#include <linux/inet_diag.h>

#include "base/vec.h"
#include "snapshot/socket/socket.h"

/* Extensions requested for a TCP socket. */
#define SOCK_EXT(attr) (1u << ((attr)-1))
#define SOCK_ASK_TCP                                                                                                   \
	(SOCK_EXT(INET_DIAG_INFO) | SOCK_EXT(INET_DIAG_SKMEMINFO) | SOCK_EXT(INET_DIAG_CONG) |                         \
	 SOCK_EXT(INET_DIAG_VEGASINFO))

struct sock_questions {
	struct inet_diag_req_v2 *items;
	size_t count;
	size_t room;
};

/* The request for a single socket. */
struct inet_diag_req_v2 sock_question(const struct socket_record *socket, uint8_t ext);
/* Adds a request for a TCP socket without cookie, by addresses and ports. */
void sock_ask_about(struct sock_questions *questions, const struct inet_diag_msg *msg);
/* Sends all requests. Removes those whose sockets are gone. */
int sock_ask(struct sock_questions *questions, struct snapshot *snapshot, struct socket_parse *context,
	     struct why *why) _must_check_;
