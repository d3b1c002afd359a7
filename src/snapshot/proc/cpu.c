/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/core/scan.h"
#include "snapshot/proc/cpu.h"

#define C struct cpu_record
static const struct field cpu_fields[] = {
	FIELD(C, cpu, ID, "CPU"),
	FIELD(C, user_ns, DURATION, "time in user mode", .drift = DRIFTS),
	FIELD(C, nice_ns, DURATION, "time in user mode at low priority (nice)", .hidden = true, .drift = DRIFTS),
	FIELD(C, system_ns, DURATION, "time in kernel mode", .drift = DRIFTS),
	FIELD(C, idle_ns, DURATION, "idle time", .drift = DRIFTS),
	FIELD(C, iowait_ns, DURATION, "idle time with disk I/O outstanding", .hidden = true, .drift = DRIFTS),
	FIELD(C, irq_ns, DURATION, "time in hard interrupts", .hidden = true, .drift = DRIFTS),
	FIELD(C, softirq_ns, DURATION, "time in softirqs, mostly network receive", .drift = DRIFTS),
	FIELD(C, steal_ns, DURATION, "time stolen by the hypervisor", .drift = DRIFTS),
};
#undef C
RECORD_TYPE(cpu_type, "cpu", struct cpu_record, cpu_fields, "time accounting of a CPU");

static uint64_t from_ticks(uint64_t ticks)
{
	return ticks > UINT64_MAX / NSEC_PER_SEC ? UINT64_MAX : ticks * NSEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
}

void cpu_parse(struct snapshot *snapshot, const char *text)
{
	do {
		const char *line = text;
		uint64_t number, ticks;
		struct cpu_record *cpu;
		uint64_t *times[8];

		/* The first line, "cpu" without a number, is the sum. */
		if (strncmp(line, "cpu", 3) != 0)
			return;
		line += 3;
		if (*line == ' ' || !scan_u64(&line, &number))
			continue;
		cpu = snapshot_table_add(snapshot_table(snapshot, &cpu_type));
		if (!cpu)
			return;
		cpu->cpu = (uint32_t)number;
		memcpy(times,
		       (uint64_t *[]){&cpu->user_ns, &cpu->nice_ns, &cpu->system_ns, &cpu->idle_ns, &cpu->iowait_ns,
				      &cpu->irq_ns, &cpu->softirq_ns, &cpu->steal_ns},
		       sizeof(times));
		for (size_t i = 0; i < ARRAY_SIZE(times) && scan_u64(&line, &ticks); i++)
			*times[i] = from_ticks(ticks);
	} while (scan_next_line(&text));
}

static int collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	int r = snapshot_read(snapshot, "/proc/stat");

	(void)request;
	if (r < 0)
		return why_set(why, r, "cannot read /proc/stat: %s", strerror(-r));
	cpu_parse(snapshot, buf_text(&snapshot->text));
	return 0;
}

static const struct record_type *const types[] = {&cpu_type, NULL};

static const struct snapshot_source cpu_source = {
	.name = "cpu",
	.lost = "CPU time",
	.types = types,
	.stage = STAGE_COUNTERS,
	.collect = collect,
};
SNAPSHOT_SOURCE(cpu_source);
