/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "snapshot/socket/time_wait.h"

#include "snapshot/socket/socket.h"

/* Other tables refer to sockets by cookie or inode, so rows may move. */
void snapshot_drop_time_wait(struct snapshot *snapshot)
{
	struct snapshot_table *table = snapshot_table(snapshot, &socket_type);
	struct socket_record *sockets = (struct socket_record *)table->items;
	size_t kept = 0;

	for (size_t i = 0; i < table->count; i++)
		if (sockets[i].state != SOCKET_TIME_WAIT)
			sockets[kept++] = sockets[i];
	table->count = kept;
}
