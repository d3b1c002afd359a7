/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread pool: main accepts and queues connections, a worker serves one until it is closed. */
#include <pthread.h>
#include <sys/socket.h>

#include "small_work.h"

#define POOL      16
#define QUEUE_MAX 1024

static int queue[QUEUE_MAX];
static unsigned queue_head, queue_tail;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

static void queue_push(int fd)
{
	pthread_mutex_lock(&queue_lock);
	while (queue_tail - queue_head == QUEUE_MAX)
		pthread_cond_wait(&queue_changed, &queue_lock);
	queue[queue_tail++ % QUEUE_MAX] = fd;
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

static int queue_pop(void)
{
	int fd;

	pthread_mutex_lock(&queue_lock);
	while (queue_tail == queue_head)
		pthread_cond_wait(&queue_changed, &queue_lock);
	fd = queue[queue_head++ % QUEUE_MAX];
	pthread_cond_broadcast(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
	return fd;
}

static void *worker(void *unused)
{
	(void)unused;
	for (;;)
		work_connection(queue_pop());
	return NULL;
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);

	for (int i = 0; i < POOL; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, NULL))
			return 1;
	}
	for (;;) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			queue_push(fd);
	}
}
