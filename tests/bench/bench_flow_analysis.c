/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions, classes, and the comparison of two groups: time per event and memory beyond the mapped file, over traces of
 * growing length, like those of an event-driven server (about 480 events per connection).
 *
 *   build/tests/bench/bench_flow_analysis [MILLION-EVENTS ...]
 *   build/tests/bench/bench_flow_analysis convert TRACE UFTRACE-DAT BASE
 *
 * The second form writes the calls of a single-threaded trace as uftrace would have recorded them; BASE is the load
 * address of the program (flow-report.py).
 */
#include <inttypes.h>
#include <malloc.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/parse.h"
#include "flow/analyse/compare.h"
#include "flow/trace/trace_writer.h"

#define FUNCTIONS 340

struct model {
	struct trace_writer *writer;
	uint32_t thread, fns[FUNCTIONS];
	uint64_t now, random, events;
};

static uint64_t next_random(struct model *m)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return m->random;
}

static void enter(struct model *m, unsigned fn)
{
	trace_writer_call(m->writer, m->thread, m->now += 40 + next_random(m) % 50, m->fns[fn % FUNCTIONS]);
	m->events++;
}

static void leave(struct model *m)
{
	trace_writer_return(m->writer, m->thread, m->now += 40 + next_random(m) % 90);
	m->events++;
}

/* The same calls each time for one function, except for noise of a timer tree and an allocator. */
static void tree(struct model *m, unsigned fn, unsigned depth)
{
	enter(m, fn);
	for (unsigned i = 0; depth && i < 2 + fn % 3; i++)
		tree(m, fn * 3 + 7 + i * 11, depth - 1);
	if (fn % 113 == 0)
		for (unsigned i = 0; i < next_random(m) % 4; i++) {
			enter(m, 330 + i % 3);
			leave(m);
		}
	leave(m);
}

static void operation(struct model *m, enum flow_op op, uint32_t socket, int result)
{
	trace_writer_operation(m->writer, m->thread,
			       &(struct flow_operation){.op = op,
							.start_ticks = m->now + 10,
							.end_ticks = m->now + 900,
							.socket = socket,
							.fd = 9,
							.result = result});
	m->now += 900;
	m->events++;
}

static void connection_begin(struct model *m, uint32_t number)
{
	struct flow_socket socket = {.socket = number, .fd = 9, .family = 2, .type = 1};

	(void)!addr_parse_endpoint("127.0.0.1:80", &socket.local);
	(void)!addr_parse_endpoint("127.0.0.1:1", &socket.remote);
	socket.remote.port = (uint16_t)(1024 + number % 60000);
	enter(m, 2);
	(void)trace_writer_socket(m->writer, m->thread, m->now, &socket);
	operation(m, FLOW_OP_ACCEPT, number, 9);
	tree(m, 31, 2);
	leave(m);
	enter(m, 3);
	operation(m, FLOW_OP_READ, number, 120);
}

static void connection_end(struct model *m, uint32_t number)
{
	operation(m, FLOW_OP_WRITE, number, 800);
	operation(m, FLOW_OP_CLOSE, number, 0);
	leave(m);
}

static void connection(struct model *m, uint32_t number)
{
	connection_begin(m, number);
	tree(m, 40, 4);
	if (number % 10 == 3)
		tree(m, 200, 2);
	/* Another request. */
	operation(m, FLOW_OP_WRITE, number, 800);
	operation(m, FLOW_OP_READ, number, 120);
	tree(m, 58, 3);
	connection_end(m, number);
}

static void begin(struct model *m, const char *path)
{
	struct why why = {};
	char name[16];

	m->random = 88172645463325252ull;
	if (trace_writer_open(path, &(struct trace_writer_options){}, &m->writer, &why) < 0)
		exit(1);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof(name), "function_%u", i);
		m->fns[i] = trace_writer_function(m->writer, 0, i * 16, name);
	}
	m->thread = trace_writer_thread(m->writer, 1, 1, "server");
}

static void fill(struct model *m, uint64_t events)
{
	enter(m, 0);
	operation(m, FLOW_OP_LISTEN, 4000000000u, 0);
	for (uint32_t i = 1; m->events < events; i += 3) {
		enter(m, 1);
		for (uint32_t k = 0; k < 3; k++)
			connection(m, i + k);
		leave(m);
	}
	leave(m);
	if (trace_writer_close(m->writer) < 0)
		exit(1);
}

static void make(const char *path, uint64_t events)
{
	struct model m = {};

	begin(&m, path);
	fill(&m, events);
}

/* A few sessions of 1,000 calls each. */
static void make_long(const char *path, uint32_t sessions)
{
	struct model m = {};

	begin(&m, path);
	enter(&m, 0);
	operation(&m, FLOW_OP_LISTEN, 4000000000u, 0);
	for (uint32_t number = 1; number <= sessions; number++) {
		uint64_t before = m.events;

		connection_begin(&m, number);
		while (m.events - before < 2000)
			tree(&m, 40 + (unsigned)(next_random(&m) % 3), 2 + number % 3);
		if (number % 10 == 3)
			tree(&m, 200, 2);
		connection_end(&m, number);
	}
	leave(&m);
	if (trace_writer_close(m.writer) < 0)
		exit(1);
}

/* --- in uftrace's format --- */

struct converter {
	const struct flow_trace *trace;
	FILE *out;
	uint64_t base;
	VEC(uint32_t) open; /* functions */
};

/* Time; then from the lowest bit: type (0 call, 1 return), 1 bit, magic, depth, address. */
static void put_uftrace(const struct converter *c, unsigned type, uint32_t fn, uint64_t ticks)
{
	uint64_t address = c->base + c->trace->functions[fn].offset;
	uint64_t record[2] = {1000000000 + flow_span_ns(c->trace, ticks - c->trace->first_ticks),
			      type | 5u << 3 | (uint64_t)c->open.count << 6 | address << 16};

	if (fwrite(record, sizeof(record), 1, c->out) != 1)
		exit(1);
}

static void convert_event(struct converter *c, const struct flow_event *event)
{
	if (event->kind == FLOW_CALL) {
		put_uftrace(c, 0, event->fn, event->ticks);
		vec_push(&c->open, event->fn);
	} else if (event->kind == FLOW_RETURN && c->open.count) {
		uint32_t fn = c->open.items[--c->open.count];

		put_uftrace(c, 1, fn, event->ticks);
	} else if (event->kind == FLOW_UNWIND || event->kind == FLOW_LOST || event->kind == FLOW_STACK) {
		(void)fputs("convert: the trace has gaps, which uftrace does not know\n", stderr);
		exit(1);
	}
}

static int convert(char **argv)
{
	struct converter c = {.out = fopen(argv[1], "we")};
	struct flow_cursor cursor;
	struct flow_event event;
	struct flow_trace *trace;
	struct why why = {};

	if (!c.out || parse_u64(argv[2], 0, UINT64_MAX >> 16, &c.base) < 0 ||
	    flow_trace_open(argv[0], &trace, &why) < 0 || trace->thread_count != 1)
		return 2;
	c.trace = trace;
	flow_cursor_begin(&cursor, trace, 0);
	while (flow_cursor_next(&cursor, &event))
		convert_event(&c, &event);
	vec_done(&c.open);
	flow_trace_close(trace);
	return fclose(c.out) ? 1 : 0;
}

/* Peak resident set since the last reset, including the file, in KiB. */
static uint64_t peak_kib(void)
{
	char line[256];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "we");

	if (!f || fputs("5", f) < 0 || fclose(f) != 0)
		exit(1);
}

static void measure(const char *path, uint64_t million, enum demux_by by, const char *what)
{
	double best[3] = {1e18, 1e18, 1e18};
	uint64_t kib = 0, events = 0, sessions = 0, nodes = 0, before;

	malloc_trim(0);
	forget_peak();
	before = peak_kib();

	for (unsigned round = 0; round < (million > 50 || by != DEMUX_CONNECTION ? 1 : 3); round++) {
		struct flow_sessions *s = NULL;
		struct comparison *c;
		struct flow_trace *trace;
		struct why why = {};
		flow_groups groups;
		uint64_t t[4];

		t[0] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		if (flow_trace_open(path, &trace, &why) < 0 ||
		    flow_sessions_new(trace, &(struct demux_options){.by = by}, &s, &why) < 0)
			exit(1);
		t[1] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		groups = flow_groups_of(s);
		for (size_t i = 0; i < s->list.count; i++)
			groups.items[i] = i % 10 == 2;
		c = compare_groups(s, groups.items, &(struct compare_options){});
		t[2] = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		kib = peak_kib();
		events = trace->events;
		sessions = s->list.count;
		nodes = s->forest.nodes.count;
		if (round == 0)
			printf("  %s\n", c->answer);
		best[0] = min_of(best[0], (double)(t[1] - t[0]));
		best[1] = min_of(best[1], (double)(t[2] - t[1]));
		best[2] = min_of(best[2], (double)(t[2] - t[0]));
		comparison_free(c);
		flow_groups_done(&groups);
		flow_sessions_free(s);
		flow_trace_close(trace);
	}
	printf("flow analysis%s: %.1f M events, %" PRIu64 " sessions, %" PRIu64
	       " different trees: sessions %.3f s, compare %.3f s, all %.3f s (%.1f ns an event), %.1f MB at most, the "
	       "file included\n",
	       what, (double)events / 1e6, sessions, nodes, best[0] / 1e9, best[1] / 1e9, best[2] / 1e9,
	       best[2] / (double)events, (double)(kib - before) / 1024);
}

/* The search for sessions that stand out. */
static void measure_outliers(const char *path)
{
	struct flow_sessions *s = NULL;
	struct compare_outlier outlier = {};
	struct flow_trace *trace;
	struct why why = {};
	flow_groups groups;
	uint64_t begin = clock_ns(CLOCK_PROCESS_CPUTIME_ID), before;

	malloc_trim(0);
	forget_peak();
	before = peak_kib();
	if (flow_trace_open(path, &trace, &why) < 0 ||
	    flow_sessions_new(trace, &(struct demux_options){.by = DEMUX_CONNECTION}, &s, &why) < 0)
		exit(1);
	groups = flow_groups_of(s);
	(void)!compare_find_outliers(s, groups.items, &outlier, &why);
	printf("  %s\n", outlier.how);
	printf("flow analysis, without labels: %.1f M events, %zu sessions: %.3f s, %.1f MB at most, the file "
	       "included\n",
	       (double)trace->events / 1e6, s->list.count, (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / 1e9,
	       (double)(peak_kib() - before) / 1024);
	compare_outlier_done(&outlier);
	flow_groups_done(&groups);
	flow_sessions_free(s);
	flow_trace_close(trace);
}

int main(int argc, char **argv)
{
	uint64_t sizes[8] = {2, 20, 200};
	char path[] = "/tmp/nest-bench-flow-XXXXXX";
	int count = 3, fd;

	if (argc == 5 && strcmp(argv[1], "convert") == 0)
		return convert(argv + 2);
	for (int i = 1; i < argc && i <= 8; i++) {
		if (parse_u64(argv[i], 1, 1000, &sizes[i - 1]) < 0)
			return 2;
		count = i;
	}
	fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	for (int i = 0; i < count; i++) {
		make(path, sizes[i] * 1000000);
		measure(path, sizes[i], DEMUX_CONNECTION, "");
		measure_outliers(path);
		measure(path, sizes[i], DEMUX_REQUEST, ", by request");
		measure(path, sizes[i], DEMUX_THREAD, ", by thread");
	}
	make_long(path, 10000);
	measure(path, 20, DEMUX_CONNECTION, ", 1,000 calls a session");
	unlink(path);
	return 0;
}
