/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Traffic per minute by path and by service: of connections that are followed, what their counters have grown by from
 * sample to sample; of connections that ended, their whole lives; and times of answers. A service is a port that is
 * listened on here, or the port of the peer. Beyond the caps, paths and services are added up in one row each per
 * namespace.
 */
#pragma once

#include "base/map.h"
#include "diagnose/measure/conn_minute.h"
#include "event/core/head.h"
#include "event/tcp/tcp.h"
#include "fleet/minute.h"
#include "record/net_names.h"

#define TRAFFIC_PATHS_MAX    256
#define TRAFFIC_SERVICES_MAX 128

struct traffic_minutes {
	struct map paths;     /* struct path_key -> struct traffic */
	struct map services;  /* struct service_key -> struct traffic */
	struct map conns;     /* struct conn_key -> counters of the last sample */
	struct map listeners; /* struct service_key -> nothing: ports that are listened on */
	uint64_t samples;
	uint64_t lives; /* connections that ended, of all time */
};

void traffic_minutes_init(struct traffic_minutes *minutes);
void traffic_minutes_done(struct traffic_minutes *minutes);
/* Around the connections of a sample: begin, the ports that are listened on, the connections. */
void traffic_minutes_begin(struct traffic_minutes *minutes);
void traffic_minutes_listener(struct traffic_minutes *minutes, uint32_t netns, uint16_t port);
void traffic_minutes_conn(struct traffic_minutes *minutes, const struct conn_minute_record *conn);
/* A connection ended. */
void traffic_minutes_life(struct traffic_minutes *minutes, const struct event_head *head,
			  const struct tcp_close *close);
/* Answers on a connection in a window: how many, and their mean time. */
void traffic_minutes_answers(struct traffic_minutes *minutes, uint32_t netns, bool serves, uint16_t port,
			     uint64_t count, uint64_t mean_ns);

/* Calls back with each row, times not set, and begins the next minute; 0 or the first error. */
struct traffic_sinks {
	int (*path)(void *context, const struct path_minute_record *row);
	int (*service)(void *context, const struct service_minute_record *row);
	void *context;
};
int traffic_minutes_take(struct traffic_minutes *minutes, const struct traffic_sinks *sinks) _must_check_;
