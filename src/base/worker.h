/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads for memory-bound work: reading 100,000 sockets or descriptors from the kernel is bound by cache misses, which
 * two CPUs handle in parallel (measured: docs/snapshot.md).
 *
 * Started work runs in its own thread as soon as a CPU is free for it: one CPU is the caller's, and sharing a CPU makes
 * nothing faster. Work that has not started when its result is needed runs in the thread that needs it.
 */
#pragma once

#include <pthread.h>

#include "base/macros.h"

/* Below this many objects a thread costs more than it saves. */
#define WORKER_WORTH 20000

enum worker_state {
	WORKER_NONE, /* not started, or finished */
	WORKER_WAITING,
	WORKER_RUNNING,
	WORKER_TAKEN, /* run by the thread that joined it */
};

struct worker {
	void (*run)(void *context);
	void *context;
	enum worker_state state;
	pthread_t thread;
};

/* CPUs that this process may use. */
unsigned worker_cpus(void);
/*
 * cost_ns: estimated duration. The thread inherits the network namespace of its creator. Runs at once when no thread
 * can be created.
 */
void worker_start(struct worker *worker, void (*run)(void *context), void *context, uint64_t cost_ns);
/* Returns when the work is done; does nothing for a worker that was never started. */
void worker_join(struct worker *worker);
/* Estimated delay before work started now would run. */
uint64_t worker_delay_ns(void);
