/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections in the SYN queue of a listener that wait for the last step of the handshake. */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct half_open_measures {
	uint64_t half_open;
	struct addr half_open_raddr;
	uint64_t half_open_host, half_open_others;
	double half_open_share;
};

extern const struct record_type half_open_measures_type;
