/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sched.h>

#include "base/clock.h"
#include "base/worker.h"

/* One per process: all workers share the CPUs. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned running;
	unsigned begun;         /* running and waiting workers */
	uint64_t busy_until_ns; /* estimated end of all work, from cost_ns */
} workers = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

unsigned worker_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

/* Workers running at the same time: one CPU is the caller's. */
static unsigned max_running(void)
{
	return max_of(worker_cpus(), 2u) - 1;
}

static void *begin(void *data)
{
	struct worker *worker = data;

	(void)pthread_mutex_lock(&workers.lock);
	while (worker->state == WORKER_WAITING && workers.running >= max_running())
		(void)pthread_cond_wait(&workers.changed, &workers.lock);
	if (worker->state == WORKER_WAITING) {
		worker->state = WORKER_RUNNING;
		workers.running++;
	}
	if (worker->state == WORKER_RUNNING) {
		(void)pthread_mutex_unlock(&workers.lock);
		worker->run(worker->context);
		(void)pthread_mutex_lock(&workers.lock);
		workers.running--;
		(void)pthread_cond_broadcast(&workers.changed);
	}
	workers.begun--;
	(void)pthread_mutex_unlock(&workers.lock);
	return NULL;
}

static bool start_thread(struct worker *worker, uint64_t cost_ns)
{
	uint64_t now = clock_monotonic_ns();

	/* Decided here, in order: a thread may be scheduled long after it is created. */
	worker->state = workers.running < max_running() ? WORKER_RUNNING : WORKER_WAITING;
	if (pthread_create(&worker->thread, NULL, begin, worker) != 0)
		return false;
	workers.running += worker->state == WORKER_RUNNING;
	if (workers.begun++ == 0 || workers.busy_until_ns < now)
		workers.busy_until_ns = now;
	workers.busy_until_ns += cost_ns / max_running();
	return true;
}

void worker_start(struct worker *worker, void (*run)(void *context), void *context, uint64_t cost_ns)
{
	bool started;

	*worker = (struct worker){.run = run, .context = context};
	(void)pthread_mutex_lock(&workers.lock);
	started = start_thread(worker, cost_ns);
	(void)pthread_mutex_unlock(&workers.lock);
	if (started)
		return;
	worker->state = WORKER_NONE;
	run(context);
}

void worker_join(struct worker *worker)
{
	bool begun, taken;

	(void)pthread_mutex_lock(&workers.lock);
	begun = worker->state != WORKER_NONE;
	taken = worker->state == WORKER_WAITING;
	if (taken) {
		worker->state = WORKER_TAKEN;
		(void)pthread_cond_broadcast(&workers.changed);
	}
	(void)pthread_mutex_unlock(&workers.lock);
	if (!begun)
		return;
	if (taken)
		worker->run(worker->context);
	(void)pthread_join(worker->thread, NULL);
	worker->state = WORKER_NONE;
}

uint64_t worker_delay_ns(void)
{
	uint64_t now = clock_monotonic_ns(), until = 0;

	(void)pthread_mutex_lock(&workers.lock);
	if (workers.begun >= max_running())
		until = workers.busy_until_ns;
	(void)pthread_mutex_unlock(&workers.lock);
	return until > now ? until - now : 0;
}
