/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket through which other commands find the agent's recording (run/agent_ask.h). It says the path of the file
 * and nothing else; who may read the file is up to its mode. Root, the agent's user and members of the group nest are
 * answered.
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"

struct agent_socket;

/* store: the file. Another agent that answers there: -EADDRINUSE. */
int agent_socket_new(struct loop *loop, const char *path, const char *store, struct agent_socket **ret_socket,
		     struct why *why) _must_check_;
void agent_socket_free(struct agent_socket *socket);
