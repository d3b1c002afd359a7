/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command after -- : started, waited for in the loop, ended with the run. */
#pragma once

#include "base/loop.h"
#include "base/option.h"

struct child;

/*
 * Starts the command with the signals that this process blocks unblocked. It waits until child_release lets it run, so that
 * instrumentation can be attached to it first. -ENOENT and so on when it cannot be run at all.
 */
int child_start(const struct command_line *command, struct child **ret_child, struct why *why) _must_check_;
pid_t child_pid(const struct child *child);
void child_release(struct child *child);
/* Calls fn once, with the status as waitpid has it. */
int child_watch(struct child *child, struct loop *loop, void (*fn)(void *context, int status),
		void *context) _must_check_;
/* After its end: the errno because of which it could not be run, or 0. */
int child_error(struct child *child);
/* Ends it if it still runs (SIGTERM, and SIGKILL after a second). */
void child_free(struct child *child);
