/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a service that is asked by UDP: a remote one, or one of this host. */
#pragma once

#include "record/field.h"

struct datagram_measures {
	uint64_t dgram_requests, dgram_repeats, dgram_unheeded, dgram_answers, dgram_overdue;
	bool dgram_read;
	double dgram_slow_share, dgram_repeat_share;
	uint64_t dgram_latency_ns, dgram_wait_ns;
	double dgram_rtts;
	double dgram_waited_share;
	char dgram_comm[16];
	uint32_t dgram_pid;
	uint64_t dgram_asks;
};

extern const struct record_type datagram_measures_type;
