/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What following packets costs: the processor time of an exchange of 64 bytes over a virtual link between two network
 * namespaces (both ends, the softirqs that they run, and whoever follows), with and without. Both stand next to each other in
 * time, and the median of the pairs counts. The namespaces have no names and go when this program ends.
 *
 *	bench_path [PAIRS]       20 unless told
 *
 * The exchanges go round over 64 connections, so that one flow in 64 is about one of them.
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "path/source.h"

#define FLOWS     64
#define PAIRS_MAX 200
#define WINDOW_NS UINT64_C(150000000)
#define PORT      7001
/* What others do on the host is not to be paid for by the follower. */
#define OURS "lport == 7001 or rport == 7001"

static _noreturn_ void die(const char *what)
{
	fprintf(stderr, "bench_path: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* --- both ends --- */

static void run(const char *const *argv)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		die(argv[0]);
}

static void configure(const char *dev, const char *address)
{
	run((const char *const[]){"ip", "addr", "add", address, "dev", dev, NULL});
	run((const char *const[]){"ip", "link", "set", dev, "up", NULL});
}

static int stream(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) < 0)
		die("a socket");
	return fd;
}

static void pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Answers on its connections in turn. */
static _noreturn_ void serve(int from_client, int to_client)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int flows[FLOWS], listener;
	char data[64] = {};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET) < 0 || write(to_client, data, 1) != 1 || read(from_client, data, 1) != 1)
		die("the server's namespace");
	configure("vs", "10.93.0.2/24");
	listener = stream();
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(listener, FLOWS) < 0 ||
	    write(to_client, data, 1) != 1)
		die("listening");
	for (int i = 0; i < FLOWS; i++) {
		int yes = 1;

		flows[i] = accept(listener, NULL, NULL);
		(void)setsockopt(flows[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	}
	for (unsigned i = 0;; i++) {
		int fd = flows[i % FLOWS];

		if (recv(fd, data, sizeof(data), MSG_WAITALL) <= 0 || send(fd, data, sizeof(data), MSG_NOSIGNAL) < 0)
			exit(0);
	}
}

static pid_t make_ends(int *flows)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int there[2], back[2];
	char word = 0, number[16];
	pid_t server;

	if (inet_pton(AF_INET, "10.93.0.2", &to.sin_addr) != 1 || pipe(there) < 0 || pipe(back) < 0)
		die("pipes");
	server = fork();
	if (server == 0)
		serve(there[0], back[1]);
	if (server < 0 || unshare(CLONE_NEWNET) < 0 || read(back[0], &word, 1) != 1)
		die("namespaces (needs root)");
	snprintf(number, sizeof(number), "%d", (int)server);
	run((const char *const[]){"ip", "link", "add", "vc", "type", "veth", "peer", "name", "vs", "netns", number,
				  NULL});
	configure("vc", "10.93.0.1/24");
	if (write(there[1], &word, 1) != 1 || read(back[0], &word, 1) != 1)
		die("the server");
	for (int i = 0; i < FLOWS; i++) {
		flows[i] = stream();
		if (connect(flows[i], (struct sockaddr *)&to, sizeof(to)) < 0)
			die("connecting");
	}
	return server;
}

/* --- whoever follows --- */

static void count(void *context, const struct journey *journey _unused_)
{
	(*(uint64_t *)context)++;
}

static _noreturn_ void follow(const struct path_options *options, int ready)
{
	struct path_source *source;
	uint64_t journeys = 0;
	struct why why = {};
	struct loop *loop;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (loop_new(&loop) < 0 || path_open(options, &source, &why) < 0 ||
	    path_start(source, loop, count, &journeys, &why) < 0) {
		fprintf(stderr, "bench_path: %s\n", why.text);
		_exit(2);
	}
	if (write(ready, "", 1) != 1)
		_exit(2);
	(void)loop_run(loop);
	_exit(0);
}

static pid_t follower(const struct path_options *options)
{
	int ready[2];
	char word;
	pid_t pid;

	if (pipe(ready) < 0)
		die("a pipe");
	pid = fork();
	if (pid == 0)
		follow(options, ready[1]);
	(void)close(ready[1]);
	if (pid < 0 || read(ready[0], &word, 1) != 1)
		die("following");
	(void)close(ready[0]);
	return pid;
}

/* --- measuring --- */

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec at = {};
	clockid_t clock;

	if (pid && clock_getcpuclockid(pid, &clock) == 0)
		(void)clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * NSEC_PER_SEC + (uint64_t)at.tv_nsec;
}

/* Nanoseconds of processor time for one exchange. */
static double exchange(const int *flows, pid_t server, pid_t watcher)
{
	uint64_t before = cpu_ns(getpid()) + cpu_ns(server) + cpu_ns(watcher), done = 0;
	uint64_t end = clock_monotonic_ns() + WINDOW_NS;
	char data[64] = {};

	while (clock_monotonic_ns() < end)
		for (unsigned i = 0; i < FLOWS; i++, done++)
			if (send(flows[i], data, sizeof(data), MSG_NOSIGNAL) < 0 ||
			    recv(flows[i], data, sizeof(data), MSG_WAITALL) < 0)
				die("the exchange");
	return (double)(cpu_ns(getpid()) + cpu_ns(server) + cpu_ns(watcher) - before) / (double)done;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, unsigned n)
{
	qsort(values, n, sizeof(*values), by_size);
	return values[n / 2];
}

/* Whether the goal was met. */
static bool measure(const char *name, const struct path_options *options, const int *flows, pid_t server,
		    unsigned pairs, double goal)
{
	double ratios[PAIRS_MAX], bare[PAIRS_MAX], ratio;

	(void)exchange(flows, server, 0);
	for (unsigned i = 0; i < pairs; i++) {
		double with, without = 0;
		pid_t watcher;

		if (i % 2)
			without = exchange(flows, server, 0);
		watcher = follower(options);
		with = exchange(flows, server, watcher);
		(void)kill(watcher, SIGKILL);
		(void)waitpid(watcher, NULL, 0);
		if (i % 2 == 0)
			without = exchange(flows, server, 0);
		ratios[i] = with / without;
		bare[i] = without;
	}
	ratio = median(ratios, pairs);
	printf("an exchange of 64 bytes over a virtual link, %.1f us of processor time, takes %.3f times as much with "
	       "%s%s\n",
	       median(bare, pairs) / 1000, ratio, name, ratio <= goal ? "" : "   (goal missed)");
	return ratio <= goal;
}

int main(int argc, char **argv)
{
	uint64_t pairs = 20;
	int flows[FLOWS];
	pid_t server;
	bool good;

	if (argc > 1 && parse_decimal(argv[1], 1, PAIRS_MAX, &pairs) < 0) {
		errno = EINVAL;
		die(argv[1]);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	pin();
	server = make_ends(flows);
	good = measure("all packets followed", &(struct path_options){.where = OURS}, flows, server, (unsigned)pairs,
		       1.35);
	good &= measure("one flow in 64 followed", &(struct path_options){.where = OURS, .sample = 64}, flows, server,
			(unsigned)pairs, 1.05);
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	return !good;
}
