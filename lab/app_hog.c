// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that spin, so that other programs wait for a CPU. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "app.h"

#define HOG_MAX    64u
#define COLLECT_NS (50 * NS_PER_MS)

struct hog_config {
	struct common_config common;
	uint64_t threads;
	uint64_t nice;
};

static struct hogs {
	struct app *app;
	uint64_t nice;
	uint64_t threads;
	_Atomic uint64_t turns[HOG_MAX];
} hogs;

static void *hog_spin(void *context)
{
	_Atomic uint64_t *turns = context;
	volatile uint64_t work = 0;

	/* On Linux a nice value belongs to a thread; the one that reports keeps its own. */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), (int)hogs.nice);
	for (;;) {
		for (unsigned int i = 0; i < 100000; i++)
			work = work + i;
		atomic_fetch_add_explicit(turns, 1, memory_order_relaxed);
	}
	return NULL;
}

static void hog_collect(void *context _unused_, uint64_t expirations _unused_)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < hogs.threads; i++)
		sum += atomic_load_explicit(&hogs.turns[i], memory_order_relaxed);
	hogs.app->progress.ops = sum;
}

static int hog_start(struct app *app, void *config, struct why *why)
{
	const struct hog_config *c = config;
	int r;

	hogs.app = app;
	hogs.nice = c->nice;
	hogs.threads = c->threads;
	r = loop_add_timer(app->loop, COLLECT_NS, COLLECT_NS, hog_collect, NULL, NULL);
	if (r < 0)
		return why_set(why, r, "timer: %s", strerror(-r));
	app_ready(app);
	for (uint64_t i = 0; i < c->threads; i++) {
		pthread_t thread;

		r = pthread_create(&thread, NULL, hog_spin, &hogs.turns[i]);
		if (r)
			return why_set(why, -r, "thread: %s", strerror(r));
		(void)pthread_detach(thread);
	}
	return 0;
}

static const struct app_option hog_options[] = {
	{"threads", OPTION_COUNT, MEMBER(struct hog_config, threads), "1", "number of spinning threads", .min = 1,
	 .max = HOG_MAX},
	{"nice", OPTION_COUNT, MEMBER(struct hog_config, nice), "0", "nice value", .max = 19},
};

static const struct app_role hog_role = {"hog",
					 "spins to compete for CPUs; an operation is one iteration",
					 sizeof(struct hog_config),
					 hog_options,
					 ARRAY_SIZE(hog_options),
					 hog_start};

APP_ROLE(hog_role);
