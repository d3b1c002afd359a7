/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host does with the packets of a flow that it forwards: which pass again, which it drops, where they go. */
#pragma once

#include "record/field.h"

/* Counts are of this window and the three before, as in dropped_measures. */
struct forwarding_measures {
	uint64_t pass_packets, pass_along, pass_segments;
	uint64_t pass_opened, pass_reached;
	uint64_t lost_behind, lost_before;
	double lost_behind_share, lost_before_share;
	uint64_t path_lost, path_lost_flows;
	double path_lost_share;
	bool path_lost_behind;
	uint64_t quiet_times, quiet_ns, quiet_repeats;
	double quiet_share;
	uint64_t tried_flows, silent_repeats;
	uint64_t icmp_dropped;
	char out_dev[16];
	uint8_t out_up, out_carrier; /* all bits set when unknown */
};

extern const struct record_type forwarding_measures_type;
