/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A web server in stages, three thread pools with a queue before each:
 *
 *   main accepts -> front reads and parses a request -> middle checks the path -> back replies
 *
 * Standard input is the listening socket. It reports its handovers (nestflow.h), and prints a line per request:
 * client port, values, threads. The middle touches no socket; for the path /odd it takes 12 ms and makes an extra
 * call. For the path /slow the back takes 30 ms longer. Built by lab/studies/hand-over with -finstrument-functions.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow/runtime/nestflow.h"

#define POOL      2
#define QUEUE_MAX 64

struct connection {
	int fd;
	uint16_t port;
	struct connection *next; /* free list */
};

struct job {
	struct connection *connection;
	pid_t front, middle; /* threads that processed it */
	char path[128];
	struct job *next; /* free list */
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void *items[QUEUE_MAX];
	unsigned first, count;
};

static struct queue to_front = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static struct queue to_middle = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static struct queue to_back = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void queue_push(struct queue *queue, void *item)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->count == QUEUE_MAX)
		pthread_cond_wait(&queue->changed, &queue->lock);
	NESTFLOW(push, item);
	queue->items[(queue->first + queue->count++) % QUEUE_MAX] = item;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
}

static void *queue_pop(struct queue *queue)
{
	void *item;

	pthread_mutex_lock(&queue->lock);
	while (!queue->count)
		pthread_cond_wait(&queue->changed, &queue->lock);
	item = queue->items[queue->first];
	queue->first = (queue->first + 1) % QUEUE_MAX;
	queue->count--;
	NESTFLOW(pop, item);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->lock);
	return item;
}

/* --- reused objects --- */

static pthread_mutex_t room_lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection connections[QUEUE_MAX * 4], *free_connections;
static struct job jobs[QUEUE_MAX * 4], *free_jobs;

#define TAKE(list)                                                                                                     \
	({                                                                                                             \
		pthread_mutex_lock(&room_lock);                                                                        \
		typeof(list) _item = (list);                                                                           \
		if (_item)                                                                                             \
			(list) = _item->next;                                                                          \
		pthread_mutex_unlock(&room_lock);                                                                      \
		_item;                                                                                                 \
	})

#define GIVE_BACK(list, item)                                                                                          \
	do {                                                                                                           \
		pthread_mutex_lock(&room_lock);                                                                        \
		(item)->next = (list);                                                                                 \
		(list) = (item);                                                                                       \
		pthread_mutex_unlock(&room_lock);                                                                      \
	} while (0)

/* A thread must be named before its first recorded call for the trace to know the name. */

/* --- the front --- */

static size_t read_head(int fd, char *head, size_t room)
{
	size_t n = 0;

	head[0] = '\0';
	while (n + 1 < room && !strstr(head, "\r\n\r\n")) {
		ssize_t more = recv(fd, head + n, room - n - 1, 0);

		if (more <= 0)
			break;
		n += (size_t)more;
		head[n] = '\0';
	}
	return n;
}

static void parse_head(const char *head, struct job *job)
{
	const char *path = strchr(head, ' ');
	size_t n = path ? strcspn(path + 1, " \r\n") : 0;

	n = n < sizeof(job->path) ? n : sizeof(job->path) - 1;
	if (n)
		memcpy(job->path, path + 1, n);
	job->path[n] = '\0';
}

static void take_request(struct connection *connection)
{
	struct job *job = TAKE(free_jobs);
	char head[4096];

	if (!job) {
		close(connection->fd);
		GIVE_BACK(free_connections, connection);
		return;
	}
	job->connection = connection;
	job->front = gettid();
	read_head(connection->fd, head, sizeof(head));
	parse_head(head, job);
	queue_push(&to_middle, job);
}

static void front_loop(void)
{
	for (;;)
		take_request(queue_pop(&to_front));
}

static __attribute__((no_instrument_function)) void *front_thread(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "front");
	front_loop();
	return NULL;
}

/* --- the middle --- */

static void look_twice(const char *path)
{
	(void)path;
	usleep(12000);
}

static void check_path(const char *path)
{
	if (strcmp(path, "/odd") == 0)
		look_twice(path);
}

static void check_request(struct job *job)
{
	job->middle = gettid();
	check_path(job->path);
}

static void middle_loop(void)
{
	for (;;) {
		struct job *job = queue_pop(&to_middle);

		check_request(job);
		queue_push(&to_back, job);
	}
}

static __attribute__((no_instrument_function)) void *middle_thread(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "middle");
	middle_loop();
	return NULL;
}

/* --- the back --- */

static void look_up(const char *path)
{
	usleep(strcmp(path, "/slow") == 0 ? 30000 : 100);
}

static size_t make_answer(const struct job *job, char *answer, size_t room)
{
	look_up(job->path);
	return (size_t)snprintf(answer, room, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
				strlen(job->path), job->path);
}

static void answer_request(struct job *job)
{
	struct connection *connection = job->connection;
	char answer[512];
	size_t n = make_answer(job, answer, sizeof(answer));

	if (send(connection->fd, answer, n, MSG_NOSIGNAL) != (ssize_t)n)
		perror("staged: send");
	close(connection->fd);
	printf("%u %p %p %d %d %d\n", connection->port, (void *)connection, (void *)job, job->front, job->middle,
	       gettid());
	fflush(stdout);
	GIVE_BACK(free_connections, connection);
	GIVE_BACK(free_jobs, job);
}

static void back_loop(void)
{
	for (;;)
		answer_request(queue_pop(&to_back));
}

static __attribute__((no_instrument_function)) void *back_thread(void *unused)
{
	(void)unused;
	prctl(PR_SET_NAME, "back");
	back_loop();
	return NULL;
}

/* --- accepting connections --- */

static void take_connection(void)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	struct connection *connection;
	int fd = accept(STDIN_FILENO, (struct sockaddr *)&peer, &length);

	if (fd < 0)
		return;
	connection = TAKE(free_connections);
	if (!connection) {
		close(fd);
		return;
	}
	connection->fd = fd;
	connection->port = ntohs(peer.sin_port);
	queue_push(&to_front, connection);
}

int main(void)
{
	for (int i = 0; i < QUEUE_MAX * 4; i++) {
		GIVE_BACK(free_connections, &connections[i]);
		GIVE_BACK(free_jobs, &jobs[i]);
	}
	for (int i = 0; i < POOL; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, front_thread, NULL) ||
		    pthread_create(&thread, NULL, middle_thread, NULL) ||
		    pthread_create(&thread, NULL, back_thread, NULL))
			return 1;
	}
	for (;;)
		take_connection();
}
