/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The source of sockets: the kernel's socket diagnosis. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include "snapshot/socket.h"

#define EXT(attr)   (1u << ((attr)-1))
#define EXT_TCP     (EXT(INET_DIAG_INFO) | EXT(INET_DIAG_SKMEMINFO) | EXT(INET_DIAG_CONG) | EXT(INET_DIAG_VEGASINFO))
#define EXT_UDP     EXT(INET_DIAG_SKMEMINFO)
#define EXT_SERVICE (EXT(INET_DIAG_TOS) | EXT(INET_DIAG_TCLASS))
#define ALL_STATES  ((1u << SOCKET_STATES) - 2)
/* States in which data can wait. */
#define ACTIVE_STATES                                                                                                  \
	(1u << SOCKET_ESTABLISHED | 1u << SOCKET_SYN_SENT | 1u << SOCKET_SYN_RECV | 1u << SOCKET_FIN_WAIT1 |           \
	 1u << SOCKET_CLOSE_WAIT | 1u << SOCKET_LAST_ACK | 1u << SOCKET_LISTEN | 1u << SOCKET_CLOSING)

static const struct record_type *const types[] = {&socket_type, &tcp_type, NULL};

static int ask(struct snapshot *snapshot, struct socket_parse *context, struct nlmsghdr *request, struct why *why)
{
	struct nl_question question = {
		.protocol = NETLINK_SOCK_DIAG, .request = request, .parse = socket_parse_message, .context = context};

	return nl_ask(snapshot, &question, why);
}

static int ask_family(struct snapshot *snapshot, struct socket_parse *context, uint8_t family, uint32_t states,
		      struct why *why)
{
	struct nl_request room;
	struct inet_diag_req_v2 *req;
	struct nlmsghdr *request =
		nl_request_begin(&room, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, sizeof(*req), (void **)&req);

	req->sdiag_family = family;
	req->sdiag_protocol = context->proto;
	req->idiag_ext = context->proto == IPPROTO_TCP ? EXT_TCP | EXT_SERVICE : EXT_UDP | EXT_SERVICE;
	req->idiag_states = states;
	return ask(snapshot, context, request, why);
}

/*
 * The oldest form of the question has no family and so gets both in one walk through the kernel's table of connections,
 * which is most of the cost on a host with few of them.
 */
static int ask_tcp(struct snapshot *snapshot, struct socket_parse *context, uint32_t states, struct why *why)
{
	struct nl_request room;
	struct inet_diag_req *req;
	struct nlmsghdr *request = nl_request_begin(&room, TCPDIAG_GETSOCK, NLM_F_DUMP, sizeof(*req), (void **)&req);
	int r;

	req->idiag_family = AF_UNSPEC;
	req->idiag_ext = EXT_TCP | EXT_SERVICE;
	req->idiag_states = states;
	if (ask(snapshot, context, request, NULL) == 0)
		return 0;
	r = ask_family(snapshot, context, AF_INET, states, why);
	return r < 0 ? r : ask_family(snapshot, context, AF_INET6, states, why);
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct socket_parse context = {
		.proto = IPPROTO_TCP,
		.sockets = snapshot_table(snapshot, &socket_type),
		.tcps = snapshot_table(snapshot, &tcp_type),
	};
	int r, r6;

	r = ask_tcp(snapshot, &context, request->active_only ? ACTIVE_STATES : ALL_STATES, why);
	if (r < 0 || request->active_only)
		return r;
	context.proto = IPPROTO_UDP;
	r = ask_family(snapshot, &context, AF_INET, ALL_STATES, why);
	/* A kernel without IPv6 has no such sockets: nothing is lost. */
	r6 = ask_family(snapshot, &context, AF_INET6, ALL_STATES, r < 0 ? NULL : why);
	return r < 0 ? r : r6 == -ENOENT ? 0 : r6;
}

static const struct snapshot_source sock_diag_source = {
	.name = "sock_diag",
	.lost = "sockets, their queues, timers and variables",
	.types = types,
	.stage = STAGE_SOCKETS,
	.per_netns = true,
	.collect = collect,
};
SNAPSHOT_SOURCE(sock_diag_source);
