/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small server in four manners (an event loop, a pool of threads, a thread or a process for each connection), with
 * the noise that servers have: an allocator that now and then needs a block, a tree of timers that is balanced. It
 * does one thing wrong for requests that ask for it:
 *
 *	flow-odd epoll|pool|thread|fork none|extra|missing|error|slow|lock|retry|fourfold
 *
 * It prints its port, and ends when its standard input does. Also C++.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define POOL     4
#define SESSIONS 1024

struct session {
	int fd;
	size_t count;
	bool is_odd;
	char text[512];
	char answer[256];
};

static const char *fault = "none";
static unsigned spin_us = 40;
static volatile uint64_t sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct session sessions[SESSIONS];
static struct session *queue[SESSIONS];
static unsigned first, last;

static bool asked_for(const struct session *s, const char *what)
{
	return strcmp(fault, what) == 0 && (s->is_odd || strcmp(what, "fourfold") == 0);
}

/* Takes that time on a fast and on a slow machine. */
static void spin(unsigned us)
{
	struct timespec start, now;

	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (unsigned i = 0; i < 100; i++)
			sink = sink + i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000000000L + (now.tv_nsec - start.tv_nsec) < us * 1000L);
}

/* --- noise --- */

static void pool_grow(void)
{
	spin(1);
}

static void pool_take(unsigned bytes)
{
	static __thread unsigned left = 4096;

	if (left < bytes) {
		pool_grow();
		left = 4096;
	}
	left -= bytes;
}

static void timer_rotate(void)
{
	sink = sink + 1;
}

static void timer_recolour(void)
{
	sink = sink + 2;
}

static void timer_add(void)
{
	static __thread uint32_t random = 12345;

	random = random * 1664525 + 1013904223;
	if (random >> 28 < 5)
		timer_recolour();
	if (random >> 28 < 2)
		timer_rotate();
}

/* --- what is done for a request --- */

static void parse_header(struct session *s)
{
	pool_take(100 + (unsigned)s->count % 7);
}

static void parse_request(struct session *s)
{
	for (unsigned i = 0; i < 3; i++)
		parse_header(s);
	s->is_odd = strstr(s->text, "odd") != NULL;
}

static void check_token(struct session *s)
{
	sink = sink + s->count;
}

static void authorise(struct session *s)
{
	check_token(s);
}

static void audit(struct session *s)
{
	sink = sink + s->count;
}

static void take_lock(struct session *s)
{
	struct timespec pause = {.tv_sec = 0, .tv_nsec = 60000000};

	if (asked_for(s, "lock"))
		nanosleep(&pause, NULL);
}

static void find_row(struct session *s)
{
	spin(asked_for(s, "slow") ? spin_us * 500 : asked_for(s, "fourfold") ? spin_us * 4 : spin_us);
}

static bool query(struct session *s)
{
	find_row(s);
	return !asked_for(s, "error");
}

static bool lookup(struct session *s)
{
	bool found = false;

	pool_take(64);
	take_lock(s);
	for (unsigned i = 0; i < (asked_for(s, "retry") ? 4 : 1); i++)
		found = query(s);
	return found;
}

static void render(struct session *s)
{
	pool_take(200);
	snprintf(s->answer, sizeof(s->answer), "200 fine\n");
	spin(5);
}

static void send_all(struct session *s)
{
	if (send(s->fd, s->answer, strlen(s->answer), MSG_NOSIGNAL) < 0)
		sink = sink + 1;
}

static void send_error(struct session *s)
{
	snprintf(s->answer, sizeof(s->answer), "500 what\n");
	send_all(s);
}

static void send_reply(struct session *s)
{
	send_all(s);
}

static void serve_request(struct session *s)
{
	parse_request(s);
	if (!asked_for(s, "missing"))
		authorise(s);
	if (asked_for(s, "extra"))
		audit(s);
	if (lookup(s)) {
		render(s);
		send_reply(s);
	} else {
		send_error(s);
	}
}

/* 1: the request is there; 0: more is to come; -1: the client is gone. */
static int read_some(struct session *s)
{
	ssize_t n = recv(s->fd, s->text + s->count, sizeof(s->text) - 1 - s->count, 0);

	if (n <= 0)
		return -1;
	s->count += (size_t)n;
	s->text[s->count] = '\0';
	return strstr(s->text, "\n\n") ? 1 : 0;
}

static struct session *open_session(int fd)
{
	/* Nobody has this descriptor any more. */
	struct session *s = &sessions[fd % SESSIONS];

	memset(s, 0, sizeof(*s));
	s->fd = fd;
	timer_add();
	return s;
}

static void close_session(struct session *s)
{
	close(s->fd);
}

static void serve(struct session *s)
{
	int r;

	while ((r = read_some(s)) == 0)
		;
	if (r > 0)
		serve_request(s);
	close_session(s);
}

/* --- manners --- */

static void on_readable(struct session *s)
{
	int r = read_some(s);

	if (r > 0)
		serve_request(s);
	if (r)
		close_session(s);
}

static void loop_events(int listener)
{
	int all = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = NULL}};

	epoll_ctl(all, EPOLL_CTL_ADD, listener, &event);
	while (epoll_wait(all, &event, 1, -1) > 0) {
		if (event.data.ptr) {
			on_readable((struct session *)event.data.ptr);
		} else {
			event.data.ptr = open_session(accept(listener, NULL, NULL));
			epoll_ctl(all, EPOLL_CTL_ADD, ((struct session *)event.data.ptr)->fd, &event);
		}
	}
}

static struct session *take_work(void)
{
	struct session *s;

	pthread_mutex_lock(&lock);
	while (first == last)
		pthread_cond_wait(&filled, &lock);
	s = queue[first++ % SESSIONS];
	pthread_mutex_unlock(&lock);
	return s;
}

static void give_work(struct session *s)
{
	pthread_mutex_lock(&lock);
	queue[last++ % SESSIONS] = s;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void *work(void *nothing)
{
	for (;;)
		serve(take_work());
	return nothing;
}

static void *serve_thread(void *s)
{
	serve((struct session *)s);
	return NULL;
}

static void accept_all(int listener, const char *manner)
{
	pthread_t thread;

	for (unsigned i = 0; strcmp(manner, "pool") == 0 && i < POOL; i++)
		pthread_create(&thread, NULL, work, NULL);
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;) {
		struct session *s = open_session(fd);

		if (strcmp(manner, "pool") == 0) {
			give_work(s);
		} else if (strcmp(manner, "thread") == 0) {
			pthread_create(&thread, NULL, serve_thread, s);
			pthread_detach(thread);
		} else if (fork() == 0) {
			close(listener);
			serve(s);
			exit(0);
		} else {
			close_session(s);
		}
	}
}

static void *watch_input(void *nothing)
{
	char byte;

	while (read(0, &byte, 1) > 0)
		;
	exit(0);
	return nothing;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address;
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	if (argc != 3)
		return 2;
	fault = argv[2];
	signal(SIGCHLD, SIG_IGN);
	memset(&address, 0, sizeof(address));
	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 256) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &length) < 0)
		return 1;
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	pthread_create(&thread, NULL, watch_input, NULL);
	if (strcmp(argv[1], "epoll") == 0)
		loop_events(listener);
	else
		accept_all(listener, argv[1]);
	return 0;
}
