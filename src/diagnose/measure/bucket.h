/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A token bucket that holds less than a packet. */
#pragma once

#include "record/field.h"

struct bucket_measures {
	char bucket_dev[16];
	char bucket_kind[16];
	char bucket_handle[12];
	uint64_t bucket_bytes;
	uint64_t bucket_packet_bytes;
	uint64_t bucket_drops_ever;
	uint64_t bucket_passed_bytes;
};

extern const struct record_type bucket_measures_type;
