/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the kernel about sockets that are known, one by one. */
#pragma once

#include <linux/inet_diag.h>

#include "base/vec.h"
#include "snapshot/socket/socket.h"

/* What is asked about a TCP socket. */
#define SOCK_EXT(attr) (1u << ((attr)-1))
#define SOCK_ASK_TCP                                                                                                   \
	(SOCK_EXT(INET_DIAG_INFO) | SOCK_EXT(INET_DIAG_SKMEMINFO) | SOCK_EXT(INET_DIAG_CONG) |                         \
	 SOCK_EXT(INET_DIAG_VEGASINFO))

struct sock_questions {
	struct inet_diag_req_v2 *items;
	size_t count;
	size_t room;
};

/* What to ask for a socket alone. */
struct inet_diag_req_v2 sock_question(const struct socket_record *socket, uint8_t ext);
/* Adds a question about a TCP socket of which only the addresses are known. */
void sock_ask_about(struct sock_questions *questions, const struct inet_diag_msg *msg);
/* Asks them all. Those about sockets that have gone are taken out. */
int sock_ask(struct sock_questions *questions, struct snapshot *snapshot, struct socket_parse *context,
	     struct why *why) _must_check_;
