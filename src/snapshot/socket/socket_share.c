/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/socket_share.h"

void socket_share_begin(struct socket_share *share, const struct socket_parse *whole, size_t expected)
{
	share->whole = *whole;
	table_share_begin(&share->sockets, whole->sockets, expected);
	table_share_begin(&share->tcps, whole->tcps, expected);
	for (unsigned i = 0; i < 2; i++) {
		share->sides[i].sockets = table_share_view(&share->sockets, whole->sockets);
		share->sides[i].tcps = table_share_view(&share->tcps, whole->tcps);
		share->sides[i].context = *whole;
		share->sides[i].context.sockets = &share->sides[i].sockets;
		share->sides[i].context.tcps = &share->sides[i].tcps;
	}
}

/* Updates indices of moved TCP records. They were the last, so their sockets are most likely near the end. */
static void follow_moved(struct snapshot_table *sockets, size_t from, const struct table_move *move)
{
	size_t left = move->count;

	for (size_t i = sockets->count; left > 0 && i-- > from;) {
		struct socket_record *socket = (struct socket_record *)sockets->items + i;

		if (socket->tcp == SOCKET_NONE || socket->tcp < move->from)
			continue;
		socket->tcp = (uint32_t)(socket->tcp - move->from + move->to);
		left--;
	}
}

int socket_share_end(struct socket_share *share)
{
	struct snapshot_table *sockets = share->whole.sockets, *tcps = share->whole.tcps;
	size_t from = sockets->count, parts = tcps->count;
	struct table_move moved;
	int r;

	r = table_share_end(sockets, &share->sides[0].sockets, &share->sides[1].sockets, &moved);
	if (r == 0)
		r = table_share_end(tcps, &share->sides[0].tcps, &share->sides[1].tcps, &moved);
	if (r < 0) {
		sockets->count = from;
		tcps->count = parts;
		return r;
	}
	follow_moved(sockets, from, &moved);
	return 0;
}
