/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sched.h>

#include "snapshot/worker.h"

unsigned worker_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

static void *begin(void *data)
{
	struct worker *worker = data;

	worker->run(worker->context);
	return NULL;
}

void worker_start(struct worker *worker, void (*run)(void *context), void *context)
{
	worker->run = run;
	worker->context = context;
	worker->running = pthread_create(&worker->thread, NULL, begin, worker) == 0;
	if (!worker->running)
		run(context);
}

void worker_join(struct worker *worker)
{
	if (worker->running)
		(void)pthread_join(worker->thread, NULL);
	worker->running = false;
}
