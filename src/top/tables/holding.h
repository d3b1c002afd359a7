/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that holds a socket, as a part of its row. */
#pragma once

#include "snapshot/core/snapshot.h"

struct holding_record {
	uint32_t pid;
	char comm[16];
	const char *cgroup;
	const char *container;
	const char *unit;
};

extern const struct record_type holding_type;

#define HOLDING_CACHE 256

struct holding {
	const struct snapshot *snapshot;
	const struct owner_record *owners;
	size_t owner_count;
	const struct process_record *processes[HOLDING_CACHE]; /* found lately, by the end of their number */
	struct holding_record record;
};

void holding_begin(struct holding *holding, const struct snapshot *snapshot);
/* By the socket's owner; valid until the next call; NULL: not known. */
const struct holding_record *holding_find(struct holding *holding, uint32_t owner);
