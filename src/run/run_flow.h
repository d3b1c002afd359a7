/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function traces in a run: sources that write a trace of their own and have no sinks. */
#pragma once

#include "probe/function_probe.h"
#include "run/run.h"

/* A program with the recorder inside it, until it and all that it started have ended. */
struct run_program {
	struct run_source source;
	struct run *run;
	const struct command_line *command;
	const char *library; /* the recorder */
	const char *path;    /* of the trace, absolute */
	bool loadable;       /* the recorder can be loaded into it */
	pid_t pid;
	int status;     /* of the program, when it has ended */
	unsigned asked; /* how often it was asked to end */
	struct run_account account;
};

/* Functions of a process that runs already. */
struct run_probe {
	struct run_source source;
	struct run *run;
	struct probe_options options;
	struct function_probe *probe;
	uint64_t events;
	size_t threads;
};

/* Each makes it a source of the run. */
void run_program_init(struct run_program *program, struct run *run);
void run_probe_init(struct run_probe *probe, struct run *run);
/* Ends the recording at that path and counts what is in the trace. loadable: calls were to be expected. */
int run_program_finish(const char *path, bool loadable, struct run_account *account, struct why *why) _must_check_;
