/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/* cpu.sample: what a CPU was running. */
#pragma once

#include "event/core/head.h"

enum cpu_sample_mode { CPU_SAMPLE_KERNEL = 1, CPU_SAMPLE_USER };

struct cpu_sample {
	__u64 cpu_ns; /* CPU time that the sample represents */
	__u8 mode;
	__u8 unused[7];
	struct event_frames frames;
};

struct cpu_sample_event {
	struct event_head head;
	struct cpu_sample data;
};

#define CPU_SAMPLE_HZ_DEFAULT 99
#define CPU_SAMPLE_HZ_MAX     9999

/* Samples per second and CPU, from the next run on. */
void cpu_sample_set_rate(unsigned hz);
