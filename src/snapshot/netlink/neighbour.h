/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Neighbour entries (ARP, NDP): type "neighbour". */
#pragma once

#include "snapshot/core/nl.h"

struct neighbour_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	struct addr raddr;
	char lladdr[24];
	uint16_t neigh_state;
	uint32_t probes;
	uint64_t confirmed_ns;
	uint64_t used_ns;
	uint64_t updated_ns;
};

extern const struct record_type neighbour_type;
extern struct enum_names neighbour_state_names;

nl_parse_fn neighbour_parse_message;
