/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the connections over one path, and to one peer, have in common. */
#pragma once

#include "record/field.h"

struct path_measures {
	uint64_t path_conns, path_stuck, path_moving, path_connecting, path_lossy, path_clean, path_slow_rtt,
		path_delayed, path_filling, path_large, path_small;
	uint64_t path_min_rtt_ns, path_rtt_excess_ns;
	double path_send_use, path_receive_use;
	uint64_t others_conns, others_stuck, others_moving, others_connecting;
	uint64_t peer_conns, peer_stuck, peer_moving, peer_connecting, peer_established;
	double peer_repeating_share;
	uint64_t app_tried, app_tried_again;
	bool app_walks;
	uint8_t syn_unanswered;
};

extern const struct record_type path_measures_type;
