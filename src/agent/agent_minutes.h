/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Once per minute, a row of each connection that is followed (conn_minute.h): what a fleet keeps of connections. */
#pragma once

#include "run/run.h"

struct agent_minutes {
	struct run_sink sink;
	struct run *run;
	uint64_t every_ns;
	uint64_t due_ns; /* on the clock of the samples */
};

/* A sink of the source of the samples. */
void agent_minutes_init(struct agent_minutes *minutes, struct run *run, struct run_source *samples, uint64_t every_ns);
