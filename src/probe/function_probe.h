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
	size_t slow; /* begin with an instruction that must be stepped over: ten times the cost */
	uint64_t lost;
	bool blind; /* to sockets: the kernel has no tracepoints of system calls */
};

struct function_probe;

/* Finds the functions. -EINVAL: none or too many match, -ESRCH: no such process. To be freed in any case. */
int function_probe_new(const struct probe_options *options, struct function_probe **ret_probe,
		       struct why *why) _must_check_;
void function_probe_free(struct function_probe *probe);
/* ret_fd stays the probe's. It becomes readable when half of a buffer is full. */
int function_probe_attach(struct function_probe *probe, int *ret_fd, struct why *why) _must_check_;
/* What the probes have printed goes into the trace; 1, or 0 when the process is no more. */
int function_probe_read(struct function_probe *probe);
/* Reads the rest and closes the trace. */
int function_probe_finish(struct function_probe *probe, struct why *why) _must_check_;
struct function_probe_counts function_probe_counts(const struct function_probe *probe);
