/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A bridge, bond or VRF that is down while its ports carry traffic. */
#pragma once

#include "record/field.h"

struct link_ports_measures {
	char ports_of[16];
	char ports_kind[16];
	uint64_t ports_up;
	uint64_t ports_packets;
	char ports_dev[16]; /* the one with the most of them */
};

extern const struct record_type link_ports_measures_type;
