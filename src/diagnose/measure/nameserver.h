/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a name server. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct resolver_measures {
	struct addr raddr;
	uint64_t dns_queries, dns_answers, dns_failures, dns_unreachable;
	double dns_slow_share;
	uint64_t dns_slow_recent;
	uint64_t dns_overdue_recent, dns_answers_recent;
	double dns_overdue_share;
	uint64_t dns_latency_ns;
	double dns_rtts;
	uint64_t dns_pending;
	uint64_t dns_wait_ns;
	uint64_t dns_socket_wait_ns;
	uint64_t dns_upstream_late;
};

extern const struct record_type resolver_measures_type;
