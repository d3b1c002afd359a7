/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loss in spells: what a connection moves while it loses segments, and while it does not. */
#pragma once

#include "record/field.h"

struct spell_measures {
	uint64_t spell_count;
	double spell_share;
	uint64_t spell_rate, calm_rate;
	double spell_slowdown;
};

extern const struct record_type spell_measures_type;
