/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel reports in a recording: follows the kernel log while the run lasts. Table "oops" has one record per report,
 * table "kernel_log" the lines from which nest oops -f reads them again.
 */
#pragma once

#include "kernel/kmsg.h"
#include "run/run.h"

/* A sink that takes no items. */
struct run_oops {
	struct run_sink sink;
	struct run *run;
	struct kmsg_tail tail;
	struct buf text; /* logged, and not searched yet */
	unsigned waited; /* ticks since its first line */
	uint64_t kept;
	uint64_t lost;       /* reports beyond the limit */
	uint64_t unsearched; /* records of the log that were lost before */
	bool follows;
};

/* Adds it to a run that records. */
void run_oops_init(struct run_oops *oops, struct run *run);
