/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables "socket" and "tcp" filled by two threads (table_share.h). */
#pragma once

#include "snapshot/core/table_share.h"
#include "snapshot/socket/socket.h"

struct socket_share {
	struct socket_parse whole;
	struct table_share sockets, tcps;
	struct {
		struct snapshot_table sockets, tcps;
		struct socket_parse context; /* of one thread */
	} sides[2];
};

/* Must not move until socket_share_end(): the sides point into it. */
void socket_share_begin(struct socket_share *share, const struct socket_parse *whole, size_t expected);
/* -ENOSPC: out of room; the tables are unchanged. */
int socket_share_end(struct socket_share *share) _must_check_;
