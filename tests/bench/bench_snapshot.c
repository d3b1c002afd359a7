/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a snapshot takes beside ss, and what watching costs. Everything happens on the loopback of a network namespace
 * without a name, which goes when this program ends, however it ends.
 *
 *	bench_snapshot [CONNECTIONS [WATCHED]]       50000 and 10000 unless told; both ends of each are here
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/parse.h"
#include "snapshot/owner.h"
#include "snapshot/process.h"
#include "snapshot/socket.h"

#define HOLDERS     50
#define ROUNDS      5
#define WATCH_HZ    10
#define WATCH_LOOKS 40

/* The goals: a full snapshot with owners beside ss, and the share of a processor that ten sub-samples a second take. */
#define GOAL_TIEPM  50
#define GOAL_TINP   40
#define GOAL_NO_BPF 20
#define GOAL_WATCH  0.05

static bool missed;

static _noreturn_ void die(const char *what)
{
	fprintf(stderr, "bench_snapshot: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void private_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_close_ int fd = -1;

	if (unshare(CLONE_NEWNET) < 0)
		die("a network namespace of its own (needs root)");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		die("bringing up the loopback");
}

/* Opens its share of the connections, both ends, says so, and waits to be ended. */
static _noreturn_ void hold(unsigned number, unsigned connections, int ready)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f010000 + number), .sin_port = htons(7000)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (bind(listener, (struct sockaddr *)&to, sizeof(to)) < 0 || listen(listener, 16) < 0)
		die("listen");
	for (unsigned i = 0; i < connections; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 || accept(listener, NULL, NULL) < 0)
			die("connect");
	}
	if (write(ready, "", 1) != 1)
		die("write");
	for (;;)
		pause();
}

static void start_holders(unsigned connections, pid_t pids[HOLDERS])
{
	int ready[2];
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0)
		die("pipe");
	for (unsigned i = 0; i < HOLDERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (pids[i] == 0) {
			(void)close(ready[0]);
			hold(i + 1, connections / HOLDERS, ready[1]);
		}
	}
	(void)close(ready[1]);
	for (unsigned i = 0; i < HOLDERS; i++)
		if (read(ready[0], &byte, 1) != 1)
			die("a holder of connections failed");
	(void)close(ready[0]);
}

static void end_holders(const pid_t pids[HOLDERS])
{
	for (unsigned i = 0; i < HOLDERS; i++)
		(void)kill(pids[i], SIGKILL);
	for (unsigned i = 0; i < HOLDERS; i++)
		(void)waitpid(pids[i], NULL, 0);
}

/* Processor time of this process or of those that it waited for. */
static double cpu_ms(int who)
{
	struct rusage usage;

	(void)getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
}

/* On a host that others use too, the time on the clock says as much about them; processor time is told beside it. */
struct times {
	double wall_ms;
	double cpu_ms;
};

static struct times run_ss(const char *flags)
{
	uint64_t begin = clock_monotonic_ns();
	double cpu = cpu_ms(RUSAGE_CHILDREN);
	pid_t pid = fork();
	int status;

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		(void)dup2(null, STDOUT_FILENO);
		execlp("ss", "ss", flags, NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("ss failed; is iproute2 installed?");
	return (struct times){(double)(clock_monotonic_ns() - begin) / 1e6, cpu_ms(RUSAGE_CHILDREN) - cpu};
}

/* Best of several, each with a snapshot of its own: loading and allocating are part of it. */
static struct times run_full(const struct snapshot_request *request, size_t sockets)
{
	struct times best = {1e18, 1e18};

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t begin = clock_monotonic_ns();
		double cpu = cpu_ms(RUSAGE_SELF);
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		struct why why = {};

		if (snapshot_take(snapshot, request, &why) < 0)
			die(why.text);
		best.wall_ms = min_of(best.wall_ms, (double)(clock_monotonic_ns() - begin) / 1e6);
		best.cpu_ms = min_of(best.cpu_ms, cpu_ms(RUSAGE_SELF) - cpu);
		if (snapshot_table(snapshot, &socket_type)->count < sockets ||
		    snapshot_table(snapshot, &owner_type)->count < sockets ||
		    snapshot_table(snapshot, &gap_type)->count > 0) {
			fprintf(stderr, "bench_snapshot: %zu sockets, %zu owners, %zu gaps; expected %zu\n",
				snapshot_table(snapshot, &socket_type)->count,
				snapshot_table(snapshot, &owner_type)->count,
				snapshot_table(snapshot, &gap_type)->count, sockets);
			exit(2);
		}
	}
	return best;
}

static void goal(const char *what, double figure, double wanted, bool at_least)
{
	bool met = at_least ? figure >= wanted : figure <= wanted;

	missed |= !met;
	printf("%-52s %8.3f  goal %s %g  %s\n", what, figure, at_least ? ">=" : "<=", wanted, met ? "met" : "MISSED");
}

static void show(const char *what, struct times times)
{
	printf("%-52s %8.1f %8.1f\n", what, times.wall_ms, times.cpu_ms);
}

static void bench_full(unsigned connections)
{
	static const struct record_type *const sockets_only[] = {&socket_type, &tcp_type, &owner_type, &process_type,
								 NULL};
	size_t sockets = 2 * (size_t)connections;
	struct times full, plain, narrow, tiepm, tinp;
	pid_t pids[HOLDERS];

	private_network();
	start_holders(connections, pids);
	full = run_full(&(struct snapshot_request){}, sockets);
	plain = run_full(&(struct snapshot_request){.no_bpf = true}, sockets);
	narrow = run_full(&(struct snapshot_request){.types = sockets_only}, sockets);
	tinp = run_ss("-tinp");
	tiepm = run_ss("-tiepm");
	end_holders(pids);
	printf("%u connections, %zu sockets, %d processes, best of %d, ms: wall, processors\n", connections, sockets,
	       HOLDERS, ROUNDS);
	show("full snapshot with owners", full);
	show("full snapshot without BPF", plain);
	show("sockets, owners and processes alone", narrow);
	show("ss -tinp", tinp);
	show("ss -tiepm", tiepm);
	goal("ss -tiepm / full snapshot", tiepm.wall_ms / full.wall_ms, GOAL_TIEPM, true);
	goal("ss -tinp / full snapshot", tinp.wall_ms / full.wall_ms, GOAL_TINP, true);
	goal("ss -tiepm / full snapshot without BPF", tiepm.wall_ms / plain.wall_ms, GOAL_NO_BPF, true);
	goal("ss -tinp / full snapshot without BPF", tinp.wall_ms / plain.wall_ms, GOAL_NO_BPF, true);
}

static double watch(const struct snapshot_request *request)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	uint64_t next = clock_monotonic_ns(), begin;
	struct why why = {};
	double before;

	/* The first look finds the owners and loads what is loaded once. */
	if (snapshot_take(snapshot, request, &why) < 0)
		die(why.text);
	before = cpu_ms(RUSAGE_SELF);
	begin = clock_monotonic_ns();
	for (unsigned i = 0; i < WATCH_LOOKS; i++) {
		struct timespec until;

		next += NSEC_PER_SEC / WATCH_HZ;
		until = (struct timespec){(time_t)(next / NSEC_PER_SEC), (long)(next % NSEC_PER_SEC)};
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (snapshot_take(snapshot, request, &why) < 0)
			die(why.text);
	}
	return (cpu_ms(RUSAGE_SELF) - before) * 1e6 / (double)(clock_monotonic_ns() - begin);
}

static void bench_watch(unsigned connections)
{
	static const struct record_type *const types[] = {&socket_type, &tcp_type, &owner_type, &thread_type, NULL};
	pid_t pids[HOLDERS];
	double active, all;

	private_network();
	start_holders(connections, pids);
	all = watch(&(struct snapshot_request){.types = types, .repeated = true});
	active = watch(&(struct snapshot_request){.types = types, .repeated = true, .active_only = true});
	end_holders(pids);
	printf("%u idle connections, %u sockets, %d looks a second, share of one processor\n", connections,
	       2 * connections, WATCH_HZ);
	printf("%-52s %8.3f\n", "every socket in full", all);
	goal("sockets on which something happens, and threads", active, GOAL_WATCH, false);
}

static unsigned number_argument(int argc, char **argv, int index, unsigned otherwise)
{
	uint64_t value = otherwise;

	if (index < argc && parse_u64(argv[index], 0, 1000000, &value) < 0) {
		fprintf(stderr, "usage: bench_snapshot [CONNECTIONS [WATCHED]]\n");
		exit(2);
	}
	return (unsigned)value / HOLDERS * HOLDERS;
}

int main(int argc, char **argv)
{
	unsigned connections = number_argument(argc, argv, 1, 50000), watched = number_argument(argc, argv, 2, 10000);

	setlinebuf(stdout); /* a forked holder must not print it again */
	if (watched)
		bench_watch(watched);
	if (connections)
		bench_full(connections);
	return missed;
}
