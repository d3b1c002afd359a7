/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two stages: one thread accepts and reads all connections, and hands each complete request to a pool of workers, who
 * reply and hand the connection back through a pipe.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow/runtime/nestflow.h"
#include "small_work.h"

#define POOL            16
#define CONNECTIONS_MAX 1024

struct connection {
	int fd;
	bool used;
	bool busy; /* a worker has it */
	bool done;
	size_t fill;
	struct work_request request;
	struct connection *next; /* in the queue */
	char text[WORK_REQUEST_MAX + 1];
};

static struct connection all[CONNECTIONS_MAX];
static struct connection *connections[CONNECTIONS_MAX]; /* the open ones */
static struct pollfd waits[CONNECTIONS_MAX + 2];
static struct connection *waiting[CONNECTIONS_MAX + 2];
static int count, back[2];
static struct connection *queue_first, **queue_last = &queue_first;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_changed = PTHREAD_COND_INITIALIZER;

/* --- the workers --- */

static void queue_push(struct connection *connection)
{
	NESTFLOW(push, connection);
	pthread_mutex_lock(&queue_lock);
	connection->next = NULL;
	*queue_last = connection;
	queue_last = &connection->next;
	pthread_cond_signal(&queue_changed);
	pthread_mutex_unlock(&queue_lock);
}

static struct connection *queue_pop(void)
{
	struct connection *connection;

	pthread_mutex_lock(&queue_lock);
	while (!queue_first)
		pthread_cond_wait(&queue_changed, &queue_lock);
	connection = queue_first;
	queue_first = connection->next;
	if (!queue_first)
		queue_last = &queue_first;
	pthread_mutex_unlock(&queue_lock);
	NESTFLOW(pop, connection);
	return connection;
}

static void reply(struct connection *connection)
{
	struct work_answer answer;

	work_serve(&connection->request, &answer);
	connection->done = work_write(connection->fd, &answer) < 0 || answer.last;
}

static void *worker(void *unused)
{
	(void)unused;
	for (;;) {
		struct connection *connection = queue_pop();

		reply(connection);
		if (write(back[1], &connection, sizeof(connection)) != sizeof(connection))
			return NULL;
	}
}

/* --- the reader --- */

static void add_connection(int fd)
{
	struct connection *connection = all;

	if (count == CONNECTIONS_MAX) {
		close(fd);
		return;
	}
	while (connection->used)
		connection++;
	connection->used = true;
	connection->busy = connection->done = false;
	connection->fill = 0;
	connection->fd = fd;
	connections[count++] = connection;
}

static void drop_connection(struct connection *connection)
{
	for (int i = 0; i < count; i++)
		if (connections[i] == connection) {
			connections[i] = connections[--count];
			break;
		}
	close(connection->fd);
	connection->used = false;
}

/* Whether a worker has the connection now. */
static bool hand_over(struct connection *connection)
{
	size_t whole = work_request_size(connection->text, connection->fill);

	if (!whole)
		return false;
	work_parse(connection->text, &connection->request);
	memmove(connection->text, connection->text + whole, connection->fill - whole + 1);
	connection->fill -= whole;
	connection->busy = true;
	queue_push(connection);
	return true;
}

static void read_some(struct connection *connection)
{
	ssize_t n = recv(connection->fd, connection->text + connection->fill, WORK_REQUEST_MAX - connection->fill, 0);

	if (n <= 0) {
		drop_connection(connection);
		return;
	}
	connection->fill += (size_t)n;
	connection->text[connection->fill] = '\0';
	hand_over(connection);
}

static void take_back(void)
{
	struct connection *connection;

	if (read(back[0], &connection, sizeof(connection)) != sizeof(connection))
		return;
	connection->busy = false;
	if (connection->done)
		drop_connection(connection);
	else
		hand_over(connection); /* a pipelined one */
}

static int wait_all(int listener)
{
	int n = 2;

	waits[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	waits[1] = (struct pollfd){.fd = back[0], .events = POLLIN};
	for (int i = 0; i < count; i++)
		if (!connections[i]->busy) {
			waits[n] = (struct pollfd){.fd = connections[i]->fd, .events = POLLIN};
			waiting[n++] = connections[i];
		}
	return poll(waits, (nfds_t)n, -1) < 0 ? 0 : n;
}

static void turn(int listener)
{
	int n = wait_all(listener);

	for (int i = 2; i < n; i++)
		if (waits[i].revents)
			read_some(waiting[i]);
	if (n && waits[1].revents)
		take_back();
	if (n && waits[0].revents) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			add_connection(fd);
	}
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);

	if (pipe(back) < 0)
		return 1;
	for (int i = 0; i < POOL; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, worker, NULL))
			return 1;
	}
	for (;;)
		turn(listener);
}
