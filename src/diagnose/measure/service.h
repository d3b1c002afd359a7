/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a service has answered so far, over all of its connections. Many programs ask each question on a connection of
 * its own, which has no past that its present could be compared with; the service has.
 */
#pragma once

#include "base/net_types.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/exchange.h"

/* A port of another host; or one of this host (serves), at any of its addresses. */
struct service {
	struct addr addr;
	uint16_t port;
	bool serves;
};

struct services {
	struct map tracks; /* struct service -> struct service_track */
};

/* Of one connection in one sample: replies since the sample before, and how long a request has waited for one. */
void services_note(struct services *services, struct window *window, const struct service *service, uint64_t answers,
		   uint64_t wait_ns);
void services_measure(const struct services *services, const struct service *service, struct exchange_measures *m);
void services_end_window(struct services *services, const struct window *window);
void services_done(struct services *services);
