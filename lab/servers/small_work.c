/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "small_work.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAGE_SIZE_BYTES  600
#define LARGE_SIZE_BYTES (6 * 1024 * 1024)
#define CACHE_SLOTS      256
#define ROWS             64
#define UPSTREAM_WAIT_MS 10000

static struct work_config config;
static unsigned char *cached; /* shared by all processes: pages that were loaded */
static char large[LARGE_SIZE_BYTES];
static char page_body[PAGE_SIZE_BYTES];

static __attribute__((no_instrument_function)) void nap(int ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

/* CPU time of the thread: on a busy machine a computation is as much work, and takes longer. */
static __attribute__((no_instrument_function)) int64_t worked_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* --- requests --- */

/* Digits at the beginning of the text; 0 without. */
static __attribute__((no_instrument_function)) int number_at(const char *text)
{
	int number = 0;

	for (; *text == ' '; text++)
		;
	for (; *text >= '0' && *text <= '9' && number < 100000000; text++)
		number = number * 10 + *text - '0';
	return number;
}

size_t work_request_size(const char *text, size_t size)
{
	const char *end = memmem(text, size, "\r\n\r\n", 4);
	const char *length = memmem(text, size, "Content-Length:", 15);
	size_t whole;

	if (!end)
		return 0;
	whole = (size_t)(end - text) + 4;
	if (length && length < end)
		whole += (size_t)number_at(length + 15);
	return size < whole ? 0 : whole;
}

/* The number after NAME= in the query; FALLBACK without. */
static int query_number(const char *line, const char *name, int fallback)
{
	const char *at = strstr(line, name);

	return at ? number_at(at + strlen(name)) : fallback;
}

static void copy_word(char *to, size_t room, const char *from)
{
	size_t n = strcspn(from, "?& \r\n");

	n = n < room ? n : room - 1;
	memcpy(to, from, n);
	to[n] = '\0';
}

void work_parse(const char *text, struct work_request *ret_request)
{
	char line[512];
	const char *path, *account;

	snprintf(line, sizeof(line), "%.*s", (int)strcspn(text, "\r\n"), text);
	*ret_request = (struct work_request){
		.slow_ms = query_number(line, "slow=", 0),
		.upstream_ms = query_number(line, "up=", -1),
		.skip_ms = query_number(line, "skip=", -1),
		.error_ms = query_number(line, "error=", -1),
		.cold_ms = query_number(line, "cold=", 0),
		.miss_ms = query_number(line, "miss=", 0),
		.retry_ms = query_number(line, "retry=", 0),
		.last = strstr(text, "Connection: close") != NULL,
	};
	path = strchr(line, '/');
	if (path)
		copy_word(ret_request->page, sizeof(ret_request->page), path + 1);
	account = strstr(line, "account=");
	if (account)
		copy_word(ret_request->account, sizeof(ret_request->account), account + 8);
}

/* --- the steps of a request --- */

static int account_lock(const char *account)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", config.room, account);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		flock(fd, LOCK_EX);
	return fd;
}

static void account_unlock(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void check_account(const struct work_request *request)
{
	if (request->account[0])
		account_unlock(account_lock(request->account));
}

static void load_page(int ms)
{
	if (ms)
		nap(ms);
}

static unsigned char *cache_slot(const char *page)
{
	unsigned hash = 5381;

	for (; *page; page++)
		hash = hash * 33 + (unsigned char)*page;
	return &cached[hash % CACHE_SLOTS];
}

static bool find_page(const struct work_request *request)
{
	unsigned char *slot = cache_slot(request->page);

	if (!__atomic_exchange_n(slot, 1, __ATOMIC_RELAXED) || request->miss_ms)
		load_page(request->miss_ms ? request->miss_ms : request->cold_ms);
	return strncmp(request->page, "missing", 7) != 0;
}

static void sort_rows(int *rows)
{
	for (int i = 1; i < ROWS; i++)
		for (int j = i; j > 0 && rows[j - 1] > rows[j]; j--) {
			int other = rows[j];

			rows[j] = rows[j - 1];
			rows[j - 1] = other;
		}
}

static int scan_rows(const int *rows, int ms)
{
	if (ms)
		nap(ms);
	return rows[ROWS / 2];
}

static int search_rows(const int *rows, int skip_ms)
{
	return skip_ms >= 0 ? scan_rows(rows, skip_ms) : rows[ROWS / 2];
}

static int count_rows(const struct work_request *request)
{
	int rows[ROWS];

	for (int i = 0; i < ROWS; i++)
		rows[i] = i * 37 % ROWS;
	if (request->skip_ms < 0)
		sort_rows(rows);
	return search_rows(rows, request->skip_ms);
}

static bool store_once(int ms, bool works)
{
	if (ms)
		nap(ms);
	return works;
}

static void store_visit(const struct work_request *request)
{
	int tries = request->retry_ms ? 5 : 1;

	for (int i = 1; !store_once(request->retry_ms / 5, i == tries); i++)
		;
}

static int connect_upstream(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)config.upstream_port)};
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
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	char text[512];

	if (poll(&wait, 1, UPSTREAM_WAIT_MS) > 0 && recv(fd, text, sizeof(text), 0) < 0)
		perror("upstream");
}

static void ask_upstream(int ms)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "GET /?ms=%d HTTP/1.0\r\n\r\n", ms);
	int fd = connect_upstream();

	if (fd < 0)
		return;
	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) == n)
		read_upstream(fd);
	close(fd);
}

static unsigned compress_page(int ms)
{
	int64_t end = worked_ns() + 20000 + (int64_t)ms * 1000000;
	unsigned sum = 1;

	do
		for (int i = 0; i < 1000; i++)
			sum = sum * 1103515245U + 12345U;
	while (worked_ns() < end);
	return sum;
}

static void write_report(int ms)
{
	if (ms)
		nap(ms);
}

static void fail_request(const struct work_request *request, struct work_answer *ret_answer)
{
	write_report(request->error_ms);
	ret_answer->head_size = (size_t)snprintf(ret_answer->head, sizeof(ret_answer->head),
						 "HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n");
}

static void make_answer(bool found, const struct work_request *request, struct work_answer *ret_answer)
{
	bool is_large = strcmp(request->page, "large") == 0;

	ret_answer->body = is_large ? large : page_body;
	ret_answer->body_size = !found ? 0 : is_large ? LARGE_SIZE_BYTES : sizeof(page_body);
	ret_answer->head_size = (size_t)snprintf(ret_answer->head, sizeof(ret_answer->head),
						 "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n",
						 found ? "200 OK" : "404 Not Found", ret_answer->body_size);
}

void work_serve(const struct work_request *request, struct work_answer *ret_answer)
{
	bool found;

	*ret_answer = (struct work_answer){.last = request->last};
	check_account(request);
	if (request->error_ms >= 0) {
		fail_request(request, ret_answer);
		return;
	}
	found = find_page(request);
	count_rows(request);
	store_visit(request);
	if (request->upstream_ms >= 0)
		ask_upstream(request->upstream_ms);
	compress_page(request->slow_ms);
	make_answer(found, request, ret_answer);
}

/* --- blocking connections --- */

static int write_all(int fd, const char *data, size_t size)
{
	while (size) {
		ssize_t n = send(fd, data, size, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

int work_write(int fd, const struct work_answer *answer)
{
	int one = 1, r;

	/* Head and body are two writes: the second one must not wait for the client's acknowledgement. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	r = write_all(fd, answer->head, answer->head_size);
	return r ? r : write_all(fd, answer->body, answer->body_size);
}

/* Reads until a request is complete; its size, 0 at the end of the connection. */
static size_t read_request(int fd, char *text, size_t *fill)
{
	for (;;) {
		size_t whole = work_request_size(text, *fill);
		ssize_t n;

		if (whole)
			return whole;
		if (*fill == WORK_REQUEST_MAX)
			return 0;
		n = recv(fd, text + *fill, WORK_REQUEST_MAX - *fill, 0);
		if (n <= 0)
			return 0;
		*fill += (size_t)n;
		text[*fill] = '\0';
	}
}

void work_connection(int fd)
{
	char text[WORK_REQUEST_MAX + 1] = "";
	size_t fill = 0, whole;
	bool last = false;

	while (!last && (whole = read_request(fd, text, &fill)) > 0) {
		struct work_request request;
		struct work_answer answer;

		work_parse(text, &request);
		memmove(text, text + whole, fill - whole + 1);
		fill -= whole;
		work_serve(&request, &answer);
		last = work_write(fd, &answer) < 0 || answer.last;
	}
	close(fd);
}

int work_begin(int argc, char **argv)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (argc != 4) {
		fprintf(stderr, "usage: %s PORT UPSTREAM-PORT ROOM\n", argv[0]);
		exit(2);
	}
	config = (struct work_config){.port = number_at(argv[1]), .upstream_port = number_at(argv[2]), .room = argv[3]};
	at.sin_port = htons((uint16_t)config.port);
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	cached = mmap(NULL, CACHE_SLOTS, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (fd < 0 || cached == MAP_FAILED || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 512) < 0) {
		perror(argv[0]);
		exit(1);
	}
	memset(large, 'x', LARGE_SIZE_BYTES);
	memset(page_body, 'x', sizeof(page_body));
	signal(SIGPIPE, SIG_IGN);
	return fd;
}
