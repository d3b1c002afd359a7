/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "base/map.h"
#include "snapshot/owner.h"
#include "snapshot/socket.h"

/*
 * Closing takes a descriptor away first and the socket a moment later; on a busy host the moment can last as long as it
 * takes until the process runs again.
 */
#define CLOSING_NS 20000000
#define LOOKS      2

static bool still_there(const struct snapshot *snapshot, const struct snapshot *again)
{
	_cleanup_(map_done) struct map there = MAP_INIT(sizeof(uint64_t), 1, 0);

	/* A connection may outlive its descriptor: without an inode it is nobody's. */
	snapshot_each(again, socket_type, const struct socket_record, socket)
		if (socket->inode)
			(void)map_put(&there, &socket->cookie, NULL);
	snapshot_each(snapshot, socket_type, const struct socket_record, socket)
		if (socket->inode && socket->owner == SOCKET_NONE && map_get(&there, &socket->cookie))
			return true;
	return false;
}

bool owner_really_missing(const struct snapshot *snapshot, const struct snapshot_request *request)
{
	static const struct record_type *const types[] = {&socket_type, NULL};
	_cleanup_snapshot_ struct snapshot *again = snapshot_new();
	struct snapshot_request question = {.namespaces = request->namespaces, .types = types, .no_bpf = true};
	struct why why;

	for (unsigned look = 0; look < LOOKS; look++) {
		if (look > 0)
			(void)nanosleep(&(struct timespec){.tv_nsec = CLOSING_NS}, NULL);
		if (snapshot_take(again, &question, &why) < 0)
			return true;
		if (!still_there(snapshot, again))
			return false;
	}
	return true;
}
