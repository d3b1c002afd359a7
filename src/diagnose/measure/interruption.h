/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interruptions of a connection in time, and what was interrupted at the same moments. */
#pragma once

#include "record/field.h"

struct interruption_measures {
	uint64_t gap_count, gap_ns, gap_timeouts, gap_open_ns;
	uint64_t gap_conns, gap_others;
	uint64_t gap_path_quiet_ns, gap_host_quiet_ns, path_gap_ns;
	uint64_t gap_link_changes;
	uint64_t gap_retrans, gap_free_retrans;
	double gap_free_share;
	uint64_t window_gap_count, window_gap_ns;
	double window_gap_share;
	uint64_t hush_count, hush_ns, hush_conns, hush_quiet_ns;
};

extern const struct record_type interruption_measures_type;
