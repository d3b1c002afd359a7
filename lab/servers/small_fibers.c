/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * User threads: every connection has a stack of its own, and all of them run in one thread, which changes stacks when
 * one would wait. Steps and faults are its own; a fault is switched on by the request that suffers from it:
 *   ?up=MS     the upstream server takes so long
 *   ?slow=MS   computation in one step: nobody else runs meanwhile
 *   ?turns=N   a loop that lets others run N times (usually twice)
 *   ?rate=MS   a step that waits for its rate
 *   ?mail=MS   the message from another user thread comes so late (at once, if absent)
 *   ?owner=MS  another user thread owns the table for so long (nobody, if absent)
 *   ?levels=N  recursion N levels deep (usually 4); each one looks at all levels above it
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "small_work.h"

#define FIBERS_MAX   256
#define STACK_BYTES  (512 * 1024)
#define EVENTS_MAX   64
#define PAGE_BYTES   600
#define LARGE_BYTES  (6 * 1024 * 1024)
#define STEP_NS      20000
#define USUAL_TURNS  2
#define TURNS_MAX    1000000
#define USUAL_LEVELS 4
#define LEVELS_MAX   2200
#define LOOKS        60

#define QUIET        __attribute__((no_instrument_function))

struct fiber {
	ucontext_t context;
	void *stack;
	struct fiber *next;
	int64_t wake_ns; /* 0: does not sleep */
	void (*run)(struct fiber *fiber);
	int fd, number;        /* what run works with */
	struct fiber *partner; /* who is sent what it waits for */
	bool done, notified;
	char text[WORK_REQUEST_MAX + 1];
};

struct level {
	const struct level *above;
	unsigned value;
};

static ucontext_t scheduler;
static struct fiber fibers[FIBERS_MAX];
static struct fiber *current, *first, *last, *sleeping, *unused;
static int events, upstream_port, fiber_count;
static char large[LARGE_BYTES];

/* --- user threads --- */

static QUIET int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void fiber_ready(struct fiber *fiber)
{
	fiber->next = NULL;
	if (first)
		last->next = fiber;
	else
		first = fiber;
	last = fiber;
}

static void fiber_switch(void)
{
	swapcontext(&current->context, &scheduler);
}

static void fiber_yield(void)
{
	fiber_ready(current);
	fiber_switch();
}

static void fiber_sleep(int ms)
{
	current->wake_ns = now_ns(CLOCK_MONOTONIC) + (int64_t)ms * 1000000;
	current->next = sleeping;
	sleeping = current;
	fiber_switch();
}

static void fiber_wait(int fd, uint32_t what)
{
	struct epoll_event event = {.events = what | EPOLLONESHOT, .data.ptr = current};

	if (epoll_ctl(events, EPOLL_CTL_MOD, fd, &event) < 0)
		epoll_ctl(events, EPOLL_CTL_ADD, fd, &event);
	fiber_switch();
}

static QUIET void fiber_main(void)
{
	current->run(current);
	current->done = true;
	swapcontext(&current->context, &scheduler);
}

static struct fiber *take_unused(void)
{
	struct fiber *fiber = unused;

	if (fiber) {
		unused = fiber->next;
		return fiber;
	}
	if (fiber_count == FIBERS_MAX)
		return NULL;
	fiber = &fibers[fiber_count++];
	fiber->stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return fiber;
}

static bool fiber_start(void (*run)(struct fiber *), int fd, int number)
{
	struct fiber *fiber = take_unused();

	if (!fiber || fiber->stack == MAP_FAILED)
		return false;
	getcontext(&fiber->context);
	fiber->context.uc_stack = (stack_t){.ss_sp = fiber->stack, .ss_size = STACK_BYTES};
	makecontext(&fiber->context, fiber_main, 0);
	fiber->run = run;
	fiber->fd = fd;
	fiber->number = number;
	fiber->done = fiber->notified = false;
	fiber->partner = current;
	fiber_ready(fiber);
	return true;
}

static void fiber_resume(struct fiber *fiber)
{
	current = fiber;
	swapcontext(&scheduler, &fiber->context);
	current = NULL;
	if (fiber->done) {
		fiber->next = unused;
		unused = fiber;
	}
}

/* Readies who has slept enough; how long the next one still sleeps, -1: nobody does. */
static int wake_sleepers(void)
{
	int64_t now = now_ns(CLOCK_MONOTONIC), soonest = INT64_MAX;

	for (struct fiber **at = &sleeping; *at;) {
		struct fiber *fiber = *at;

		if (fiber->wake_ns <= now) {
			*at = fiber->next;
			fiber_ready(fiber);
		} else {
			soonest = fiber->wake_ns < soonest ? fiber->wake_ns : soonest;
			at = &fiber->next;
		}
	}
	return soonest == INT64_MAX ? -1 : (int)((soonest - now) / 1000000) + 1;
}

/* --- the steps of a request --- */

static QUIET int number_at(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9' && number < 100000000; text++)
		number = number * 10 + *text - '0';
	return number;
}

static QUIET int number_after(const char *text, const char *name, int fallback)
{
	const char *at = memmem(text, strcspn(text, "\r\n"), name, strlen(name));

	return at ? number_at(at + strlen(name)) : fallback;
}

static void compute_page(int ms)
{
	int64_t end = now_ns(CLOCK_THREAD_CPUTIME_ID) + STEP_NS + (int64_t)ms * 1000000;
	volatile unsigned sum = 1;

	do
		for (int i = 0; i < 1000; i++)
			sum = sum * 1103515245U + 12345U;
	while (now_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

static void visit_rows(int turns)
{
	for (int i = 0; i < turns && i < TURNS_MAX; i++)
		fiber_yield();
}

static void keep_rate(int ms)
{
	if (ms > 0)
		fiber_sleep(ms);
}

static void write_mail(struct fiber *fiber)
{
	if (fiber->number > 0)
		fiber_sleep(fiber->number);
	fiber->partner->notified = true;
	fiber_ready(fiber->partner);
}

static void await_mail(int late_ms)
{
	current->notified = false;
	if (fiber_start(write_mail, -1, late_ms))
		fiber_switch();
}

static void own_table(struct fiber *fiber)
{
	fiber_sleep(fiber->number);
	fiber->partner->notified = true;
}

/* Asks again and again whether the table is free. */
static void enter_table(int owned_ms)
{
	if (owned_ms <= 0)
		return;
	current->notified = !fiber_start(own_table, -1, owned_ms);
	while (!current->notified)
		fiber_yield();
}

static unsigned descend(const struct level *above, int left)
{
	struct level mine = {above, (unsigned)left};
	unsigned sum = 0;

	for (int i = 0; i < LOOKS; i++)
		for (const struct level *at = &mine; at; at = at->above)
			sum = sum * 31 + at->value;
	return left > 0 ? sum + descend(&mine, left - 1) : sum;
}

static void walk_tree(int levels)
{
	descend(NULL, levels < LEVELS_MAX ? levels : LEVELS_MAX);
}

static int connect_upstream(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)upstream_port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void read_upstream(int fd)
{
	char text[2048];

	fiber_wait(fd, EPOLLIN);
	if (recv(fd, text, sizeof(text), 0) < 0)
		perror("upstream");
}

static void ask_upstream(int ms)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "GET /?ms=%d HTTP/1.0\r\n\r\n", ms), fd = connect_upstream();

	if (fd < 0)
		return;
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) == n)
		read_upstream(fd);
	close(fd);
}

/* --- connections --- */

static bool send_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN)
			return false;
		if (n < 0) {
			fiber_wait(fd, EPOLLOUT);
			continue;
		}
		data += n;
		size -= (size_t)n;
	}
	return true;
}

/* Reads until a request is complete; its size, 0 at the end of the connection. */
static size_t receive_request(int fd, char *text, size_t *fill)
{
	size_t whole;

	while (!(whole = work_request_size(text, *fill)) && *fill < WORK_REQUEST_MAX) {
		ssize_t n;

		fiber_wait(fd, EPOLLIN);
		n = recv(fd, text + *fill, WORK_REQUEST_MAX - *fill, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && errno != EAGAIN))
			return 0;
		*fill += n < 0 ? 0 : (size_t)n;
		text[*fill] = '\0';
	}
	return whole;
}

static bool answer_request(int fd, const char *text)
{
	const char *path = strchr(text, '/');
	bool found = path && strncmp(path, "/missing", 8) != 0;
	size_t size = !found ? 0 : strncmp(path, "/large", 6) == 0 ? LARGE_BYTES : PAGE_BYTES;
	char head[128];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n",
			 found ? "200 OK" : "404 Not Found", size);

	return send_all(fd, head, (size_t)n) && send_all(fd, large, size);
}

static bool serve_request(int fd, const char *text)
{
	int upstream_ms = number_after(text, "up=", -1);

	enter_table(number_after(text, "owner=", 0));
	visit_rows(number_after(text, "turns=", USUAL_TURNS));
	keep_rate(number_after(text, "rate=", 0));
	await_mail(number_after(text, "mail=", 0));
	walk_tree(number_after(text, "levels=", USUAL_LEVELS));
	if (upstream_ms >= 0)
		ask_upstream(upstream_ms);
	compute_page(number_after(text, "slow=", 0));
	return answer_request(fd, text) && !strstr(text, "Connection: close");
}

static void serve_connection(struct fiber *fiber)
{
	char *text = fiber->text;
	size_t fill = 0, whole;
	bool more = true;

	while (more && (whole = receive_request(fiber->fd, text, &fill)) > 0) {
		char next = text[whole];

		text[whole] = '\0';
		more = serve_request(fiber->fd, text);
		text[whole] = next;
		memmove(text, text + whole, fill - whole + 1);
		fill -= whole;
	}
	close(fiber->fd);
}

static void accept_connections(struct fiber *fiber)
{
	int one = 1;

	for (;;) {
		int fd;

		fiber_wait(fiber->fd, EPOLLIN);
		fd = accept4(fiber->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			continue;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (!fiber_start(serve_connection, fd, 0))
			close(fd);
	}
}

static void turn(void)
{
	struct epoll_event found[EVENTS_MAX];
	struct fiber *ready;
	int patience = wake_sleepers(), n = epoll_wait(events, found, EVENTS_MAX, first ? 0 : patience);

	for (int i = 0; i < n; i++)
		fiber_ready(found[i].data.ptr);
	ready = first;
	first = NULL;
	while (ready) {
		struct fiber *fiber = ready;

		ready = fiber->next;
		fiber_resume(fiber);
	}
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);

	upstream_port = number_at(argv[2]);
	events = epoll_create1(EPOLL_CLOEXEC);
	memset(large, 'x', LARGE_BYTES);
	for (fiber_start(accept_connections, listener, 0);;)
		turn();
}
