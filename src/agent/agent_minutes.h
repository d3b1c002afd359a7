/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a fleet keeps of a host besides findings: once per minute a row of each connection that is followed
 * (conn_minute.h), and sums of drops, retransmissions, paths and services (fleet/minute.h).
 */
#pragma once

#include "agent/agent_lives.h"
#include "agent/flow_minutes.h"
#include "agent/traffic_minutes.h"
#include "diagnose/graph/module.h"
#include "run/run.h"

struct agent_minutes {
	struct run_sink sink;
	struct run *run;
	struct agent_lives lives;
	struct flow_minutes drops, retransmits;
	struct traffic_minutes traffic;
	uint64_t every_ns;
	/* On the clock of the samples: */
	uint64_t due_ns, read_ns, begin_ns;
};

struct agent_minutes_options {
	uint64_t every_ns;
	const char *netns;
	unsigned life_rate; /* rows of connections that end, per second */
};

/* A sink of the source of the samples, and of the ends of connections. */
void agent_minutes_init(struct agent_minutes *minutes, struct run *run, struct run_source *samples,
			const struct agent_minutes_options *options);
/* Answers of the connections of a window. */
void agent_minutes_see(struct agent_minutes *minutes, const struct graph *graph);
