/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the agent counts itself, beside the metrics of tables (metric.h): findings by cause and layer, RTT and answer
 * times by service, its own cost. A service is a port: one that is listened at, or a remote one that is not ephemeral;
 * the first few have series of their own, the rest is "other".
 */
#pragma once

#include "base/map.h"
#include "diagnose/infer/diagnosis.h"

#define AGENT_METRICS_BOUNDS   10
#define AGENT_METRICS_SERVICES 12

/* A histogram of durations in seconds. */
struct duration_histogram {
	uint64_t counts[AGENT_METRICS_BOUNDS + 1];
	double sum;
};

struct service_times {
	bool client;   /* the service is remote */
	uint16_t port; /* 0: other */
	struct duration_histogram rtt, answer;
};

struct cause_count {
	char cause[32], layer[16];
	uint64_t begun;  /* findings so far */
	uint64_t active; /* in the last windows of all namespaces */
};

struct agent_metrics {
	uint64_t samples, windows;
	struct map findings; /* "netns cause module" -> window of the namespace in which it was seen last */
	struct map causes;   /* cause -> struct cause_count */
	struct map netns;    /* netns -> struct netns_window */
	struct service_times services[2 * (AGENT_METRICS_SERVICES + 1)];
	unsigned service_count;
};

void agent_metrics_init(struct agent_metrics *metrics);
void agent_metrics_done(struct agent_metrics *metrics);
/* A window of a namespace. */
void agent_metrics_add(struct agent_metrics *metrics, const struct graph *graph, const struct diagnosis_record *record);
