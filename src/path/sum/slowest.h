/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The slowest journeys of a run, slowest first; ties in order of arrival. */
#pragma once

#include "base/vec.h"
#include "path/journey/journey.h"

#define SLOWEST_MAX 1000

struct slowest {
	size_t limit;
	VEC(struct journey) journeys;
};

static inline void slowest_done(struct slowest *slowest)
{
	vec_done(&slowest->journeys);
}

void slowest_add(struct slowest *slowest, const struct journey *journey);
