/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of tracefs' trace_pipe that our probes made. */
#pragma once

#include "base/macros.h"

#define PROBE_ARGS_MAX 6

struct probe_line {
	uint32_t tid;
	char comm[17];
	uint64_t ticks; /* nanoseconds when the clock counts seconds, otherwise as it is */
	bool enter;     /* otherwise a return */
	uint32_t probe; /* its number */
	unsigned arg_count;
	uint64_t args[PROBE_ARGS_MAX];
	uint64_t lost; /* not an event: so many are missing here */
};

/* False when the line is none of ours. */
bool probe_line_parse(const char *line, struct probe_line *ret_line);
