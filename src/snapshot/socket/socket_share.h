/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of sockets and of their second parts, filled by two threads at once (table_share.h). */
#pragma once

#include "snapshot/core/table_share.h"
#include "snapshot/socket/socket.h"

struct socket_share {
	struct socket_parse whole;
	struct table_share sockets, tcps;
	struct {
		struct snapshot_table sockets, tcps;
		struct socket_parse context; /* for the one thread or the other */
	} sides[2];
};

/* It must stay where it is until the end: the sides point into it. */
void socket_share_begin(struct socket_share *share, const struct socket_parse *whole, size_t expected);
/* -ENOSPC when there was not room enough. The whole is as it was before then. */
int socket_share_end(struct socket_share *share) _must_check_;
