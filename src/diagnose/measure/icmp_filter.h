/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A firewall rule of this host that drops its own ICMP errors, with which senders find the path MTU. */
#pragma once

#include "record/field.h"

/* All counts since boot. */
struct icmp_filter_measures {
	char icmp_rule[160];
	uint64_t icmp_rule_packets;
	uint64_t icmp_errors, icmp_too_big;
	double icmp_rule_share, icmp_too_big_share;
	uint64_t mtu_min, mtu_max;
};

extern const struct record_type icmp_filter_measures_type;
