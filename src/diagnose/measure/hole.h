/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Segments that are missing: what came after them waits in the receive buffer. */
#pragma once

#include "record/field.h"

struct hole_measures {
	uint64_t hole_ns;
	uint64_t path_holes;
	double path_hole_share;
	uint64_t path_unordered;
	double path_unordered_share;
};

extern const struct record_type hole_measures_type;
