/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a look costs: nest diagnose by itself, and what it takes off the programs that it looks at. Everything happens
 * on the loopback of a network namespace without a name, which goes when this program ends, however it ends.
 *
 *	bench_look [PAIRS [ROUNDS]]       20 pairs, 7 rounds by default
 *
 * CPU time of nest: of the whole process, from start to end, in runs of 3 and of 10 seconds beside a client and a
 * server that exchange 64 bytes a thousand times per second. CPU time of an exchange: of both its ends, with and
 * without a look. The two stand next to each other in time, and the median of the pairs counts: other work on the
 * machine drowns anything else.
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>

#include "bench.h"

#define PORT          7004
#define WINDOW_NS     (400 * NS_PER_MS)
#define BEGIN_NS      (900 * NS_PER_MS) /* until a look has loaded its programs and knows the connection */

#define GOAL_SELF     1.5 /* percent of a CPU */
#define GOAL_EXCHANGE 1.02

/* --- the exchange --- */

static void private_network(void)
{
	if (unshare(CLONE_NEWNET) < 0)
		die("a namespace of its own (needs root)");
	bring_up_loopback();
}

static struct sockaddr_in place(void)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr = {htonl(INADDR_LOOPBACK)}};
}

static int connect_there(void)
{
	struct sockaddr_in to = place();
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connecting");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return fd;
}

static void exchange(int fd)
{
	char data[64] = {};

	if (send(fd, data, sizeof(data), MSG_NOSIGNAL) < 0 || recv(fd, data, sizeof(data), MSG_WAITALL) <= 0)
		die("the exchange");
}

static void exchange_steadily(int fd)
{
	const struct timespec pause = {.tv_nsec = NS_PER_MS};

	for (;;) {
		exchange(fd);
		(void)nanosleep(&pause, NULL);
	}
}

/* --- nest by itself --- */

static pid_t look(const char *seconds)
{
	pid_t pid = fork();

	if (pid < 0)
		die("starting a process");
	if (pid == 0) {
		int nothing = open("/dev/null", O_RDWR);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
			_exit(126);
		(void)execl(nest, nest, "diagnose", "-d", seconds, NULL);
		_exit(127);
	}
	return pid;
}

static double seconds_of(const struct timeval *time)
{
	return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

/* CPU time of a run, in percent of its duration. */
static double share_of(const char *seconds, double *ret_ms)
{
	uint64_t begin_ns = clock_monotonic_ns();
	pid_t pid = look(seconds);
	struct rusage used;
	int status;

	if (wait4(pid, &status, 0, &used) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) >= 126)
		die("nest diagnose");
	*ret_ms = (seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime)) * 1e3;
	return *ret_ms / ((double)(clock_monotonic_ns() - begin_ns) / NS_PER_MS) * 100;
}

static void bench_self(const char *seconds, unsigned rounds, double goal)
{
	double ms[RUNS_MAX], share[RUNS_MAX];
	int listener = listen_at(PORT), fd;
	pid_t server = start(echo, listener), client;

	fd = connect_there();
	client = start(exchange_steadily, fd);
	for (unsigned i = 0; i < rounds; i++)
		share[i] = share_of(seconds, &ms[i]);
	stop(client, SIGKILL);
	stop(server, SIGKILL);
	(void)close(fd);
	(void)close(listener);
	printf("nest diagnose -d %s takes %.0f ms of CPU time, %.2f %% of a CPU", seconds, median(ms, rounds),
	       median(share, rounds));
	verdict(goal == 0 || median(share, rounds) <= goal);
}

/* --- what it looks at --- */

/* CPU time of both ends per exchange. */
static double cpu_of_exchange(int fd, pid_t server, uint64_t window_ns)
{
	uint64_t before_ns = cpu_ns(getpid()) + cpu_ns(server), end_ns = clock_monotonic_ns() + window_ns, count = 0;

	while (clock_monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 50; i++, count++)
			exchange(fd);
	return (double)(cpu_ns(getpid()) + cpu_ns(server) - before_ns) / (double)count;
}

static double cpu_under_look(int fd, pid_t server)
{
	pid_t pid = look("60");
	double ns;

	(void)cpu_of_exchange(fd, server, BEGIN_NS);
	ns = cpu_of_exchange(fd, server, WINDOW_NS);
	if (waitpid(pid, NULL, WNOHANG) != 0)
		die("nest diagnose ended by itself");
	stop(pid, SIGINT);
	return ns;
}

static void bench_exchange(unsigned pairs)
{
	double ratios[RUNS_MAX], bare[RUNS_MAX];
	int listener = listen_at(PORT), fd;
	pid_t server = start(echo, listener);

	fd = connect_there();
	(void)cpu_of_exchange(fd, server, WINDOW_NS);
	for (unsigned i = 0; i < pairs; i++) {
		double with, without = 0;

		if (i % 2)
			without = cpu_of_exchange(fd, server, WINDOW_NS);
		with = cpu_under_look(fd, server);
		if (i % 2 == 0)
			without = cpu_of_exchange(fd, server, WINDOW_NS);
		ratios[i] = with / without;
		bare[i] = without;
	}
	(void)close(fd);
	(void)close(listener);
	stop(server, SIGKILL);
	printf("an exchange of 64 bytes, %.1f us of CPU time, takes %.3f times as much during a look",
	       median(bare, pairs) / NS_PER_US, median(ratios, pairs));
	verdict(median(ratios, pairs) <= GOAL_EXCHANGE);
}

int main(int argc, char **argv)
{
	unsigned pairs = argument(argc, argv, 1, RUNS_MAX, 20), rounds = argument(argc, argv, 2, RUNS_MAX, 7);

	find_nest();
	setvbuf(stdout, NULL, _IOLBF, 0);
	private_network();
	/* Shown without the goal, which it misses: most of it is the start, which longer runs pay once as well. */
	bench_self("3", rounds, 0);
	bench_self("10", rounds > 3 ? 3 : rounds, GOAL_SELF);
	bench_exchange(pairs);
	return missed;
}
