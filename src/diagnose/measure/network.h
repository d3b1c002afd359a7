/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The networks that this host has addresses in, and the interface of each: where an address is if nothing is amiss. */
#pragma once

#include "base/addr.h"
#include "base/map.h"
#include "base/vec.h"
#include "snapshot/core/snapshot.h"

struct outlet {
	uint32_t ifindex;
	char dev[16];
	bool up, carrier;
};

struct network {
	struct prefix prefix;
	uint32_t ifindex;
};

struct networks {
	struct map outlets; /* ifindex -> outlet */
	VEC(struct network) all;
	bool any_down;
};

#define NETWORKS_INIT                                                                                                  \
	{                                                                                                              \
		.outlets = MAP_INIT(sizeof(uint32_t), sizeof(struct outlet), 10000)                                    \
	}

/* Of this snapshot alone. */
void networks_sample(struct networks *networks, const struct snapshot *snapshot);
void networks_done(struct networks *networks);

/* The interface whose network the address is in; of several, one with a link. NULL: none. */
const struct outlet *networks_find(const struct networks *networks, const struct addr *target);
/* NULL has none. */
bool outlet_has_link(const struct outlet *outlet);
