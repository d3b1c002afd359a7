/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/join.h"
#include "base/map.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

/* Per socket inode: the first owner (lowest pid, then descriptor) and the number of owners. */
struct holders {
	uint32_t first;
	uint32_t count;
};

static void index_owners(const struct snapshot *snapshot, struct map *by_inode)
{
	const struct owner_record *owners = snapshot_first(snapshot, &owner_type);
	uint32_t number = 0;

	snapshot_each(snapshot, owner_type, const struct owner_record, owner) {
		bool is_new;
		struct holders *holders = map_put(by_inode, &owner->inode, &is_new);
		const struct owner_record *first = &owners[holders->first];

		if (is_new || owner->pid < first->pid || (owner->pid == first->pid && owner->fd < first->fd))
			holders->first = number;
		holders->count++;
		number++;
	}
}

static void index_tcps(const struct snapshot *snapshot, struct map *by_cookie)
{
	uint32_t number = 0;

	snapshot_each(snapshot, tcp_type, const struct tcp_record, tcp) {
		uint32_t *at = map_put(by_cookie, &tcp->tcp_cookie, NULL);

		*at = number++;
	}
}

void snapshot_join(struct snapshot *snapshot)
{
	struct map by_inode = MAP_INIT(sizeof(uint32_t), sizeof(struct holders), 0);
	struct map by_cookie = MAP_INIT(sizeof(uint64_t), sizeof(uint32_t), 0);

	index_owners(snapshot, &by_inode);
	index_tcps(snapshot, &by_cookie);
	snapshot_each(snapshot, socket_type, struct socket_record, socket) {
		const struct holders *holders = socket->inode ? map_get(&by_inode, &socket->inode) : NULL;
		const uint32_t *tcp = map_get(&by_cookie, &socket->cookie);

		socket->tcp = tcp ? *tcp : SOCKET_NONE;
		socket->owner = holders ? holders->first : SOCKET_NONE;
		socket->owners = holders ? holders->count : 0;
	}
	map_done(&by_inode);
	map_done(&by_cookie);
}
