/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receive backlog of each CPU (/proc/net/softnet_stat): type "softnet". */
#pragma once

#include "snapshot/core/snapshot.h"

struct softnet_record {
	uint32_t cpu;
	uint64_t processed;
	uint64_t dropped;
	uint64_t time_squeeze;
	uint64_t received_rps;
	uint64_t flow_limit;
	uint32_t backlog; /* packets queued now */
};

extern const struct record_type softnet_type;

void softnet_parse(struct snapshot *snapshot, const char *text);
