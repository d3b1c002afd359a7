/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selected functions of a running program not built for tracing: uprobes through a private tracefs instance. */
#pragma once

#include "base/option.h"
#include "base/why.h"

struct probe_options {
	uint32_t pid;
	const char *output;
	const struct text_list *only;    /* function patterns; at least one */
	const struct text_list *without; /* patterns of functions to omit */
	uint64_t args;                   /* number of register arguments to record per call */
	bool no_sockets;
};

struct function_probe_counts {
	size_t functions;
	size_t slow; /* start with an instruction that needs a single step: ten times the cost */
	uint64_t lost;
	bool blind; /* no socket operations: the kernel has no syscall tracepoints */
};

struct function_probe;

/* Finds the functions. -EINVAL: none or too many match, -ESRCH: no such process. Free it in any case. */
int function_probe_new(const struct probe_options *options, struct function_probe **ret_probe,
		       struct why *why) _must_check_;
void function_probe_free(struct function_probe *probe);
/* The probe owns *ret_fd; it polls readable when a buffer is half full. */
int function_probe_attach(struct function_probe *probe, int *ret_fd, struct why *why) _must_check_;
/* Moves trace_pipe output into the trace; 0: the process has ended, otherwise 1. */
int function_probe_read(struct function_probe *probe);
/* Reads the rest and closes the trace. */
int function_probe_finish(struct function_probe *probe, struct why *why) _must_check_;
struct function_probe_counts function_probe_counts(const struct function_probe *probe);
