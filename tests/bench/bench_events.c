/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What watching events costs, beside libbpf-tools where they are installed (Debian: libbpf-tools). Everything happens
 * on the loopback of a network namespace without a name, which goes when this program ends, however it ends.
 *
 *	bench_events [PAIRS [CONNECTIONS [ROUNDS]]]       20 pairs, bursts of 5000 connections, 7 rounds by default
 *
 * Three questions: how long until the first event, and with how much memory; how much slower a burst of connections is;
 * how much CPU time an exchange of 64 bytes takes with and without a tool that adds up (the two stand next to
 * each other in time, and the median of the pairs counts: other work on the machine drowns anything else).
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include "bench.h"

#define PEER          "/usr/sbin/tcplife"
#define WINDOW_NS     (150 * NS_PER_MS)

#define GOAL_FIRST_MS 50
#define GOAL_FIRST    1.3 /* times that of libbpf-tools */
#define GOAL_RSS_MB   16
#define GOAL_BURST    1.25
#define GOAL_CPU      1.05

/* --- the place --- */

static void private_network(void)
{
	if (unshare(CLONE_NEWNET | CLONE_NEWNS) < 0)
		die("namespaces of its own (needs root)");
	/* libbpf-tools need these; where they are mounted already, nothing changes. */
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		die("mounts of its own");
	(void)mount("nodev", "/sys/kernel/tracing", "tracefs", 0, NULL);
	(void)mount("nodev", "/sys/kernel/debug", "debugfs", 0, NULL);
	bring_up_loopback();
}

/* Source addresses in turn: ports that were just used stay used for a while. */
static int connect_to(uint16_t port, unsigned turn)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = {htonl(0x7f000001 + turn % 200)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("connecting");
	return fd;
}

static void accept_and_close(int listener)
{
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;)
		(void)close(fd);
}

static void pin_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* --- the programs that watch --- */

struct watcher {
	pid_t pid;
	int out_fd; /* a terminal's other side: what is written arrives line by line */
	int err_fd;
};

static struct watcher watch(const char *const *argv)
{
	struct watcher watcher = {.out_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)};
	int error[2], terminal;

	if (watcher.out_fd < 0 || grantpt(watcher.out_fd) < 0 || unlockpt(watcher.out_fd) < 0 ||
	    pipe2(error, O_CLOEXEC) < 0)
		die("a terminal");
	/* Opened before anybody reads the other side, which takes a terminal without users for one that was hung up. */
	terminal = open(ptsname(watcher.out_fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		die("a terminal");
	watcher.err_fd = error[0];
	watcher.pid = fork();
	if (watcher.pid < 0)
		die("starting a process");
	if (watcher.pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (dup2(terminal, STDOUT_FILENO) < 0 || dup2(error[1], STDERR_FILENO) < 0)
			_exit(126);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	(void)close(terminal);
	(void)close(error[1]);
	return watcher;
}

/* Reads until a line holds the word or the time is over; never blocks. */
static bool wait_for_word(int fd, const char *word, int limit_ms)
{
	char text[65536];
	size_t len = 0;
	uint64_t end_ns = clock_monotonic_ns() + (uint64_t)limit_ms * NS_PER_MS;

	while (clock_monotonic_ns() < end_ns) {
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&ready, 1, 20) <= 0)
			continue;
		if (len > sizeof(text) / 2)
			len = 0;
		n = read(fd, text + len, sizeof(text) - 1 - len);
		if (n <= 0)
			return false;
		len += (size_t)n;
		text[len] = '\0';
		if (strstr(text, word))
			return true;
	}
	return false;
}

/* Ended in order. */
static void unwatch(struct watcher *watcher)
{
	(void)kill(watcher->pid, SIGINT);
	while (waitpid(watcher->pid, NULL, WNOHANG) == 0) {
		struct pollfd ready = {.fd = watcher->out_fd, .events = POLLIN};
		char nothing[65536];

		/* It may have much to say still. */
		if (poll(&ready, 1, 5) > 0)
			(void)!read(watcher->out_fd, nothing, sizeof(nothing));
	}
	(void)close(watcher->out_fd);
	(void)close(watcher->err_fd);
}

/* --- the first event --- */

static uint64_t peak_bytes(pid_t pid)
{
	char path[64], line[256];
	unsigned long kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "VmHWM:", 6) == 0) {
			uint64_t value;

			line[strcspn(line, "k") - 1] = '\0';
			if (parse_decimal(line + 6 + strspn(line + 6, " \t"), 0, UINT64_MAX, &value) == 0)
				kib = value;
		}
	if (file)
		(void)fclose(file);
	return (uint64_t)kib << 10;
}

static void connect_steadily(int listener _unused_)
{
	for (unsigned i = 0;; i++) {
		struct timespec pause = {.tv_nsec = 2 * NS_PER_MS};

		(void)close(connect_to(7001, i));
		(void)nanosleep(&pause, NULL);
	}
}

/* Milliseconds from the start to the first row; the peak of its memory. */
static double first_event(const char *const *argv, double *ret_mib)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct watcher watcher = watch(argv);
	double ms;

	if (!wait_for_word(watcher.out_fd, "127.0.0.1", 10000))
		die("no event came");
	ms = (double)(clock_monotonic_ns() - begin_ns) / NS_PER_MS;
	*ret_mib = (double)peak_bytes(watcher.pid) / (1 << 20);
	unwatch(&watcher);
	return ms;
}

static void bench_start(unsigned rounds, bool with_peer)
{
	const char *const mine[] = {nest, "tcplife", NULL}, *const peer[] = {PEER, NULL};
	double ms[RUNS_MAX], mib[RUNS_MAX], peer_ms[RUNS_MAX], peer_mib[RUNS_MAX];
	int listener = listen_at(7001);
	pid_t server = start(accept_and_close, listener), client = start(connect_steadily, -1);

	for (unsigned i = 0; i < rounds; i++) {
		ms[i] = first_event(mine, &mib[i]);
		if (with_peer)
			peer_ms[i] = first_event(peer, &peer_mib[i]);
	}
	stop(client, SIGKILL);
	stop(server, SIGKILL);
	(void)close(listener);
	/* Sorted from here on: the first is the best. */
	(void)median(ms, rounds);
	(void)median(peer_ms, with_peer ? rounds : 0);
	printf("first event of tcplife: %.0f ms, best of %u %.0f ms, peak of memory %.1f MiB", median(ms, rounds),
	       rounds, ms[0], median(mib, rounds));
	if (with_peer)
		printf("; libbpf-tools %.0f ms, %.0f ms, %.1f MiB: %.2f times as long, %.1f times the memory",
		       median(peer_ms, rounds), peer_ms[0], median(peer_mib, rounds),
		       median(ms, rounds) / median(peer_ms, rounds), median(mib, rounds) / median(peer_mib, rounds));
	verdict(ms[0] <= GOAL_FIRST_MS && median(mib, rounds) <= GOAL_RSS_MB &&
		(!with_peer || median(ms, rounds) <= GOAL_FIRST * median(peer_ms, rounds)));
}

/* --- a burst of connections --- */

static double burst_ms(unsigned connections, uint16_t port)
{
	uint64_t begin_ns = clock_monotonic_ns();

	for (unsigned i = 0; i < connections; i++)
		(void)close(connect_to(port, i));
	return (double)(clock_monotonic_ns() - begin_ns) / NS_PER_MS;
}

/* What a watcher writes must be read, or it waits and the burst is watched by nobody. */
static void drain(int fd)
{
	char nothing[65536];

	while (read(fd, nothing, sizeof(nothing)) > 0)
		;
}

static double watched_burst(const char *const *argv, const char *ready, unsigned connections, uint16_t port)
{
	struct watcher watcher = watch(argv);
	pid_t reader;
	double ms;

	if (ready ? !wait_for_word(watcher.err_fd, ready, 10000) : !wait_for_word(watcher.out_fd, "PID", 10000))
		die("a watcher did not begin");
	reader = start(drain, watcher.out_fd);
	ms = burst_ms(connections, port);
	stop(reader, SIGKILL);
	unwatch(&watcher);
	return ms;
}

static void bench_burst(unsigned rounds, unsigned connections, bool with_peer)
{
	const char *const mine[] = {nest, "tcplife", NULL}, *const peer[] = {PEER, NULL};
	double bare[RUNS_MAX], ratio[RUNS_MAX], peer_ratio[RUNS_MAX];
	int listener = listen_at(7002);
	pid_t server = start(accept_and_close, listener);

	(void)burst_ms(connections, 7002);
	for (unsigned i = 0; i < rounds; i++) {
		bare[i] = burst_ms(connections, 7002);
		ratio[i] = watched_burst(mine, "ready", connections, 7002) / bare[i];
		if (with_peer)
			peer_ratio[i] = watched_burst(peer, NULL, connections, 7002) / bare[i];
	}
	stop(server, SIGKILL);
	(void)close(listener);
	printf("a burst of %u connections takes %.2f times as long under tcplife", connections, median(ratio, rounds));
	if (with_peer)
		printf("; under that of libbpf-tools %.2f times", median(peer_ratio, rounds));
	verdict(median(ratio, rounds) <= GOAL_BURST);
}

/* --- an exchange of 64 bytes --- */

/* Processor time of both ends, and of whoever watches, for one exchange. */
static double cpu_of_exchange(int fd, pid_t server, pid_t watcher)
{
	uint64_t before_ns = cpu_ns(getpid()) + cpu_ns(server) + cpu_ns(watcher),
		 end_ns = clock_monotonic_ns() + WINDOW_NS;
	uint64_t count = 0;
	char data[64] = {};

	while (clock_monotonic_ns() < end_ns)
		for (unsigned i = 0; i < 50; i++, count++)
			if (send(fd, data, sizeof(data), MSG_NOSIGNAL) < 0 ||
			    recv(fd, data, sizeof(data), MSG_WAITALL) < 0)
				die("the exchange");
	return (double)(cpu_ns(getpid()) + cpu_ns(server) + cpu_ns(watcher) - before_ns) / (double)count;
}

static void bench_cpu(const char *name, const char *const *argv, unsigned pairs, double goal)
{
	int listener = listen_at(7003), yes = 1, fd;
	pid_t server = start(echo, listener);
	double ratios[RUNS_MAX], bare[RUNS_MAX];

	fd = connect_to(7003, 0);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	(void)cpu_of_exchange(fd, server, 0);
	for (unsigned i = 0; i < pairs; i++) {
		struct watcher watcher;
		double with, without = 0;

		if (i % 2)
			without = cpu_of_exchange(fd, server, 0);
		watcher = watch(argv);
		if (!wait_for_word(watcher.err_fd, "ready", 10000))
			die("a watcher did not begin");
		with = cpu_of_exchange(fd, server, watcher.pid);
		unwatch(&watcher);
		if (i % 2 == 0)
			without = cpu_of_exchange(fd, server, 0);
		ratios[i] = with / without;
		bare[i] = without;
	}
	(void)close(fd);
	(void)close(listener);
	stop(server, SIGKILL);
	printf("an exchange of 64 bytes, %.1f us of CPU time, takes %.3f times as much under %s",
	       median(bare, pairs) / NS_PER_US, median(ratios, pairs), name);
	verdict(goal == 0 || median(ratios, pairs) <= goal);
}

/* Nothing of the exchange, and nothing of what other programs do meanwhile: that would be written by nest itself. */
#define LARGE "bytes > 1000 and (lport == 7003 or rport == 7003)"

int main(int argc, char **argv)
{
	static const char *const names[][8] = {
		{nest, "socketio", NULL},
		{nest, "trace", "sock.send", "--hist", "bytes", "--by", "comm", NULL},
		{nest, "tcprtt", NULL},
		{nest, "svclat", NULL},
		{nest, "trace", "sock.send,sock.recv", "--where", LARGE, NULL},
	};
	static const char *const words[] = {"socketio", "trace sock.send --hist bytes --by comm", "tcprtt", "svclat",
					    "trace sock.send,sock.recv --where '" LARGE "'"};
	unsigned pairs = argument(argc, argv, 1, RUNS_MAX, 20), connections = argument(argc, argv, 2, 1000000, 5000);
	unsigned rounds = argument(argc, argv, 3, RUNS_MAX, 7);
	bool with_peer = access(PEER, X_OK) == 0;

	find_nest();
	setvbuf(stdout, NULL, _IOLBF, 0);
	private_network();
	if (!with_peer)
		printf("libbpf-tools are not installed: no comparison with their tcplife\n");
	bench_start(rounds, with_peer);
	bench_burst(rounds, connections, with_peer);
	pin_to(0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		bench_cpu(words[i], names[i], pairs, GOAL_CPU);
	return missed;
}
