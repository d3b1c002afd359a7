/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Leader and followers: of several equal threads one waits for all connections; with an event it lets the next one wait
 * and serves the event itself. A connection has no thread of its own, and no queue passes it on.
 *
 * Requests have steps and faults of their own, besides those of small_work.h:
 *   ?log=MS     verbose: three records to a log whose reader pauses this long
 *   ?held=MS    the request's part of the index is being rebuilt for this long
 *   ?rows=N     visitors that are compared with this one (30 without)
 *   ?pieces=N   the page is sent in N pieces
 *   ?name=MS    the client's name is asked of a name server that takes this long
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "small_work.h"

#define THREADS     16
#define CLIENTS_MAX 1024
#define SHARDS      16
#define RECORD_MAX  4096
#define NAME_BYTES  96
#define ROWS_USUAL  30
#define SEND_WAIT   30000

#define QUIET       __attribute__((no_instrument_function))

struct client {
	int fd;
	bool used, sending, gone;
	size_t fill, sent;
	struct work_answer answer;
	char text[WORK_REQUEST_MAX + 1];
};

struct shard {
	pthread_mutex_t lock;
	unsigned visits;
};

static struct client clients[CLIENTS_MAX];
static pthread_mutex_t clients_lock = PTHREAD_MUTEX_INITIALIZER, leader_lock = PTHREAD_MUTEX_INITIALIZER;
static int poller, listener, access_log, debug_log;
static uint16_t name_server_port;

static struct shard shards[SHARDS];
static pthread_mutex_t rebuild_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t rebuild_asked, rebuild_begun;
static struct shard *rebuilt;
static int rebuild_ms;

static QUIET void nap(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

/* Digits at the beginning of the text; 0 without. */
static QUIET int number_at(const char *text)
{
	int number = 0;

	for (; *text >= '0' && *text <= '9' && number < 100000000; text++)
		number = number * 10 + *text - '0';
	return number;
}

/* The number after NAME in the first line; -1 without. */
static QUIET int number_after(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? number_at(at + strlen(name)) : -1;
}

/* --- the log --- */

static void write_line(int fd, const char *line, size_t size)
{
	while (write(fd, line, size) < 0 && errno == EINTR)
		;
}

/* What the verbose log gets is as large as its pipe, so that the third record waits for the reader of the first. */
static void log_request(const char *line, int verbose_ms)
{
	char text[RECORD_MAX];
	int n = snprintf(text, sizeof(text), "%.200s\n", line);

	write_line(access_log, text, (size_t)n);
	for (int i = 0; verbose_ms >= 0 && i < 3; i++) {
		n = snprintf(text, sizeof(text), "%d.%03d ", i ? 0 : verbose_ms / 1000, i ? 0 : verbose_ms % 1000);
		memset(text + n, 'd', sizeof(text) - (size_t)n);
		text[sizeof(text) - 1] = '\n';
		write_line(debug_log, text, sizeof(text));
	}
}

static QUIET bool open_logs(const char *room)
{
	char path[256];
	FILE *reader = popen("while read -r seconds rest; do sleep $seconds; done", "we");

	snprintf(path, sizeof(path), "%s/access.log", room);
	access_log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	debug_log = reader ? fileno(reader) : -1;
	return access_log >= 0 && debug_log >= 0 && fcntl(debug_log, F_SETPIPE_SZ, RECORD_MAX) >= 0;
}

/* --- the index: a thread rebuilds a part of it when asked --- */

static void rebuild_shard(struct shard *shard, int ms)
{
	pthread_mutex_lock(&shard->lock);
	sem_post(&rebuild_begun);
	nap(ms);
	pthread_mutex_unlock(&shard->lock);
}

static void *rebuilder(void *unused)
{
	(void)unused;
	for (;;) {
		while (sem_wait(&rebuild_asked))
			;
		rebuild_shard(rebuilt, rebuild_ms);
	}
	return NULL;
}

/* Returns once the shard is locked. */
static QUIET void have_rebuilt(struct shard *shard, int ms)
{
	pthread_mutex_lock(&rebuild_lock);
	rebuilt = shard;
	rebuild_ms = ms;
	sem_post(&rebuild_asked);
	while (sem_wait(&rebuild_begun))
		;
	pthread_mutex_unlock(&rebuild_lock);
}

static void lock_shard(struct shard *shard)
{
	pthread_mutex_lock(&shard->lock);
}

static void touch_shard(const char *line, int held_ms)
{
	/* The last shard is the one that is rebuilt. */
	struct shard *shard = held_ms >= 0 ? &shards[SHARDS - 1] : &shards[strlen(line) % (SHARDS - 1)];

	if (held_ms >= 0)
		have_rebuilt(shard, held_ms);
	lock_shard(shard);
	shard->visits++;
	pthread_mutex_unlock(&shard->lock);
}

/* --- visitors: a list without an index --- */

static bool same_visitor(const char *one, const char *other)
{
	int i = 0;

	while (i < NAME_BYTES && (one[i] | 32) == (other[i] | 32))
		i++;
	return i == NAME_BYTES;
}

static int find_visitor(int rows)
{
	char known[NAME_BYTES], wanted[NAME_BYTES];
	int row = 0;

	memset(known, 'v', sizeof(known));
	memset(wanted, 'V', sizeof(wanted));
	wanted[NAME_BYTES - 1] = '-';
	while (row < rows && !same_visitor(known, wanted))
		row++;
	return row;
}

/* --- the client's name --- */

static int connect_name_server(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(name_server_port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool read_name(int fd)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char text[512];

	return poll(&wait, 1, SEND_WAIT) > 0 && recv(fd, text, sizeof(text), 0) > 0;
}

/* A query of one label, ms=N, over TCP. */
static void name_client(int ms)
{
	unsigned char query[64] = {0, 0, 0, 1, 1, 0, 0, 1};
	int n = snprintf((char *)query + 15, 32, "ms=%d", ms), fd = connect_name_server();

	if (fd < 0)
		return;
	query[14] = (unsigned char)n;
	query[15 + n + 2] = query[15 + n + 4] = 1;
	query[1] = (unsigned char)(13 + n + 5);
	if (send(fd, query, (size_t)(15 + n + 5), MSG_NOSIGNAL) < 0 || !read_name(fd))
		perror("name server");
	close(fd);
}

/* --- replies --- */

static int write_piece(int fd, const char *data, size_t size)
{
	while (size) {
		struct pollfd wait = {.fd = fd, .events = POLLOUT};
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n < 0 && (errno != EAGAIN || poll(&wait, 1, SEND_WAIT) <= 0))
			return -1;
		data += n < 0 ? 0 : n;
		size -= n < 0 ? 0 : (size_t)n;
	}
	return 0;
}

/* As a template does that writes its parts one by one. */
static void send_pieces(struct client *client, int pieces)
{
	char head[128];
	int n = snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", pieces * 8);

	client->gone = write_piece(client->fd, head, (size_t)n) < 0;
	for (int i = 0; i < pieces && !client->gone; i++)
		client->gone = write_piece(client->fd, "<p></p>\n", 8) < 0;
}

/* Sets client->sending if the client has to read first. */
static void send_answer(struct client *client)
{
	struct work_answer *answer = &client->answer;
	size_t total = answer->head_size + answer->body_size;

	client->sending = false;
	while (client->sent < total && !client->gone) {
		size_t head = client->sent < answer->head_size ? answer->head_size - client->sent : 0;
		size_t body = head ? 0 : client->sent - answer->head_size;
		struct iovec parts[2] = {{answer->head + client->sent, head},
					 {(char *)answer->body + body, answer->body_size - body}};
		struct msghdr message = {.msg_iov = head ? parts : parts + 1, .msg_iovlen = head ? 2 : 1};
		ssize_t n = sendmsg(client->fd, &message, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN) {
			client->sending = true;
			return;
		}
		client->gone = n < 0;
		client->sent += n < 0 ? 0 : (size_t)n;
	}
	client->gone |= answer->last;
}

static void serve_request(struct client *client, const char *line, const struct work_request *request)
{
	int rows = number_after(line, "rows="), name_ms = number_after(line, "name="),
	    pieces = number_after(line, "pieces=");

	if (name_ms >= 0)
		name_client(name_ms);
	find_visitor(rows >= 0 ? rows : ROWS_USUAL);
	touch_shard(line, number_after(line, "held="));
	work_serve(request, &client->answer);
	log_request(line, number_after(line, "log="));
	client->sent = 0;
	if (pieces >= 0) {
		send_pieces(client, pieces);
		client->gone |= request->last;
	} else {
		send_answer(client);
	}
}

static void handle_requests(struct client *client)
{
	size_t whole;

	while (!client->sending && !client->gone && (whole = work_request_size(client->text, client->fill)) > 0) {
		struct work_request request;
		char line[512];

		snprintf(line, sizeof(line), "%.*s", (int)strcspn(client->text, "\r\n"), client->text);
		work_parse(client->text, &request);
		memmove(client->text, client->text + whole, client->fill - whole + 1);
		client->fill -= whole;
		serve_request(client, line, &request);
	}
}

/* --- events --- */

static void read_some(struct client *client)
{
	ssize_t n = recv(client->fd, client->text + client->fill, WORK_REQUEST_MAX - client->fill, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		client->gone = true;
		return;
	}
	client->fill += (size_t)n;
	client->text[client->fill] = '\0';
	handle_requests(client);
}

static void watch(struct client *client, int change)
{
	struct epoll_event event = {.events = EPOLLONESHOT, .data.ptr = client};

	event.events |= client->sending ? EPOLLOUT : EPOLLIN;
	epoll_ctl(poller, change, client->fd, &event);
}

static void drop_client(struct client *client)
{
	close(client->fd);
	pthread_mutex_lock(&clients_lock);
	client->used = false;
	pthread_mutex_unlock(&clients_lock);
}

static void handle_client(struct client *client)
{
	if (client->sending) {
		send_answer(client);
		handle_requests(client);
	} else {
		read_some(client);
	}
	if (client->gone)
		drop_client(client);
	else
		watch(client, EPOLL_CTL_MOD);
}

static struct client *new_client(void)
{
	struct client *client = clients;

	pthread_mutex_lock(&clients_lock);
	while (client < clients + CLIENTS_MAX && client->used)
		client++;
	if (client < clients + CLIENTS_MAX)
		client->used = true;
	pthread_mutex_unlock(&clients_lock);
	return client < clients + CLIENTS_MAX ? client : NULL;
}

static void accept_client(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *client = fd >= 0 ? new_client() : NULL;

	if (!client) {
		if (fd >= 0)
			close(fd);
		return;
	}
	client->fd = fd;
	client->sending = client->gone = false;
	client->fill = 0;
	watch(client, EPOLL_CTL_ADD);
}

/* The client of the next event; NULL: the listener's. */
static struct client *lead(void)
{
	struct epoll_event event;

	pthread_mutex_lock(&leader_lock);
	while (epoll_wait(poller, &event, 1, -1) != 1)
		;
	if (!event.data.ptr)
		accept_client();
	pthread_mutex_unlock(&leader_lock);
	return event.data.ptr;
}

static void *take_turns(void *unused)
{
	(void)unused;
	for (;;) {
		struct client *client = lead();

		if (client)
			handle_client(client);
	}
	return NULL;
}

static bool start_thread(void *(*run)(void *))
{
	pthread_t thread;

	return pthread_create(&thread, NULL, run, NULL) == 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};

	listener = work_begin(argc, argv);
	fcntl(listener, F_SETFL, O_NONBLOCK);
	name_server_port = (uint16_t)number_at(argv[2]);
	poller = epoll_create1(EPOLL_CLOEXEC);
	if (!open_logs(argv[3]) || poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event) < 0) {
		perror(argv[0]);
		return 1;
	}
	for (int i = 0; i < SHARDS; i++)
		pthread_mutex_init(&shards[i].lock, NULL);
	sem_init(&rebuild_asked, 0, 0);
	sem_init(&rebuild_begun, 0, 0);
	if (!start_thread(rebuilder))
		return 1;
	for (int i = 1; i < THREADS; i++)
		if (!start_thread(take_turns))
			return 1;
	take_turns(NULL);
}
