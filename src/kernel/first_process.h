/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Some kernels run no BPF program while the first process of the host (pid 1) is on the CPU. Interrupts in that time (a
 * packet arrives, a timer fires) are invisible to BPF, and no counter shows the loss.
 *
 * This detects such kernels from outside: a program on sched_switch records that it ran in pid 1, and /proc says how
 * often pid 1 was scheduled out. The program costs time at every context switch, so long runs detach it most of the
 * time, and remove it as soon as the result is known.
 */
#pragma once

#include "base/why.h"

enum first_process_state {
	FIRST_PROCESS_UNKNOWN, /* pid 1 has not run yet */
	FIRST_PROCESS_SEEN,
	FIRST_PROCESS_HIDDEN,
};

struct first_process;

/* Starts watching. -ENOTSUP when the result cannot be known: another pid namespace, or no schedstat in /proc. */
int first_process_open(struct first_process **ret_first, struct why *why) _must_check_;
void first_process_close(struct first_process *first);
static inline void first_process_closep(struct first_process **first)
{
	first_process_close(*first);
}

/* The current state. */
enum first_process_state first_process_look(struct first_process *first);
/* Watches again, if there is no result yet. */
int first_process_watch(struct first_process *first) _must_check_;
/* CPU time of pid 1 since first_process_begin, without threads that exited since. */
void first_process_begin(struct first_process *first);
uint64_t first_process_ran_ns(const struct first_process *first);
