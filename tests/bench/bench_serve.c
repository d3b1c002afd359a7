/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nest serve and its readers: N browsers (default 200), each with the streams of the diagnosis and of the measures: two
 * updates per second. CPU of all processes of the server beside the same server without readers, memory, records that
 * arrive. idle: each has one stream, of diagnoses that never come; all must still be connected at the end.
 *
 *	build/tests/bench/bench_serve [BROWSERS [SECONDS [idle]]]
 */
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "bench.h"

#define BROWSERS_MAX    2000
#define FAMILY_MAX      16
#define CPU_GOAL        0.15
#define MEMORY_GOAL_KIB (64 * 1024)

struct served {
	pid_t pid;
	uint16_t port;
	char token[80];
};

static struct served served;
static uint64_t records, bytes, lost;

/* --- the server --- */

static void read_address(FILE *out)
{
	unsigned port = 0;

	if (fscanf(out, "http://127.0.0.1:%u/#token=%64s", &port, served.token) != 2) {
		errno = EPROTO;
		die("reading the address");
	}
	served.port = (uint16_t)port;
}

static void start_server(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		die("making a pipe");
	served.pid = fork();
	if (served.pid < 0)
		die("starting a process");
	if (served.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(fds[1], STDOUT_FILENO);
		execl(nest, "nest", "serve", "--past", "none", (char *)NULL);
		_exit(127);
	}
	(void)close(fds[1]);
	read_address(fdopen(fds[0], "r"));
}

/* The server and the processes that it has started: those that sample, the one that starts tools. */
static size_t find_family(pid_t pids[FAMILY_MAX])
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];
	size_t count = 1;

	pids[0] = served.pid;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", served.pid, served.pid);
	file = fopen(path, "re");
	while (file && count < FAMILY_MAX && fscanf(file, "%d", &pids[count]) == 1)
		count++;
	return count;
}

static uint64_t family_cpu_ns(void)
{
	pid_t pids[FAMILY_MAX];
	size_t count = find_family(pids);
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += cpu_ns(pids[i]);
	return sum;
}

/* Proportional: what they share counts once. */
static long pss_kib(pid_t pid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[40], line[200];
	long kib = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		(void)!sscanf(line, "Pss: %ld", &kib);
	return kib;
}

static long family_kib(void)
{
	pid_t pids[FAMILY_MAX];
	size_t count = find_family(pids);
	long sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += pss_kib(pids[i]);
	return sum;
}

/* --- its readers --- */

static int open_stream(const char *what)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons(served.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[512];
	int len = snprintf(
		request, sizeof(request),
		"GET /api/v1/stream?what=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n\r\n", what,
		served.port, served.token);

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || send(fd, request, (size_t)len, 0) != len)
		die("connecting");
	return fd;
}

/* A record begins with its id at the start of a line. */
static void count(const char *data, size_t len)
{
	for (size_t i = 0; i + 6 < len; i++)
		if (data[i] == '\n') {
			records += memcmp(data + i + 1, "data: ", 6) == 0;
			lost += memcmp(data + i + 1, "event:", 6) == 0;
		}
	bytes += len;
}

static void read_for(int epoll_fd, uint64_t ns)
{
	uint64_t end = clock_monotonic_ns() + ns;
	static char data[1 << 18];

	while (clock_monotonic_ns() < end) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll_fd, events, 64, 50);

		for (int i = 0; i < n; i++) {
			ssize_t got = recv(events[i].data.fd, data, sizeof(data), MSG_DONTWAIT);

			if (got == 0) {
				errno = ECONNRESET;
				die("reading");
			}
			if (got > 0)
				count(data, (size_t)got);
		}
	}
}

static double share_of(int epoll_fd, unsigned seconds)
{
	uint64_t begin = clock_monotonic_ns(), cpu = family_cpu_ns();

	read_for(epoll_fd, seconds * NSEC_PER_SEC);
	return (double)(family_cpu_ns() - cpu) / (double)(clock_monotonic_ns() - begin);
}

static void open_streams(int epoll_fd, unsigned browsers, bool idle)
{
	for (unsigned i = 0; i < (idle ? browsers : 2 * browsers); i++) {
		const char *what = idle ? "diagnosis&where=lost%20%3E%201000000" : i % 2 ? "diagnosis" : "measures";
		struct epoll_event event = {.events = EPOLLIN, .data.fd = open_stream(what)};

		if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, event.data.fd, &event) < 0)
			die("waiting");
	}
}

int main(int argc, char **argv)
{
	bool is_idle = argc > 3 && strcmp(argv[3], "idle") == 0;
	unsigned browsers = argument(argc, argv, 1, BROWSERS_MAX, 200), seconds = argument(argc, argv, 2, 600, 10);
	struct rlimit files = {8192, 8192};
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	double idle, busy;
	long kib;

	(void)setrlimit(RLIMIT_NOFILE, &files);
	find_nest();
	/* A host without connections but those of the readers. */
	if (unshare(CLONE_NEWNET) < 0)
		die("making a network namespace (as root)");
	bring_up_loopback();
	start_server();
	read_for(epoll_fd, 4 * NSEC_PER_SEC);
	idle = share_of(epoll_fd, seconds);
	open_streams(epoll_fd, browsers, is_idle);
	read_for(epoll_fd, 4 * NSEC_PER_SEC);
	records = bytes = lost = 0;
	busy = share_of(epoll_fd, seconds);
	kib = family_kib();
	printf("nest serve, %u %s, %u s\n", browsers,
	       is_idle ? "idle browsers, all still connected" : "browsers with 2 streams each", seconds);
	printf("  %8.1f   records per second, %.0f kB/s, %llu lost\n", (double)records / seconds,
	       (double)bytes / seconds / 1000, (unsigned long long)lost);
	printf("  %8.1f %% of a core without readers (the diagnosis)\n", idle * 100);
	printf("  %8.1f %% of a core with them: %.1f %% for readers (goal: %.0f %%)", busy * 100, (busy - idle) * 100,
	       CPU_GOAL * 100);
	verdict(busy - idle <= CPU_GOAL || browsers > 200);
	printf("  %8.1f   MiB, all its processes (goal: %d MiB)", (double)kib / 1024, MEMORY_GOAL_KIB / 1024);
	verdict(kib <= MEMORY_GOAL_KIB || browsers > 200);
	stop(served.pid, SIGINT);
	return missed;
}
