/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resource limits and their use: type "host_limit", derived from the other tables. */
#pragma once

#include "snapshot/core/snapshot.h"

struct host_limit_record {
	uint32_t netns;
	char limit[32];
	const char *of; /* process, listener, CPU or remote endpoint; NULL: host or namespace */
	uint64_t used;
	uint64_t max;
	uint64_t used_bytes; /* the same of what is counted in bytes */
	uint64_t max_bytes;
	double share;
	const char *raise; /* setting to change */
};

extern const struct record_type host_limit_type;
