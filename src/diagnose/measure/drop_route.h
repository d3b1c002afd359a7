/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Destinations whose route refuses packets: the drop reason is that of a missing route, the error of a lookup not. */
#pragma once

#include "base/addr.h"
#include "base/map.h"
#include "snapshot/core/snapshot.h"

struct drop_routes {
	struct map refusing; /* address -> windows since the last such lookup */
};

#define DROP_ROUTES_INIT                                                                                               \
	{                                                                                                              \
		.refusing = MAP_INIT(sizeof(struct addr), sizeof(unsigned), 10000),                                    \
	}

void drop_routes_sample(struct drop_routes *routes, const struct snapshot *snapshot);
/* keep: windows, the present one included. */
void drop_routes_age(struct drop_routes *routes, unsigned keep);
void drop_routes_done(struct drop_routes *routes);
bool drop_routes_refuse(const struct drop_routes *routes, const struct addr *target);
