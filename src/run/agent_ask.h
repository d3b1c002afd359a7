/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The nest agent of this host, asked through its UNIX socket which file it writes. It answers root, its own user and
 * members of the group nest.
 */
#pragma once

#include <sys/types.h>

#include "base/macros.h"

#define AGENT_SOCKET "/run/nest/agent.sock"
/* The first line of its answer; the second one is "store PATH". */
#define AGENT_GREETING "nest-agent 1"

/*
 * The file, to be freed; NULL: no agent answers, or one that is not trusted. NEST_AGENT names another socket; "none":
 * nobody is asked.
 */
char *agent_ask_file(void);
/* The path in an answer, to be freed; NULL: it is no answer of an agent. */
char *agent_ask_parse(const char *answer, size_t len);
/* Root, this user, and the user nest of the service. */
bool agent_ask_trusts(uid_t uid);
