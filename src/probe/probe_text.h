/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of trace_pipe: of our probes, and of the kernel's tracepoints for system calls and connection states. */
#pragma once

#include "base/addr.h"
#include "base/macros.h"

#define PROBE_ARGS_MAX 6

enum probe_what {
	PROBE_FUNCTION,    /* enter, probe, args */
	PROBE_SYSCALL,     /* syscall, args: those in registers, in order */
	PROBE_SYSCALL_END, /* syscall, result */
	PROBE_STATE, /* local, remote: endpoints of a connection that changes state in this thread or in an interrupt */
};

struct probe_line {
	enum probe_what what;
	uint32_t tid;
	char comm[17];
	uint64_t ticks; /* nanoseconds, or cycles if the clock counts cycles */
	bool enter;     /* otherwise a return */
	uint32_t probe; /* its number */
	unsigned arg_count;
	uint64_t args[PROBE_ARGS_MAX];
	char syscall[24]; /* name without sys_ */
	int64_t result;
	bool in_interrupt;
	struct endpoint local, remote;
	uint64_t lost; /* not an event: number of events lost here */
};

/* False: not a line of these kinds. */
bool probe_line_parse(const char *line, struct probe_line *ret_line);
