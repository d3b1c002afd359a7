/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of the whole host: the receive path of each processor, processor times, pressure. */
#pragma once

#include "snapshot/core/snapshot.h"

/* The queue between the interrupt and the protocols, one a processor. */
struct softnet_record {
	uint32_t cpu;
	uint64_t processed;
	uint64_t dropped;
	uint64_t time_squeeze;
	uint64_t received_rps;
	uint64_t flow_limit;
	uint32_t backlog; /* packets that wait now */
};

struct cpu_record {
	uint32_t cpu;
	uint64_t user_ns, nice_ns, system_ns, idle_ns, iowait_ns, irq_ns, softirq_ns, steal_ns;
};

struct pressure_record {
	char resource[12];
	bool full; /* all tasks waited, else some did */
	double avg10, avg60, avg300;
	uint64_t total_ns;
};

extern const struct record_type softnet_type;
extern const struct record_type cpu_type;
extern const struct record_type pressure_type;

void softnet_parse(struct snapshot *snapshot, const char *text);
void cpu_parse(struct snapshot *snapshot, const char *text);
/* One line "some avg10=0.00 avg60=0.00 avg300=0.00 total=0"; -EBADMSG. */
int pressure_parse_line(const char *line, struct pressure_record *pressure) _must_check_;
void pressure_parse(struct snapshot *snapshot, const char *resource, const char *text);
