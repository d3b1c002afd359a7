/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is measured of a thread that waits on a socket. */
#pragma once

#include "diagnose/graph/module.h"

struct thread_measures {
	uint32_t pid, tid;
	char thread_comm[16];
	uint16_t thread_call;
	double thread_blocked_share;
};

extern const struct record_type thread_measures_type;
