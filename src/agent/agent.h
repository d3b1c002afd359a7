/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nest agent: continuous recording of this host. A run of nest serve, with or without a listener, that records all
 * network namespaces in a file with a moving window, keeps the time around findings longer, counts metrics, and reports
 * findings to the journal, a socket or a webhook.
 */
#pragma once

#include "agent/agent_metrics.h"
#include "agent/agent_minutes.h"
#include "agent/agent_socket.h"
#include "agent/agent_usual.h"
#include "agent/disk_budget.h"
#include "agent/notify.h"
#include "agent/shed.h"
#include "agent/watchdog.h"
#include "run/run_oops.h"
#include "run/run_ship.h"
#include "serve/serve.h"

struct agent_options {
	const char *config; /* read before the options are (option_file.h) */
	struct serve_options serve;
	const char *store;
	const char *socket; /* "none": no socket; NULL: that of root's agent, for root */
	uint64_t age_ns, incident_age_ns;
	uint64_t size;
	double certainty; /* of findings that are kept longer and reported */
	struct notify_options notify;
	uint64_t max_series;
	struct ship_options ship;
	uint64_t conn_ns;   /* between two rows of a connection */
	uint64_t life_rate; /* rows of connections that end, per second; 0: none */
	double max_cpu;     /* share of one CPU; 0: no limit */
	bool keep_alive;    /* segments to peers of silent connections */
	/* Called with a line for the log: what is shed to stay below max_cpu. */
	void (*say)(const char *line);
};

struct agent {
	struct run_sink sink;
	const struct agent_options *options;
	struct run *run;
	struct serve *serve;
	struct run_oops oops;
	struct run_ship ship;
	struct agent_minutes minutes;
	struct notify *notify;
	struct agent_socket *socket;
	struct agent_metrics metrics;
	struct agent_usual usual;
	struct shed shed;
	struct disk_budget disk;
	bool was_dense; /* in this period */
	char shed_why[80];
	uint64_t paced_cpu_ns, paced_samples; /* when the pace was chosen last */
	struct snapshot_left_out left_out[SHED_STEPS];
	struct watchdog *watchdog;
	uint64_t watched_ns; /* when the watchdog last saw a new sample, and how many there were */
	uint64_t watched_samples;
	const struct record_type **types; /* of the samples: those of the diagnosis and of the metrics */
	VEC(uint64_t) incidents;          /* moments of findings, on the timeline of the recording, oldest first */
	uint64_t trimmed_ns;              /* up to there only incidents are left */
	uint64_t expired_ns;              /* up to there nothing is left */
};

/* An exit code. */
int agent_run(const struct agent_options *options);
