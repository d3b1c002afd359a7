/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * More threads for work that waits on memory: reading a hundred thousand sockets or descriptors out of the kernel is
 * bound by cache misses, and two processors miss twice as many at a time (measured: docs/snapshot.md).
 *
 * Work that is begun beside the caller runs in a thread of its own as soon as a processor is there for it: one is the
 * caller's, and of work that shares a processor nothing is ready sooner. Work that still waits when its result is
 * needed is done by the one who needs it.
 */
#pragma once

#include <pthread.h>

#include "base/macros.h"

/* Below this many objects a thread costs more than it brings. */
#define WORKER_WORTH 20000

enum worker_state {
	WORKER_NONE, /* not begun, or ended */
	WORKER_WAITING,
	WORKER_RUNNING,
	WORKER_TAKEN, /* by the one who waited for it */
};

struct worker {
	void (*run)(void *context);
	void *context;
	enum worker_state state;
	pthread_t thread;
};

/* Processors that this process may use. */
unsigned worker_cpus(void);
/*
 * cost_ns: how long it will take, about. A thread is in the network namespace of the one who starts it. Where no thread
 * can be had, runs at once.
 */
void worker_start(struct worker *worker, void (*run)(void *context), void *context, uint64_t cost_ns);
/* Returns when the work is done; nothing happens to one that was never started. */
void worker_join(struct worker *worker);
/* How long work that is started now would have to wait, by what was told about the rest. */
uint64_t worker_delay_ns(void);
