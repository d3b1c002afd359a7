/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of name servers, and of services that refuse or reset. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

/* Part of such a module's measures after its own. */
#define REMOTE_PART_HOST 1

struct resolver_measures {
	struct addr raddr;
	uint64_t dns_queries, dns_answers, dns_failures, dns_unreachable;
	double dns_slow_share;
	uint64_t dns_slow_recent;
	uint64_t dns_latency_ns;
	uint64_t dns_pending;
	uint64_t dns_wait_ns;
	uint64_t dns_upstream_late;
};

struct peer_measures {
	struct addr raddr;
	uint16_t rport;
	uint64_t peer_refused, peer_resets, refused_here;
};

extern const struct record_type resolver_measures_type, peer_measures_type;
