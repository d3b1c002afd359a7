/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a service has answered so far, over all of its connections. Many programs ask each question on a connection of
 * its own, which has no past that its present could be compared with; the service has.
 */
#pragma once

#include "base/clock.h"
#include "base/net_types.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/exchange.h"

/* An answer is late from the first on, and slow from the second on. A longer wait than the third may be a long poll. */
#define SERVICE_LATE_NS (200 * NSEC_PER_MSEC)
#define SERVICE_SLOW_NS (500 * NSEC_PER_MSEC)
#define SERVICE_LONG_NS (4500 * NSEC_PER_MSEC)
/* Of a server that speaks first: without a word for longer, nobody uses it. */
#define SERVICE_MUTE_LONG_NS (5 * NSEC_PER_SEC)

/* A port of another host; or one of this host (serves), at any of its addresses. */
struct service {
	struct addr addr;
	uint16_t port;
	bool serves;
};

struct services {
	struct map tracks; /* struct service -> struct service_track */
	unsigned round;    /* samples so far: unanswered requests are noted once in each */
};

/* One connection in one sample. */
struct service_sample {
	uint64_t answers;   /* replies since the sample before, as segments */
	uint64_t exchanges; /* the same as changes of direction */
	uint64_t wait_ns;   /* age of the oldest request without a reply; 0: none */
	uint64_t ended_ns;  /* how long one waited that no longer does; 0: none */
	uint64_t least_ns;  /* a wait that is long for its RTT */
	uint64_t quiet_ns;  /* age of the last reply; UINT64_MAX: none yet */
	uint64_t answer_ns; /* mean time of the replies since the sample before; 0: unknown */
	uint64_t number;    /* of the sample */
	bool began;         /* data was exchanged for the first time since the sample before, or it ended */
	uint64_t mute_ns;   /* then: from the handshake to the first data received; 0: shorter than a sample */
};

void services_note(struct services *services, struct window *window, const struct service *service,
		   const struct service_sample *sample);
/* Requests that ended without an answer since the look began (unanswered_tally.h); a service may have several rows. */
void services_begin_unanswered(struct services *services);
void services_note_unanswered(struct services *services, const struct service *service, uint64_t requests,
			      uint64_t mean_ns);
void services_measure(const struct services *services, const struct service *service, struct exchange_measures *m);
void services_end_window(struct services *services, const struct window *window);
void services_done(struct services *services);
