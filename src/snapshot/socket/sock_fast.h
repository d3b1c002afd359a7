/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Very many TCP sockets in little time: what the kernel's table holds is read there, the rest has to be asked for. */
#pragma once

#include <linux/inet_diag.h>

#include "base/vec.h"
#include "snapshot/socket/sock_walk.h"
#include "snapshot/socket/sock_watch.h"

struct sock_fast {
	struct sock_walk *walk;
	bool failed; /* not again: not possible here, or not what the kernel itself tells */
	bool checked;
	struct snapshot *scratch;
};

struct sock_fast_request {
	struct socket_parse *context; /* where sockets go */
	uint32_t states;              /* that are wanted */
	size_t expected;
	bool with_tcp;
	uint32_t rest; /* out: of these states, those that are still to be asked for */
};

/*
 * A negative errno when the sockets have to be read in another way; the tables are as they were then. Sockets that
 * nobody has ever asked the kernel about have no cookie yet: a few are asked for here, one by one; many are a reason to
 * fail.
 */
int sock_fast_collect(struct sock_fast *fast, struct snapshot *snapshot, struct sock_fast_request *request,
		      struct why *why) _must_check_;
void sock_fast_done(struct sock_fast *fast);
