/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost of tracing packets: CPU time of a 64-byte request/response over a virtual link between two network namespaces
 * (both ends, their softirqs, and the tracer), with and without tracing, interleaved; the median of the pairs counts.
 * The namespaces are unnamed and vanish when this program ends.
 *
 *   bench_path [PAIRS [hits]]    PAIRS: 20 by default; hits: passes of each hook per exchange, and their duration
 *
 * The exchanges cycle over 64 connections, so that one flow in 64 is about one of them. Each configuration is also
 * measured with empty programs at the same hooks: the lower bound for any tracer with these hooks.
 *
 * Exit status 1: a goal was missed. Needs root.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "path/source/journey_source.h"

#define FLOWS     64
#define PAIRS_MAX 200
#define HOOKS_MAX 64
#define WINDOW_NS UINT64_C(150000000)
#define PORT      7001
/* Exclude the cost of other work on the host. */
#define OURS "proto == tcp and (lport == 7001 or rport == 7001)"

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

/* Replies on its connections in turn. */
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

/* --- the tracer --- */

static void count(void *context, const struct journey *journey _unused_)
{
	(*(uint64_t *)context)++;
}

static _noreturn_ void follow(const struct journey_source_options *options, int ready)
{
	struct journey_source *source;
	uint64_t journeys = 0;
	struct why why = {};
	struct loop *loop;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (loop_new(&loop) < 0 || journey_source_open(options, &source, &why) < 0 ||
	    journey_source_start(source, loop, count, &journeys, &why) < 0) {
		fprintf(stderr, "bench_path: %s\n", why.text);
		_exit(2);
	}
	if (write(ready, "", 1) != 1)
		_exit(2);
	(void)loop_run(loop);
	_exit(0);
}

/* --- hooks in use --- */

struct hook {
	uint32_t program;
	uint32_t type; /* of the tracepoint, in the kernel's BTF */
	char name[BPF_OBJ_NAME_LEN];
	uint64_t runs;
	uint64_t ns;
};

struct hooks {
	unsigned count;
	struct hook hooks[HOOKS_MAX];
};

static bool read_program(uint32_t id, struct hook *hook)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id), r;

	if (fd < 0)
		return false;
	r = bpf_obj_get_info_by_fd(fd, &info, &size);
	(void)close(fd);
	if (r < 0 || info.type != BPF_PROG_TYPE_TRACING || !info.attach_btf_id)
		return false;
	*hook = (struct hook){.program = id, .type = info.attach_btf_id, .runs = info.run_cnt, .ns = info.run_time_ns};
	memcpy(hook->name, info.name, sizeof(hook->name));
	return true;
}

/* The program of a link; 0: not a link. */
static uint32_t linked_program(int directory, const char *name)
{
	char text[1024] = {}, *at;
	uint64_t id = 0;
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	(void)close(fd);
	at = strstr(text, "link_type:\traw_tracepoint") ? strstr(text, "prog_id:") : NULL;
	if (!at)
		return 0;
	at += strlen("prog_id:");
	at += strspn(at, " \t");
	at[strcspn(at, "\n")] = 0;
	return parse_decimal(at, 1, UINT32_MAX, &id) < 0 ? 0 : (uint32_t)id;
}

static void find_hooks(pid_t watcher, struct hooks *hooks)
{
	char path[64];
	struct dirent *entry;
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)watcher);
	directory = opendir(path);
	if (!directory)
		die(path);
	hooks->count = 0;
	while ((entry = readdir(directory)) && hooks->count < HOOKS_MAX) {
		uint32_t id = linked_program(dirfd(directory), entry->d_name);

		if (id && read_program(id, &hooks->hooks[hooks->count]))
			hooks->count++;
	}
	(void)closedir(directory);
	if (!hooks->count)
		die("the follower's hooks");
}

/* Attaches empty programs to the same hooks. */
static _noreturn_ void attach_empty(const struct hooks *hooks, int ready)
{
	const struct bpf_insn nothing[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < hooks->count; i++) {
		LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP,
			    .attach_btf_id = hooks->hooks[i].type);
		int program =
			bpf_prog_load(BPF_PROG_TYPE_TRACING, "nothing", "GPL", nothing, ARRAY_SIZE(nothing), &options);

		if (program < 0 || bpf_raw_tracepoint_open(NULL, program) < 0)
			die("a program that does nothing");
	}
	if (write(ready, "", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

/* --- measuring --- */

/* With hooks: only empty programs. */
static pid_t follower(const struct journey_source_options *options, const struct hooks *hooks)
{
	int ready[2];
	char word;
	pid_t pid;

	if (pipe(ready) < 0)
		die("a pipe");
	pid = fork();
	if (pid == 0 && hooks)
		attach_empty(hooks, ready[1]);
	if (pid == 0)
		follow(options, ready[1]);
	(void)close(ready[1]);
	if (pid < 0 || read(ready[0], &word, 1) != 1)
		die("following");
	(void)close(ready[0]);
	return pid;
}

static void stop(pid_t watcher)
{
	(void)kill(watcher, SIGKILL);
	(void)waitpid(watcher, NULL, 0);
}

static uint64_t cpu_ns(pid_t pid)
{
	struct timespec at = {};
	clockid_t clock;

	if (pid && clock_getcpuclockid(pid, &clock) == 0)
		(void)clock_gettime(clock, &at);
	return (uint64_t)at.tv_sec * NSEC_PER_SEC + (uint64_t)at.tv_nsec;
}

/* Both ends, and the exchange counter. */
struct ends {
	int flows[FLOWS];
	pid_t server;
	uint64_t done;
	bool show; /* print the cost of hooks */
};

/* CPU nanoseconds per exchange. */
static double exchange(struct ends *ends, pid_t watcher)
{
	uint64_t before = cpu_ns(getpid()) + cpu_ns(ends->server) + cpu_ns(watcher), done = 0;
	uint64_t end = clock_monotonic_ns() + WINDOW_NS;
	char data[64] = {};

	while (clock_monotonic_ns() < end)
		for (unsigned i = 0; i < FLOWS; i++, done++)
			if (send(ends->flows[i], data, sizeof(data), MSG_NOSIGNAL) < 0 ||
			    recv(ends->flows[i], data, sizeof(data), MSG_WAITALL) < 0)
				die("the exchange");
	ends->done += done;
	return (double)(cpu_ns(getpid()) + cpu_ns(ends->server) + cpu_ns(watcher) - before) / (double)done;
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

/* Finds the hooks, and prints their passes and cost. */
static void inspect_hooks(const struct journey_source_options *options, struct ends *ends, struct hooks *hooks,
			  bool show)
{
	pid_t watcher = follower(options, NULL);
	int stats = show ? bpf_enable_stats(BPF_STATS_RUN_TIME) : -1;
	double hits = 0, cost = 0;

	ends->done = 0;
	if (show)
		(void)exchange(ends, watcher);
	find_hooks(watcher, hooks);
	stop(watcher);
	if (!show)
		return;
	(void)close(stats);
	for (unsigned i = 0; i < hooks->count; i++) {
		const struct hook *hook = &hooks->hooks[i];
		double runs = (double)hook->runs / (double)ends->done;

		printf("  %-16s %6.2f times an exchange, %4.0f ns\n", hook->name, runs,
		       hook->runs ? (double)hook->ns / (double)hook->runs : 0);
		hits += runs;
		cost += (double)hook->ns / (double)ends->done;
	}
	printf("  %-16s %6.2f times an exchange, %4.0f ns of it\n", "all", hits, cost);
}

struct pair {
	double ratio;
	double bare;
};

static struct pair compare(const struct journey_source_options *options, const struct hooks *hooks, struct ends *ends,
			   bool after)
{
	struct pair pair = {};
	pid_t watcher;

	if (after)
		pair.bare = exchange(ends, 0);
	watcher = follower(options, hooks);
	pair.ratio = exchange(ends, watcher);
	stop(watcher);
	if (!after)
		pair.bare = exchange(ends, 0);
	pair.ratio /= pair.bare;
	return pair;
}

/* Whether the goal is met. */
static bool measure(const char *name, const struct journey_source_options *options, struct ends *ends, unsigned pairs,
		    double goal)
{
	double ratios[PAIRS_MAX], empty[PAIRS_MAX], bare[PAIRS_MAX], ratio;
	struct hooks hooks;

	(void)exchange(ends, 0);
	inspect_hooks(options, ends, &hooks, ends->show);
	for (unsigned i = 0; i < pairs; i++) {
		struct pair pair = compare(options, NULL, ends, i % 2);

		ratios[i] = pair.ratio;
		bare[i] = pair.bare;
		empty[i] = compare(NULL, &hooks, ends, i % 2).ratio;
	}
	ratio = median(ratios, pairs);
	printf("an exchange of 64 bytes over a virtual link, %.1f us of CPU time, takes %.3f times as much with "
	       "%s%s; %.3f times with %u empty programs at the same hooks\n",
	       median(bare, pairs) / 1000, ratio, name, ratio <= goal ? "" : " (goal missed)", median(empty, pairs),
	       hooks.count);
	return ratio <= goal;
}

int main(int argc, char **argv)
{
	struct ends ends = {.show = argc > 2 && strcmp(argv[2], "hits") == 0};
	uint64_t pairs = 20;
	bool good;

	if (argc > 1 && parse_decimal(argv[1], 1, PAIRS_MAX, &pairs) < 0) {
		errno = EINVAL;
		die(argv[1]);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	pin();
	ends.server = make_ends(ends.flows);
	good = measure("all packets followed", &(struct journey_source_options){.where = OURS}, &ends, (unsigned)pairs,
		       1.35);
	good &= measure("one flow in 64 followed",
			&(struct journey_source_options){.where = OURS, .sample = 64, .set = EVENT_SET_FEW}, &ends,
			(unsigned)pairs, 1.05);
	stop(ends.server);
	return !good;
}
