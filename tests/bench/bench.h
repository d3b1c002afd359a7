/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What benches of the running program share: its place, goals, processes of their own, medians. */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"

#define NS_PER_MS 1000000
#define NS_PER_US 1000
#define RUNS_MAX  200

static char nest[PATH_MAX];
static bool missed;

static inline _noreturn_ void die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
	exit(2);
}

/* Of the build that this bench is part of. */
static inline void find_nest(void)
{
	ssize_t n = readlink("/proc/self/exe", nest, sizeof(nest) - 32);

	if (n < 0)
		die("finding nest");
	for (int i = 0; i < 3 && strrchr(nest, '/'); i++)
		*strrchr(nest, '/') = '\0';
	strncat(nest, "/nest", sizeof(nest) - strlen(nest) - 1);
}

static inline unsigned argument(int argc, char **argv, int index, unsigned max, unsigned otherwise)
{
	uint64_t value;

	if (index >= argc)
		return otherwise;
	if (parse_decimal(argv[index], 1, max, &value) < 0) {
		errno = EINVAL;
		die(argv[index]);
	}
	return (unsigned)value;
}

static inline void verdict(bool good)
{
	printf("%s\n", good ? "" : "   (goal missed)");
	missed |= !good;
}

static inline int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts them. */
static inline double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_size);
	return count ? values[count / 2] : 0;
}

/* --- the network --- */

static inline void bring_up_loopback(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		die("bringing up the loopback");
}

static inline int listen_at(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 4096) < 0)
		die("listening");
	return fd;
}

/* Returns every 64 bytes of one connection. */
static inline void echo(int listener)
{
	int fd = accept(listener, NULL, NULL), yes = 1;
	char data[64];

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	while (recv(fd, data, sizeof(data), MSG_WAITALL) == (ssize_t)sizeof(data))
		(void)!send(fd, data, sizeof(data), MSG_NOSIGNAL);
}

/* --- processes --- */

static inline pid_t start(void (*work)(int fd), int fd)
{
	pid_t pid = fork();

	if (pid < 0)
		die("starting a process");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(fd);
		_exit(0);
	}
	return pid;
}

static inline void stop(pid_t pid, int signal_number)
{
	(void)kill(pid, signal_number);
	(void)waitpid(pid, NULL, 0);
}

/* 0: of nobody. */
static inline uint64_t cpu_ns(pid_t pid)
{
	struct timespec at = {};
	clockid_t clock;

	if (pid && clock_getcpuclockid(pid, &clock) == 0)
		(void)clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * NSEC_PER_SEC + (uint64_t)at.tv_nsec;
}
