/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all programs of the host share: its CPUs and the memory of its sockets. */
#pragma once

#include "record/field.h"

struct cpu_measures {
	uint64_t cpus;
	double cpu_busy_share;
	double cpu_softirq_max_share;
	double cpu_steal_share;
	double cpu_pressure_share;
};

struct memory_measures {
	double memory_pressure_share;
	uint64_t memory_tcp_bytes;
	uint64_t memory_tcp_max_bytes;
	double memory_tcp_share;
};

extern const struct record_type cpu_measures_type, memory_measures_type;
