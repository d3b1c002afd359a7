/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What this host dropped while a connection was stalled. */
#pragma once

#include "record/field.h"

struct stall_measures {
	uint64_t stalled_ns;
	uint64_t stall_firewall_drops;
	uint64_t stall_unheard;
	uint64_t stall_invalid;
	uint64_t stall_rp_filter;
	uint64_t stall_undelivered;
	uint64_t fresh_firewall_drops;
};

extern const struct record_type stall_measures_type;
