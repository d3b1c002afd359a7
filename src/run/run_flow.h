/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function traces in a run: a source that writes its own trace and has no sinks. */
#pragma once

#include "flow/record/wakeup.h"
#include "probe/function_probe.h"
#include "run/run.h"

struct run_flow {
	struct run_source source;
	struct run run;
	const char *path;           /* of the trace, absolute */
	struct run_account account; /* when it is finished */
	/* A program with the recorder inside it, until it and all that it started have ended. */
	const struct command_line *command;
	const char *library; /* the recorder */
	pid_t pid;
	int status;     /* of the program, when it has ended */
	unsigned asked; /* how often it was asked to end */
	bool loadable;  /* the recorder can be loaded into it */
	struct wakeup wakeup;
	/* Or functions of a process that runs already. */
	struct probe_options options;
	struct function_probe *probe;
};

/* Carry it out; an exit code. The fields that say what to do are set. */
int run_flow_program(struct run_flow *flow, uint64_t duration_ns);
int run_flow_probe(struct run_flow *flow, uint64_t duration_ns);
/* Ends a recording that another run began. */
int run_flow_finish(struct run_flow *flow);
