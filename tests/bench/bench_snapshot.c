/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a snapshot takes beside ss, and what watching costs. Everything happens on the loopback of a network
 * namespace without a name, which goes when this program ends, however it ends.
 *
 *	bench_snapshot [CONNECTIONS [WATCHED]]       50000 and 10000 by default; both ends of each are here
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
#include "probe/wire_tap.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"

#define HOLDERS     50
#define CYCLES      3 /* of everything that is compared, one after the other */
#define LOOKS       4 /* of each kind in a cycle */
#define WATCH_HZ    10
#define WATCH_LOOKS 40

/* The goals: a full snapshot with owners beside ss, and the share of a CPU that ten sub-samples a second take. */
#define GOAL_TIEPM   50
#define GOAL_TINP    40
#define GOAL_NO_BPF  20
#define GOAL_COMMAND 50
#define GOAL_WATCH   0.05
/* Of a CPU, for the packet sockets of a diagnosis while 200,000 packets a second go by. */
#define GOAL_TAPS   0.05
#define TAPS        4 /* none, the one, the other, both */
#define TAP_ROUNDS  8
#define TAP_PACKETS 50000

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

/* On a shared host wall time says as much about the others: CPU time is reported beside it. */
struct times {
	double wall_ms;
	double cpu_ms;
};

/* The program that was built with this one. */
static const char *nest_path(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *build;

	if (n < 0)
		die("/proc/self/exe");
	path[n] = '\0';
	build = strstr(path, "/tests/bench/");
	if (!build || build + sizeof("/nest") > path + sizeof(path)) {
		errno = ENOENT;
		die(path);
	}
	memcpy(build, "/nest", sizeof("/nest"));
	return path;
}

/* A command whose output nobody reads. */
static struct times run_command(const char *program, const char *argument, const char *second)
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
		(void)dup2(null, STDERR_FILENO);
		execlp(program, program, argument, second, NULL);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die(program);
	return (struct times){(double)(clock_monotonic_ns() - begin) / 1e6, cpu_ms(RUSAGE_CHILDREN) - cpu};
}

/* What one kind of look took, each time. */
struct series {
	const char *what;
	struct snapshot_request request;
	const char *ss; /* or the flags that ss is run with */
	bool command;   /* or the command that shows it all */
	struct times times[CYCLES * LOOKS];
	unsigned count;
};

static void check_complete(const struct snapshot *snapshot, size_t sockets)
{
	size_t found = snapshot_table(snapshot, &socket_type)->count,
	       owners = snapshot_table(snapshot, &owner_type)->count, gaps = snapshot_table(snapshot, &gap_type)->count;

	if (found >= sockets && owners >= sockets && gaps == 0)
		return;
	fprintf(stderr, "bench_snapshot: %zu sockets, %zu owners, %zu gaps; expected %zu\n", found, owners, gaps,
		sockets);
	exit(2);
}

/* Each with a snapshot of its own: loading and allocating are part of it. */
static struct times take(const struct snapshot_request *request, size_t sockets)
{
	uint64_t begin = clock_monotonic_ns();
	double cpu = cpu_ms(RUSAGE_SELF);
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct why why = {};
	struct times times;

	if (snapshot_take(snapshot, request, &why) < 0)
		die(why.text);
	times = (struct times){(double)(clock_monotonic_ns() - begin) / 1e6, cpu_ms(RUSAGE_SELF) - cpu};
	check_complete(snapshot, sockets);
	return times;
}

static void run_cycle(struct series *series, size_t sockets)
{
	if (series->ss) {
		series->times[series->count++] = run_command("ss", series->ss, NULL);
		return;
	}
	for (unsigned i = 0; i < LOOKS; i++)
		series->times[series->count++] = series->command ? run_command(nest_path(), "sockets", "--tcp")
								 : take(&series->request, sockets);
}

static int by_wall(const void *a, const void *b)
{
	double x = ((const struct times *)a)->wall_ms, y = ((const struct times *)b)->wall_ms;

	return x < y ? -1 : x > y;
}

static double best(const struct series *series)
{
	return series->times[0].wall_ms;
}

static void show(struct series *series)
{
	double cpu = 1e18;

	qsort(series->times, series->count, sizeof(series->times[0]), by_wall);
	for (unsigned i = 0; i < series->count; i++)
		cpu = min_of(cpu, series->times[i].cpu_ms);
	printf("%-52s %8.1f %8.1f %8.1f\n", series->what, best(series), series->times[series->count / 2].wall_ms, cpu);
}

static void goal(const char *what, double figure, double wanted, bool at_least)
{
	bool met = at_least ? figure >= wanted : figure <= wanted;

	missed |= !met;
	printf("%-52s %8.3f  goal %s %g  %s\n", what, figure, at_least ? ">=" : "<=", wanted, met ? "met" : "MISSED");
}

static void bench_full(unsigned connections)
{
	static const struct record_type *const sockets_only[] = {&socket_type, &tcp_type, &owner_type, &process_type,
								 NULL};
	struct series all[] = {
		{.what = "full snapshot with owners"},
		{.what = "full snapshot without BPF", .request.no_bpf = true},
		{.what = "sockets, owners and processes alone", .request.types = sockets_only},
		{.what = "nest sockets --tcp", .command = true},
		{.what = "ss -tinp", .ss = "-tinp"},
		{.what = "ss -tiepm", .ss = "-tiepm"},
	};
	const struct series *full = &all[0], *plain = &all[1], *command = &all[3], *tinp = &all[4], *tiepm = &all[5];
	size_t sockets = 2 * (size_t)connections;
	pid_t pids[HOLDERS];

	private_network();
	start_holders(connections, pids);
	for (unsigned cycle = 0; cycle < CYCLES; cycle++)
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			run_cycle(&all[i], sockets);
	end_holders(pids);
	printf("%u connections, %zu sockets, %d processes, ms: best and median on the clock, best of the CPUs\n",
	       connections, sockets, HOLDERS);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		show(&all[i]);
	goal("ss -tiepm / full snapshot", best(tiepm) / best(full), GOAL_TIEPM, true);
	goal("ss -tinp / full snapshot", best(tinp) / best(full), GOAL_TINP, true);
	goal("ss -tiepm / nest sockets", best(tiepm) / best(command), GOAL_COMMAND, true);
	goal("ss -tiepm / full snapshot without BPF", best(tiepm) / best(plain), GOAL_NO_BPF, true);
	goal("ss -tinp / full snapshot without BPF", best(tinp) / best(plain), GOAL_NO_BPF, true);
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
	printf("%u idle connections, %u sockets, %d looks a second, share of one CPU\n", connections, 2 * connections,
	       WATCH_HZ);
	printf("%-52s %8.3f\n", "every socket in full", all);
	goal("sockets on which something happens, and threads", active, GOAL_WATCH, false);
}

/* CPU time of a small datagram over the loopback, from the sending call to the drop at a full socket. */
static double packet_ns(int from, int packets)
{
	char byte = 0;
	double before = cpu_ms(RUSAGE_SELF);

	for (int i = 0; i < packets; i++)
		(void)send(from, &byte, 1, 0);
	return (cpu_ms(RUSAGE_SELF) - before) * 1e6 / packets;
}

static int open_flow_tap(struct why *why)
{
	struct wire_flow flows[WIRE_FLOWS_MAX];
	int fd = wire_tap_open(why);

	for (unsigned i = 0; i < WIRE_FLOWS_MAX; i++)
		flows[i] = (struct wire_flow){(uint16_t)(40000 + i), (uint16_t)(50000 + i)};
	if (fd < 0 || wire_tap_set_flows(fd, flows, WIRE_FLOWS_MAX) < 0)
		die("a packet socket");
	return fd;
}

struct taps {
	const char *what;
	bool news, lookups, flows;
	double ns; /* the least */
};

static void bench_with(struct taps *taps, int from)
{
	struct why why = {};
	int news = taps->news ? wire_tap_open(&why) : -1, flows = taps->flows ? open_flow_tap(&why) : -1;
	double ns;

	if (taps->lookups)
		(void)!wire_tap_want(news, WIRE_WANTED_DATAGRAMS);
	ns = packet_ns(from, TAP_PACKETS);
	taps->ns = taps->ns ? min_of(taps->ns, ns) : ns;
	closep(&news);
	closep(&flows);
}

/* What the packet sockets of a diagnosis add to every packet that they do not want. */
static void bench_taps(void)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(7000)};
	struct taps all[] = {
		{.what = "no packet socket"},
		{.what = "resets are looked for", .news = true},
		{.what = "resets and lookups are looked for", .news = true, .lookups = true},
		{.what = "segments of 16 silent connections are looked for", .flows = true},
		{.what = "these and resets", .news = true, .flows = true},
	};
	_cleanup_close_ int sink = -1, from = -1;

	private_network();
	sink = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (bind(sink, (struct sockaddr *)&to, sizeof(to)) < 0 || connect(from, (struct sockaddr *)&to, sizeof(to)) < 0)
		die("sockets for packets");
	for (unsigned round = 0; round < TAP_ROUNDS; round++)
		for (size_t i = 0; i < ARRAY_SIZE(all); i++)
			bench_with(&all[i], from);
	printf("packets that no packet socket wants: ns of CPU time each, and of a CPU at 200,000 a "
	       "second\n");
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		printf("%-52s %8.1f %8.3f\n", all[i].what, all[i].ns, (all[i].ns - all[0].ns) * 200000 / 1e9);
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
	bench_taps();
	if (watched)
		bench_watch(watched);
	if (connections)
		bench_full(connections);
	return missed;
}
