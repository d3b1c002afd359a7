/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts commands of nest for the screen and the page, which give up everything themselves: a process of its own that
 * is started before. It runs nothing but this program. A command that only looks (command_only_looks) starts with
 * the privilege that nest was started with, and gives it up by itself; any other, one that names a file for example,
 * starts without. One directory is excepted, in which recordings may be made.
 */
#pragma once

#include "base/why.h"

/*
 * Once, before anything is given up. Without privilege where the commands will only read files; directory: see above,
 * NULL: none.
 */
int starter_begin(bool privileged, const char *directory, struct why *why) _must_check_;
/* At the end of the process; commands that still run are killed. */
void starter_end(void);

struct starter_order {
	char *const *words; /* behind `nest`; ends with NULL */
	unsigned width;     /* of the terminal that the output is for */
	int out, errors;    /* where it writes; stay the caller's */
};

/*
 * The status of its end, as of wait, can be read from the descriptor (an int) that is returned; closing it before that
 * kills the command.
 */
int starter_start(const struct starter_order *order, struct why *why) _must_check_;
/* Asks the command of that descriptor to end, as Ctrl-C does. */
void starter_interrupt(int fd);
