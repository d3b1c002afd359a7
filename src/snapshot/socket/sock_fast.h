/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fast dump of very many TCP sockets: reads the kernel's hash table by BPF; the caller dumps the remaining states. */
#pragma once

#include <linux/inet_diag.h>

#include "base/vec.h"
#include "snapshot/socket/sock_walk.h"
#include "snapshot/socket/sock_watch.h"

struct sock_fast {
	struct sock_walk *walk;
	bool failed; /* do not retry: not possible here, or results differ from sock_diag */
	bool checked;
	struct snapshot *scratch;
};

struct sock_fast_request {
	struct socket_parse *context; /* output */
	uint32_t states;              /* requested */
	size_t expected;
	bool with_tcp;
	struct sock_sieve *sieve; /* with_tcp; NULL: all connections */
	uint32_t rest;            /* out: states that the caller must still dump */
};

/*
 * A negative errno: use sock_diag instead; the tables are unchanged. Sockets get a cookie on the first sock_diag
 * request: a few without one are requested here, one by one; many are an error.
 */
int sock_fast_collect(struct sock_fast *fast, struct snapshot *snapshot, struct sock_fast_request *request,
		      struct why *why) _must_check_;
void sock_fast_done(struct sock_fast *fast);
