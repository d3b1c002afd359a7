/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A qdisc or class that delays packets to keep a configured rate, whoever sends them: also forwarded traffic. */
#pragma once

#include "record/field.h"

struct shaper_measures {
	char dev[16];
	char shaper_kind[16];
	char shaper_handle[12];
	uint64_t shaper_rate, shaper_sent_rate;
	double shaper_use;
	uint64_t shaper_overlimits, shaper_drops;
	uint64_t shaper_backlog_min, shaper_backlog_peak;
	double shaper_backlog_share;
	uint64_t shaper_delay_ns;
};

extern const struct record_type shaper_measures_type;
