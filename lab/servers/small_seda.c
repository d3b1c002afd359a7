/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Staged events: a thread polls all connections; a complete request passes four queues, each with threads of its own:
 * check, journal, make, send. Then the connection returns to the poller through a pipe.
 *
 * Requests have steps and faults of their own, besides those of small_work.h:
 *   headers       every header is compared with those before it
 *   a body        "N:c;" stands for N times c, and is expanded
 *   ?sync=MS      for this long, records are written to the journal and each is synchronised (one, without, if absent)
 *   ?signals=MS   for this long, signals interrupt a wait that begins anew each time
 *   ?again=N      the page is rendered N times more
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "flow/runtime/nestflow.h"
#include "small_work.h"

#define CONNECTIONS_MAX 1024
#define STAGE_THREADS   16
#define HEADERS_MAX     12000
#define WINDOW_BYTES    65536
#define RUN_MAX         800000000
#define SYNCS_MAX       200000
#define QUOTA_WAIT_NS   200000
#define SIGNAL_WAIT_NS  6000000
#define SIGNAL_EVERY_NS 2000000
#define RENDER_NS       300000
#define RENDERS_MAX     4000

#define QUIET           __attribute__((no_instrument_function))

struct connection {
	int fd;
	bool used, busy, done;
	size_t fill, whole; /* bytes in text; of them the request that the stages have */
	struct work_request request;
	struct work_answer answer;
	struct connection *next; /* in a queue */
	char text[WORK_REQUEST_MAX + 1];
};

struct stage {
	void (*handle)(struct connection *connection);
	struct stage *next; /* NULL: the poller */
	struct connection *first, *last;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

struct header {
	const char *name;
	size_t size;
};

static struct connection connections[CONNECTIONS_MAX];
static struct pollfd waits[CONNECTIONS_MAX + 2];
static struct connection *waiting[CONNECTIONS_MAX + 2];
static int back[2], journal;

/* --- time --- */

static QUIET int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The number after NAME in the request's first line; -1 without. */
static QUIET int number_after(const char *text, const char *name)
{
	const char *at = memmem(text, strcspn(text, "\r\n"), name, strlen(name));
	int number = 0;

	if (!at)
		return -1;
	for (at += strlen(name); *at >= '0' && *at <= '9' && number < 100000000; at++)
		number = number * 10 + *at - '0';
	return number;
}

/* --- check: headers and body --- */

/* Looks at all headers before this one, as a list without an index does. */
static bool find_header(const struct header *headers, int count, const struct header *wanted)
{
	for (int i = 0; i < count; i++)
		if (headers[i].size == wanted->size && memcmp(headers[i].name, wanted->name, wanted->size) == 0)
			return true;
	return false;
}

static int unique_headers(const char *text, const char *end)
{
	static _Thread_local struct header headers[HEADERS_MAX];
	int count = 0;

	for (const char *line = strchr(text, '\n'); line && ++line < end && count < HEADERS_MAX;
	     line = strchr(line, '\n')) {
		headers[count] = (struct header){line, strcspn(line, ":\r\n")};
		if (headers[count].size && !find_header(headers, count, &headers[count]))
			count++;
	}
	return count;
}

static unsigned expand_run(char c, long count)
{
	static _Thread_local unsigned char window[WINDOW_BYTES];
	unsigned sum = 0;

	while (count > 0) {
		long n = count < WINDOW_BYTES ? count : WINDOW_BYTES;

		memset(window, c, (size_t)n);
		for (long i = 0; i < n; i++)
			sum = sum * 31 + window[i];
		count -= n;
	}
	return sum;
}

static unsigned inflate_body(const char *body, const char *end)
{
	unsigned sum = 0;

	while (body < end) {
		long count = 0;

		for (; body < end && *body >= '0' && *body <= '9' && count < RUN_MAX / 10; body++)
			count = count * 10 + *body - '0';
		if (body + 1 < end && *body == ':')
			sum += expand_run(body[1], count);
		body = memchr(body, ';', (size_t)(end - body));
		if (!body++)
			break;
	}
	return sum;
}

static void check_request(struct connection *connection)
{
	const char *text = connection->text, *body = strstr(text, "\r\n\r\n") + 4;

	unique_headers(text, body - 2);
	inflate_body(body, text + connection->whole);
	work_parse(text, &connection->request);
}

/* --- journal: a record of the request, and a share of the disk's quota --- */

static void append_record(const char *line)
{
	char record[128];
	int n = snprintf(record, sizeof(record), "%.100s\n", line);

	if (write(journal, record, (size_t)n) != n)
		perror("journal");
}

static void sync_record(void)
{
	fsync(journal);
}

static void write_journal(const char *line, int sync_ms)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + (int64_t)sync_ms * 1000000;

	append_record(line);
	for (int i = 0; i < SYNCS_MAX && sync_ms >= 0 && clock_ns(CLOCK_MONOTONIC) < end; i++) {
		append_record(line);
		sync_record();
	}
}

static QUIET void wake(int number)
{
	(void)number;
}

static QUIET bool start_signals(timer_t *ret_timer)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	struct itimerspec every = {{0, SIGNAL_EVERY_NS}, {0, SIGNAL_EVERY_NS}};

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	return timer_create(CLOCK_MONOTONIC, &event, ret_timer) == 0 && timer_settime(*ret_timer, 0, &every, NULL) == 0;
}

/* Interrupted by a signal, it begins anew. */
static void wait_quota(const timer_t *signals, int64_t signals_end)
{
	struct timespec t = {0, signals ? SIGNAL_WAIT_NS : QUOTA_WAIT_NS};
	struct itimerspec never = {0};

	while (nanosleep(&t, NULL) < 0 && errno == EINTR)
		if (signals && clock_ns(CLOCK_MONOTONIC) > signals_end)
			timer_settime(*signals, 0, &never, NULL);
}

static void reserve_quota(int signals_ms)
{
	int64_t end = clock_ns(CLOCK_MONOTONIC) + (int64_t)signals_ms * 1000000;
	timer_t timer;
	bool begun = signals_ms >= 0 && start_signals(&timer);

	wait_quota(begun ? &timer : NULL, end);
	if (begun)
		timer_delete(timer);
}

static void journal_request(struct connection *connection)
{
	write_journal(connection->text, number_after(connection->text, "sync="));
	reserve_quota(number_after(connection->text, "signals="));
}

/* --- make: the page --- */

static unsigned render_part(void)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + RENDER_NS;
	unsigned sum = 1;

	do
		for (int i = 0; i < 2000; i++)
			sum = sum * 1103515245U + 12345U;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end);
	return sum;
}

static void render_page(int again)
{
	for (int i = 0; i < RENDERS_MAX && i <= again; i++)
		render_part();
}

static void make_page(struct connection *connection)
{
	int again = number_after(connection->text, "again=");

	work_serve(&connection->request, &connection->answer);
	render_page(again < 0 ? 0 : again);
}

/* --- send --- */

static void send_page(struct connection *connection)
{
	connection->done = work_write(connection->fd, &connection->answer) < 0 || connection->answer.last;
	memmove(connection->text, connection->text + connection->whole, connection->fill - connection->whole + 1);
	connection->fill -= connection->whole;
}

/* --- the stages --- */

static struct stage sending = {.handle = send_page};
static struct stage making = {.handle = make_page, .next = &sending};
static struct stage journalling = {.handle = journal_request, .next = &making};
static struct stage checking = {.handle = check_request, .next = &journalling};

static void stage_push(struct stage *stage, struct connection *connection)
{
	NESTFLOW(push, connection);
	pthread_mutex_lock(&stage->lock);
	connection->next = NULL;
	if (stage->first)
		stage->last->next = connection;
	else
		stage->first = connection;
	stage->last = connection;
	pthread_cond_signal(&stage->changed);
	pthread_mutex_unlock(&stage->lock);
}

static struct connection *stage_pop(struct stage *stage)
{
	struct connection *connection;

	pthread_mutex_lock(&stage->lock);
	while (!stage->first)
		pthread_cond_wait(&stage->changed, &stage->lock);
	connection = stage->first;
	stage->first = connection->next;
	pthread_mutex_unlock(&stage->lock);
	NESTFLOW(pop, connection);
	return connection;
}

static void *stage_run(void *which)
{
	struct stage *stage = which;

	for (;;) {
		struct connection *connection = stage_pop(stage);

		stage->handle(connection);
		if (stage->next)
			stage_push(stage->next, connection);
		else if (write(back[1], &connection, sizeof(connection)) != sizeof(connection))
			return NULL;
	}
}

static bool stage_start(struct stage *stage)
{
	pthread_mutex_init(&stage->lock, NULL);
	pthread_cond_init(&stage->changed, NULL);
	for (int i = 0; i < STAGE_THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, stage_run, stage))
			return false;
	}
	return true;
}

/* --- the poller --- */

static void add_connection(int fd)
{
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (!connections[i].used) {
			connections[i].used = true;
			connections[i].busy = connections[i].done = false;
			connections[i].fill = 0;
			connections[i].fd = fd;
			return;
		}
	close(fd);
}

static void drop_connection(struct connection *connection)
{
	close(connection->fd);
	connection->used = false;
}

static void dispatch(struct connection *connection)
{
	connection->whole = work_request_size(connection->text, connection->fill);
	if (!connection->whole)
		return;
	connection->busy = true;
	stage_push(&checking, connection);
}

static void read_input(struct connection *connection)
{
	ssize_t n = recv(connection->fd, connection->text + connection->fill, WORK_REQUEST_MAX - connection->fill, 0);

	if (n <= 0) {
		drop_connection(connection);
		return;
	}
	connection->fill += (size_t)n;
	connection->text[connection->fill] = '\0';
	dispatch(connection);
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
		dispatch(connection); /* a pipelined one */
}

static int wait_input(int listener)
{
	int n = 2;

	waits[0] = (struct pollfd){.fd = listener, .events = POLLIN};
	waits[1] = (struct pollfd){.fd = back[0], .events = POLLIN};
	for (int i = 0; i < CONNECTIONS_MAX; i++)
		if (connections[i].used && !connections[i].busy) {
			waits[n] = (struct pollfd){.fd = connections[i].fd, .events = POLLIN};
			waiting[n++] = &connections[i];
		}
	return poll(waits, (nfds_t)n, -1) < 0 ? 0 : n;
}

static void turn(int listener)
{
	int n = wait_input(listener);

	for (int i = 2; i < n; i++)
		if (waits[i].revents)
			read_input(waiting[i]);
	if (n && waits[1].revents)
		take_back();
	if (n && waits[0].revents) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0)
			add_connection(fd);
	}
}

static QUIET bool open_journal(const char *room)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/journal", room);
	journal = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	return journal >= 0;
}

int main(int argc, char **argv)
{
	int listener = work_begin(argc, argv);
	struct sigaction action = {.sa_handler = wake};

	sigaction(SIGUSR1, &action, NULL);
	if (!open_journal(argv[3]) || pipe(back) < 0 || !stage_start(&checking) || !stage_start(&journalling) ||
	    !stage_start(&making) || !stage_start(&sending)) {
		perror(argv[0]);
		return 1;
	}
	for (;;)
		turn(listener);
}
