/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the threads of programs that own sockets were blocked, and in what: type "blocking", one record per thread,
 * kind of wait and service. All times are totals since the first sample; a wait that goes on is included.
 *
 * A BPF program at every context switch measures them (blocking.bpf.c). Where it cannot be loaded, they are estimated
 * from the system call in which each sample finds a thread.
 */
#pragma once

#include "probe/blocking.bpf.h"
#include "snapshot/core/snapshot.h"

struct blocking_record {
	uint32_t pid;
	uint32_t tid;
	uint8_t what; /* enum blocking_what */
	uint8_t proto;
	uint16_t lport; /* of a server */
	struct addr raddr;
	uint16_t rport;
	uint64_t wait_ns;
	uint64_t count;
	uint64_t p50_ns; /* of the last few */
	uint64_t max_ns;
	bool estimate; /* from samples, or not measured all the time */
};

extern const struct record_type blocking_type;
