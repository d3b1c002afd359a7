/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that somebody ends: a signal, a time that is over, the command behind `--`. The command is there from the beginning and
 * waits until everything is attached.
 */
#pragma once

#include "run/child.h"
#include "store/store.h"

struct run_until {
	struct loop *loop;
	struct child child;
	int ended_by;        /* signal, or 0 */
	struct store *store; /* the recording that is written meanwhile, or NULL; the caller's */
};

/* The loop, what ends it, and the process that is to become the command. */
int run_until_prepare(struct run_until *until, const struct command_line *command, struct why *why) _must_check_;
/* Follows the command, or else a process with the children that it has; parent 0: nobody. */
int run_until_follow(struct run_until *until, uint64_t parent, follow_fn *follow, void *context,
		     struct why *why) _must_check_;
/* From now on the recording ends its batches in time, and a recording that fails ends the run. */
int run_until_keep(struct run_until *until, struct store *store) _must_check_;
/* Lets the command go and runs the loop until the end; duration 0: as long as it takes. */
int run_until_end(struct run_until *until, uint64_t duration_ns, struct why *why) _must_check_;
/* What became of the recording so far; a negative errno with the sentence when it failed. */
int run_until_kept(const struct run_until *until, struct why *why) _must_check_;
/* The exit code that the end asks for, when all else went well. */
int run_until_exit_code(const struct run_until *until);
void run_until_done(struct run_until *until);
