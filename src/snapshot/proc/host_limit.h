/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables and numbers that can run full, how full they are: type "host_limit", computed from the other tables. */
#pragma once

#include "snapshot/core/snapshot.h"

struct host_limit_record {
	uint32_t netns;
	char limit[32];
	const char *of; /* whose: a process, a listener, a remote address; NULL: the host's or the namespace's */
	uint64_t used;
	uint64_t max;
	uint64_t used_bytes; /* the same of what is counted in bytes */
	uint64_t max_bytes;
	double share;
	const char *raise; /* what to change */
};

extern const struct record_type host_limit_type;
