/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An interface whose carrier comes and goes while it has traffic, whoever's. */
#pragma once

#include "record/field.h"

/* Counts are of this window and the three before. */
struct link_flap_measures {
	char dev[16];
	uint64_t flap_changes;
	uint64_t flap_packets;
	uint64_t flap_ever;
	uint64_t flap_packets_ever;
};

extern const struct record_type link_flap_measures_type;
