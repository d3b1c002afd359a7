/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs commands of nest for panes, each in a process of its own: the screen stays quick while programs are loaded, and
 * what is shown is what the command line shows. Processes end with their pane, and with this process.
 */
#pragma once

#include "base/loop.h"
#include "base/why.h"
#include "top/screen/pane.h"

struct runner {
	struct loop *loop;
	const char *netns; /* of -N; NULL: none */
	const char *file;  /* of -f; NULL: live */
	unsigned width;    /* of the terminal */
	/* Called when a pane has more to show. */
	void (*changed)(void *context);
	void *context;
};

/* -ENOENT: there is no such command; other errors of processes and pipes. */
int runner_start(struct runner *runner, struct pane *pane, struct why *why) _must_check_;
void runner_stop(struct runner *runner, struct pane *pane);
