/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time accounting of each CPU (/proc/stat): type "cpu". */
#pragma once

#include "snapshot/core/snapshot.h"

struct cpu_record {
	uint32_t cpu;
	uint64_t user_ns, nice_ns, system_ns, idle_ns, iowait_ns, irq_ns, softirq_ns, steal_ns;
};

extern const struct record_type cpu_type;

void cpu_parse(struct snapshot *snapshot, const char *text);
