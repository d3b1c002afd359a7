/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * There are kernels that run no BPF program while the first process of the host (pid 1) is the current one. What an
 * interrupt does meanwhile (a packet arrives, a timer lets one go) is then told to no program, and no counter shows it.
 *
 * Whether this is such a kernel is seen from outside: a program at every switch of tasks notes when it was run on
 * behalf of pid 1, and /proc says how often pid 1 gave up a processor. It costs every switch a little, so whoever runs
 * for long lets it rest most of the time, and it is gone as soon as the answer is known.
 */
#pragma once

#include "base/why.h"

enum first_process_state {
	FIRST_PROCESS_UNKNOWN, /* it has not run yet */
	FIRST_PROCESS_SEEN,
	FIRST_PROCESS_HIDDEN,
};

struct first_process;

/* Begins to watch. -ENOTSUP where nothing can be known: this namespace shows another pid 1, or /proc does not tell. */
int first_process_open(struct first_process **ret_first, struct why *why) _must_check_;
void first_process_close(struct first_process *first);
static inline void first_process_closep(struct first_process **first)
{
	first_process_close(*first);
}

/* What is known by now. */
enum first_process_state first_process_look(struct first_process *first);
/* Ends the watching until first_process_watch, unless pid 1 has run already, but too little to be sure. */
void first_process_rest(struct first_process *first);
/* Watches again, if nothing is known yet. */
int first_process_watch(struct first_process *first) _must_check_;
/* How long it has run since first_process_begin, its threads that have ended meanwhile left out. */
void first_process_begin(struct first_process *first);
uint64_t first_process_ran_ns(const struct first_process *first);
