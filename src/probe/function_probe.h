/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selected functions of a running program not built for tracing: uprobes through a private tracefs instance. */
#pragma once

#include "base/option.h"

struct probe_options {
	uint32_t pid;
	const char *output;
	const struct text_list *only;    /* function patterns; at least one */
	const struct text_list *without; /* patterns of functions to omit */
	uint64_t args;                   /* number of register arguments to record per call */
	bool no_sockets;
	uint64_t duration_ns; /* 0: until a signal or the end of the process */
};

/* Returns an exit code; reports errors itself. */
int flow_probe_record(const struct probe_options *options);
