/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of connects to a service that fail without an answer. */
#pragma once

#include "record/field.h"

struct attempted_measures {
	uint64_t unsent_connects, portless_connects;
	char unsent_comm[16];
	uint32_t unsent_pid;
	uint16_t unsent_error;
	uint64_t given_up_connects, given_up_wait_ns, answered_connects;
};

extern const struct record_type attempted_measures_type;
