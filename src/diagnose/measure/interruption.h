/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interruptions of a connection in time, and what was interrupted at the same moments. */
#pragma once

#include "record/field.h"

struct interruption_measures {
	uint64_t gap_count, gap_ns, gap_timeouts;
	uint64_t gap_conns, gap_others;
	uint8_t gap_path_moved, gap_others_moved; /* all bits set when unknown */
	uint64_t gap_link_changes;
	uint64_t gap_retrans, gap_free_retrans;
	double gap_free_share;
	uint64_t window_gap_count, window_gap_ns;
	double window_gap_share;
	uint64_t hush_count, hush_ns, hush_conns;
	uint8_t hush_moved;
};

extern const struct record_type interruption_measures_type;
