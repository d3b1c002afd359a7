/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command behind `--`: started before instrumentation, held until it is attached, followed with its children. */
#pragma once

#include "base/loop.h"
#include "base/option.h"

struct child {
	pid_t pid;    /* 0: none */
	int gate_fd;  /* closed to let it run */
	int ended_fd; /* readable when it has ended */
	int error_fd; /* why it could not become the command; closed when it has */
};

#define CHILD_INIT                                                                                                     \
	(struct child)                                                                                                 \
	{                                                                                                              \
		.gate_fd = -1, .ended_fd = -1, .error_fd = -1                                                          \
	}

/* The process exists and waits. */
int child_prepare(struct child *child, const struct command_line *command, struct why *why) _must_check_;
/* It runs; on_end is called when it has ended. */
int child_start(struct child *child, struct loop *loop, loop_fd_fn *on_end, void *context) _must_check_;
/* After its end: 0, or a negative errno when it could not be run, already reported. */
int child_error(const struct child *child) _must_check_;
/* Kills it if it has not been started; otherwise it continues. */
void child_done(struct child *child);

/* Calls follow for a process and the children that it has already, until it returns an error. */
typedef int child_follow_fn(void *context, uint32_t pid);
int child_follow_tree(uint32_t pid, child_follow_fn *follow, void *context) _must_check_;
