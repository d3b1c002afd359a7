/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A second thread for work that waits on memory: reading a hundred thousand sockets or descriptors out of the kernel is
 * bound by cache misses, and two processors miss twice as many at a time (measured: docs/snapshot.md).
 */
#pragma once

#include <pthread.h>

#include "base/macros.h"

/* Below this many objects a thread costs more than it brings. */
#define WORKER_WORTH 20000

struct worker {
	pthread_t thread;
	bool running;
	void (*run)(void *context);
	void *context;
};

/* Processors that this process may use. */
unsigned worker_cpus(void);
/* Where no thread can be had, runs at once: the caller need not care. */
void worker_start(struct worker *worker, void (*run)(void *context), void *context);
void worker_join(struct worker *worker);
