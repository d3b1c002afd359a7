/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lives of TCP connections in the agent's recording: rows of tcp.close as they end, up to a rate; all of them count
 * in the sums per minute (traffic_minutes.h). Those beyond the rate are in table `loss`.
 */
#pragma once

#include "agent/traffic_minutes.h"
#include "run/run_events.h"

struct agent_lives {
	struct run_sink sink; /* counts what the session saves */
	struct run_events events;
	struct run_session session;
	struct trace_plan plan;
	struct trace_options options;
	struct traffic_minutes *minutes;
	uint64_t noted; /* of those left out, in table loss */
};

/* rate: rows per second; 0: none. */
void agent_lives_init(struct agent_lives *lives, struct run *run, const char *netns, unsigned rate,
		      struct traffic_minutes *minutes);
/* Once per minute: writes how many rows were left out. */
int agent_lives_note_loss(struct agent_lives *lives, struct store *store) _must_check_;
