/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <netinet/in.h>
#include <time.h>

#include "snapshot/core/netns.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/sock_ask.h"

/*
 * close() removes the descriptor first and the socket later; on a busy host that can take until the process runs again.
 */
#define CLOSING_NS 20000000
#define LOOKS      2
/* Sockets queried per batch. One that still exists is enough. */
#define BATCH 32

/* Queries in one namespace, and their replies. */
struct asking {
	struct snapshot *again;
	struct socket_parse context;
	struct sock_questions questions;
};

/* A connection may outlive its descriptor: without an inode it has no owner. */
static bool any_answers(struct asking *asking)
{
	struct why why;
	bool there = false;

	snapshot_clear(asking->again);
	there = sock_ask(&asking->questions, asking->again, &asking->context, &why) < 0;
	asking->questions.count = 0;
	snapshot_each(asking->again, socket_type, const struct socket_record, socket)
		there |= socket->inode != 0;
	return there;
}

/* With SO_REUSEPORT the lookup may find another socket of the group, which is as good. */
static struct inet_diag_req_v2 question_about(const struct socket_record *socket)
{
	struct inet_diag_req_v2 question = sock_question(socket, 0);

	if (socket->state == SOCKET_LISTEN || socket->proto != IPPROTO_TCP)
		question.id.idiag_cookie[0] = question.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	return question;
}

static bool any_in(const struct snapshot *snapshot, struct asking *asking, uint32_t netns)
{
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		if (socket->netns != netns || !socket->inode || socket->owner != SOCKET_NONE)
			continue;
		vec_push(&asking->questions, question_about(socket));
		if (asking->questions.count == BATCH && any_answers(asking))
			return true;
	}
	return any_answers(asking);
}

static bool still_there(const struct snapshot *snapshot, const struct netns_list *namespaces, struct asking *asking)
{
	bool there = false;

	vec_each(&namespaces->items, netns) {
		struct netns_guard guard;
		struct why why;

		if (there || netns_enter(netns, &guard, &why) < 0)
			continue;
		there = any_in(snapshot, asking, netns->inum);
		netns_leave(&guard);
	}
	return there;
}

bool owner_really_missing(const struct snapshot *snapshot, const struct snapshot_request *request)
{
	_cleanup_netns_ struct netns_list own = {};
	_cleanup_snapshot_ struct snapshot *again = snapshot_new();
	struct asking asking = {.again = again,
				.context = {.proto = 0,
					    .sockets = snapshot_table(again, &socket_type),
					    .tcps = snapshot_table(again, &tcp_type)}};
	const struct netns_list *namespaces = request->namespaces;
	bool missing = true;
	struct why why;

	if (!namespaces && netns_find(NULL, &own, &why) < 0)
		return true;
	for (unsigned look = 0; look < LOOKS && missing; look++) {
		if (look > 0)
			(void)nanosleep(&(struct timespec){.tv_nsec = CLOSING_NS}, NULL);
		missing = still_there(snapshot, namespaces ?: &own, &asking);
	}
	vec_done(&asking.questions);
	return missing;
}
