/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions that stand out by their time: none in healthy traces of many kinds, and whose time it is. */
#include "flow/analyse/delay_noise.h"
#include "flow_sample.h"

#define SESSIONS 100
#define STEPS    8

/* A connection of a listener, accepted as a session of that number. */
static void add_accept(struct buf *text, unsigned long long now, unsigned number, unsigned listener)
{
	buf_add_format(text, "1 %llu socket socket=%u fd=5 local=10.0.0.1:80 remote=10.0.0.2:%u\n", now, number,
		       1000 + number);
	buf_add_format(text, "1 %llu op-accept fd=5 result=5 took=5 socket=%u aux=%u\n", now, number, listener);
}

/* A server whose calls take random times; what else differs between sessions depends on the mix. */
enum mix { LOGNORMAL, PARETO, KINDS, WARM_UP, DRIFT, BURSTS, MIXES };

struct made {
	struct trace_writer *writer;
	uint32_t thread, serve, step[STEPS], recv, extra[4];
	uint64_t now, random;
};

static double uniform(struct made *m)
{
	return ((double)(unit_random(&m->random) % 1000000) + 0.5) / 1000000;
}

static double lognormal(struct made *m, double median, double sigma)
{
	return median * exp(sigma * sqrt(-2 * log(uniform(m))) * cos(6.28318530718 * uniform(m)));
}

static double pareto(struct made *m, double least, double tail)
{
	return min_of(least * pow(uniform(m), -1 / tail), 5e9);
}

static void operation(struct made *m, enum flow_op op, uint32_t socket, uint64_t took, int result, uint64_t aux)
{
	trace_writer_operation(m->writer, m->thread,
			       &(struct flow_operation){.op = op,
							.start_ticks = m->now + 1,
							.end_ticks = m->now + 1 + took,
							.socket = socket,
							.fd = 7,
							.result = result,
							.aux = aux});
	m->now += 1 + took;
}

static double step_ns(struct made *m, enum mix mix, unsigned session, bool is_kind)
{
	double ns = mix == PARETO ? pareto(m, 20000, 1.5) : lognormal(m, 100000, 1.0);

	if (mix == KINDS && is_kind)
		ns *= 40;
	if (mix == WARM_UP && session < 6)
		ns += 2e7 / (session + 1);
	if (mix == DRIFT)
		ns *= 1 + session / 10.0;
	if (mix == BURSTS && session / 10 % 4 == 1)
		ns *= 4;
	return ns;
}

/* How a client behaves; nanoseconds. */
struct client {
	uint64_t before, rest, drip, stall, own;
	bool extra, missing; /* calls */
	bool shared;         /* the extra one by two functions */
	unsigned deep;       /* functions below it */
};

static void call_extra(struct made *m, const struct client *c)
{
	for (unsigned i = 0; i <= c->deep; i++)
		trace_writer_call(m->writer, m->thread, m->now += 10, m->extra[i]);
	for (unsigned i = 0; i <= c->deep; i++)
		trace_writer_return(m->writer, m->thread, m->now += 10);
}

static void serve(struct made *m, uint32_t number, enum mix mix, const struct client *c)
{
	struct flow_socket socket = {.socket = number + 1, .fd = 7, .family = 2, .type = 1};
	bool is_kind = unit_random(&m->random) % 10 < 3;

	REQUIRE(addr_parse_endpoint("10.0.0.1:80", &socket.local) == 0);
	REQUIRE(addr_parse_endpoint("10.0.0.2:1", &socket.remote) == 0);
	socket.remote.port = (uint16_t)(1000 + number);
	(void)trace_writer_socket(m->writer, m->thread, m->now, &socket);
	operation(m, FLOW_OP_ACCEPT, number + 1, 10, 7, 0);
	trace_writer_call(m->writer, m->thread, m->now += 10, m->serve);
	operation(m, FLOW_OP_READ, number + 1, c->before, 50, 0);
	trace_writer_call(m->writer, m->thread, m->now += 10, m->recv);
	if (c->shared)
		call_extra(m, c);
	operation(m, FLOW_OP_READ, number + 1, c->drip + 10, 50, 0);
	trace_writer_return(m->writer, m->thread, m->now += 10);
	if (c->extra)
		call_extra(m, c);
	for (unsigned i = 0; i < STEPS; i++) {
		if (i == 5 && c->missing)
			continue;
		trace_writer_call(m->writer, m->thread, m->now += 10, m->step[i]);
		m->now += (uint64_t)step_ns(m, mix, number, is_kind) + (i == 3 ? c->own : 0);
		trace_writer_return(m->writer, m->thread, m->now += 10);
	}
	operation(m, FLOW_OP_WRITE, number + 1, c->stall + 10, 100, 100);
	/* The answer is complete: what follows is up to the client. */
	operation(m, FLOW_OP_READ, number + 1, c->rest + 10, 0, 0);
	trace_writer_return(m->writer, m->thread, m->now += 10);
	operation(m, FLOW_OP_CLOSE, number + 1, 10, 0, 0);
}

static struct flow_trace *make(uint64_t seed, enum mix mix, const struct client *odd)
{
	static const struct client usual = {.before = 1000};
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct made m = {.random = seed * 7919 + 13, .now = 1000, .writer = sample_open(path)};
	uint32_t module = trace_writer_module(m.writer, &(struct flow_module){.path = "/bin/srv"});
	uint32_t main_fn = trace_writer_function(m.writer, module, 16, "main");

	m.serve = trace_writer_function(m.writer, module, 32, "serve");
	m.recv = trace_writer_function(m.writer, module, 48, "receive");
	for (unsigned i = 0; i < ARRAY_SIZE(m.extra); i++)
		m.extra[i] = trace_writer_function(m.writer, module, 4 + i,
						   i ? (char[]){'b', (char)('a' + i), '\0'} : "extra");
	for (unsigned i = 0; i < STEPS; i++)
		m.step[i] = trace_writer_function(m.writer, module, 64 + i * 16, (char[]){'s', (char)('a' + i), '\0'});
	m.thread = trace_writer_thread(m.writer, 1, 1, "srv");
	trace_writer_call(m.writer, m.thread, m.now, main_fn);
	operation(&m, FLOW_OP_LISTEN, 9999, 10, 0, 0);
	for (uint32_t i = 0; i < SESSIONS; i++)
		serve(&m, i, mix, odd && i % 20 == 17 ? odd : &usual);
	trace_writer_return(m.writer, m.thread, m.now += 10);
	return sample_close(m.writer, path);
}

/* The comparison without labels. */
static struct comparison *compare(const struct flow_trace *trace, struct flow_sessions **ret_sessions)
{
	_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
	_cleanup_free_ uint8_t *group_of = NULL;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, ret_sessions, &why) == 0);
	group_of = xzalloc((*ret_sessions)->list.count + 1);
	if (compare_find_outliers(*ret_sessions, group_of, &outlier, &why) < 0)
		CHECK_HAS_TEXT(why.text, "no session stands out");
	return compare_groups(*ret_sessions, group_of, &(struct compare_options){.outlier = &outlier});
}

TEST(healthy_sessions_are_not_accused)
{
	const char *rounds = getenv("FLOW_NULL_ROUNDS");
	unsigned count = rounds ? (unsigned)atoi(rounds) : 40, named = 0;

	for (unsigned seed = 1; seed <= count; seed++)
		for (enum mix mix = 0; mix < MIXES; mix++) {
			_cleanup_flow_trace_ struct flow_trace *trace = make(seed, mix, NULL);
			_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
			_cleanup_(comparison_freep) struct comparison *c = compare(trace, &s);

			if (!c->divergence.count)
				continue;
			named++;
			unit_note("mix %u, seed %u: %s", mix, seed, c->answer);
		}
	CHECK(named * 500 <= count * MIXES);
}

TEST(time_is_found_and_told_apart_and_an_idle_client_is_no_difference)
{
	static const struct {
		struct client client;
		const char *function, *answer, *how;
		enum profile_time time;
	} cases[] = {
		{{.own = 60000000},
		 "sd",
		 "bad sessions spend",
		 "sessions in which sd takes longer than in the others",
		 PROFILE_OWN},
		{{.drip = 3000000000},
		 "receive",
		 "wait for the client to send",
		 "sessions that wait for the client to send longer than the others",
		 PROFILE_DRIP},
		{{.stall = 3000000000},
		 "serve",
		 "wait for the client to read",
		 "sessions that wait for the client to read longer than the others",
		 PROFILE_STALL},
		{{.rest = 30000000000}, NULL, "no session stands out: 100 sessions", "", PROFILE_TIMES},
		{{.before = 30000000000}, NULL, "no session stands out: 100 sessions", "", PROFILE_TIMES},
	};

	for (unsigned seed = 1; seed <= 5; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
			_cleanup_flow_trace_ struct flow_trace *trace = make(seed, LOGNORMAL, &cases[i].client);
			_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
			_cleanup_(comparison_freep) struct comparison *c = compare(trace, &s);

			unit_note("case %zu, seed %u: %s", i, seed, c->answer);
			CHECK_HAS_TEXT(c->answer, cases[i].answer);
			CHECK_EQ_UINT(c->divergence.count, cases[i].function ? 1 : 0);
			if (!cases[i].function || !c->divergence.count)
				continue;
			CHECK_EQ_TEXT(c->all.items[0].function, cases[i].function);
			CHECK_EQ_UINT(c->all.items[0].time, cases[i].time);
			CHECK_EQ_UINT(c->group[1].sessions, 5);
			CHECK_HAS_TEXT(c->how, cases[i].how);
			CHECK(c->all.items[0].confidence > 0.99 && c->all.items[0].confidence <= 1);
		}
}

/* Calls alone are named, and accuse nobody. */
TEST(calls_that_differ_without_time)
{
	static const struct {
		struct client client;
		const char *how;
	} cases[] = {
		{{.before = 1000, .extra = true},
		 ". Not reported: 5 sessions that call extra, unlike the others (calls"},
		{{.before = 1000, .missing = true},
		 ". Not reported: 5 sessions that do not call sf, unlike the others (c"},
		/* What several functions call is a tool, unless much is below it. */
		{{.before = 1000, .extra = true, .shared = true}, "more waiting for the client"},
		{{.before = 1000, .extra = true, .shared = true, .deep = 3}, ". Not reported: 5 sessions that call "},
		{{.before = 1000}, "more waiting for the client"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(3, LOGNORMAL, &cases[i].client);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = compare(trace, &s);

		unit_note("case %zu", i);
		CHECK_EQ_UINT(c->divergence.count, 0);
		CHECK_HAS_TEXT(c->how, cases[i].how);
		CHECK_EQ_INT(strstr(c->how, "Not reported") != NULL, cases[i].how[0] == '.');
	}
}

TEST(time_without_a_cpu_is_not_the_programs)
{
	/* Twenty sessions of 1 ms; three of them take 40 ms more, but the thread was ready and had no CPU for 39. */
	for (unsigned known = 0; known < 2; known++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		uint64_t now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n");
		for (unsigned i = 1; i <= 20; i++) {
			bool is_hit = i == 8 || i == 13 || i == 19;
			uint64_t end = now + (is_hit ? 41000000 : 1000000);

			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       (unsigned long long)now + 10, (unsigned long long)now + 20, i);
			buf_add_format(&text, "1 %llu call work\n1 %llu return\n", (unsigned long long)now + 30,
				       (unsigned long long)end);
			if (known)
				buf_add_format(&text, "1 %llu delay %u\n", (unsigned long long)end + 1,
					       is_hit ? 39900000 : 0);
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n",
				       (unsigned long long)end + 2, i, (unsigned long long)end + 10);
			now = end + 1000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(s->list.count, 20);
		CHECK_EQ_UINT(c->divergence.count, !known);
		if (!known)
			CHECK_EQ_UINT(c->group[1].sessions, 3);
		CHECK_EQ_INT(strstr(c->how ? c->how : c->answer, "scheduling delays not recorded") == NULL, known);
	}
}

/* A session of a thread that serves one after the other; milliseconds. */
struct served {
	double work, delay, other; /* of work: without a CPU; waiting for another process */
	double cpu;                /* of work: on a CPU; 0: not recorded */
	unsigned runs;             /* times that the thread got a CPU meanwhile */
	const char *in;            /* function that works; NULL: work */
	double late;               /* before: the recorder waits for a CPU */
	bool refused;              /* nothing is done for it */
};

static struct comparison *compare_served(const struct served *all, unsigned count, struct flow_trace **ret_trace,
					 struct flow_sessions **ret_sessions)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 22);
	unsigned long long now = 1000;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n"
			    "1 2 delay 0 1\n");
	for (unsigned i = 1; i <= count; i++) {
		const struct served *s = &all[i - 1];
		unsigned long long worked, got;

		if (s->late > 0)
			buf_add_format(&text, "late %llu %.0f\n", now, s->late * 1e6);
		now += (unsigned long long)(s->late * 1e6);
		add_accept(&text, now, i, 9999);
		buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n", now + 10,
			       now + 15, i);
		if (s->refused) {
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n",
				       now + 25, i, now + 30);
			now += 1000;
			continue;
		}
		worked = now + 30 + (unsigned long long)(s->work * 1e6);
		got = worked + 40 + (unsigned long long)(s->other * 1e6);
		/* The caller has not returned when the delay is known. */
		buf_add_format(&text, "1 %llu call %s\n1 %llu delay %.0f %u", now + 30, s->in ? s->in : "work", worked,
			       s->delay * 1e6, s->runs);
		if (s->cpu > 0)
			buf_add_format(&text, " %.0f", s->cpu * 1e6);
		buf_add_format(&text, "\n1 %llu return\n", worked + 1);
		buf_add_format(&text, "1 %llu call ask\n1 %llu op-connect fd=6 result=0 took=5 socket=%u\n", worked + 2,
			       worked + 10, 5000 + i);
		buf_add_format(&text, "1 %llu op-write fd=6 result=9 took=5 socket=%u aux=9\n", worked + 20, 5000 + i);
		buf_add_format(&text, "1 %llu op-read fd=6 result=9 took=%llu socket=%u\n", worked + 30,
			       got - worked - 30, 5000 + i);
		buf_add_format(&text, "1 %llu return\n1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n", got + 5,
			       got + 10, i);
		buf_add_format(&text, "1 %llu return\n", got + 20);
		now = got + 1000;
	}
	*ret_trace = sample_of_text(buf_text(&text));
	return compare(*ret_trace, ret_sessions);
}

TEST(work_is_found_without_the_time_that_it_had_no_cpu)
{
	struct served all[40];

	for (unsigned known = 0; known < 2; known++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;

		/* Six sessions take 90 ms: two of them worked for 15, the others only had no CPU. */
		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.1, .runs = 1};
		for (unsigned i = 8; i < 38; i += 5)
			all[i] = (struct served){.work = 90, .delay = 89.9, .runs = 15};
		if (known)
			all[13].delay = all[28].delay = 75;
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, known);
		if (!known)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, "work");
		REQUIRE(c->group[1].members.count == 2);
		CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[0].session, 14);
		CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[1].session, 29);
	}
}

/* As many scheduling delays of other threads are as long: the excess of these two may be a page fault or a lock. */
TEST(an_excess_as_long_as_the_delays_of_the_machine_is_no_evidence)
{
	for (unsigned is_longer = 0; is_longer < 2; is_longer++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[100];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.12, .delay = 0.02, .runs = 1};
		for (unsigned i = 0; i < 2; i++) {
			all[20 + i * 30] = (struct served){.work = 12.1, .delay = 12, .runs = 1};
			all[30 + i * 30] = (struct served){.work = is_longer ? 40 : 10, .delay = 0.02, .runs = 1};
		}
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, is_longer);
	}
}

/* Two answers of another process come late. Three delays of this program are a third as long, or none, or short. */
TEST(another_process_is_delayed_as_this_one_is)
{
	static const struct {
		double delay, other;
		bool is_named;
	} cases[] = {{0, 14, true}, {5, 14, false}, {5, 40, true}};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[40];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.1, .other = 1, .runs = 1};
		for (unsigned i = 5; i < 35; i += 10)
			all[i] = (struct served){
				.work = 0.1 + cases[k].delay, .delay = cases[k].delay, .other = 1, .runs = 1};
		all[18].other = all[31].other = cases[k].other;
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("case %zu: %s", k, c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].is_named);
	}
}

/*
 * Two answers of another process come 40 ms late, while the recorder waited for a CPU as well, or at another time; or
 * it is not known whether the thread was on a CPU.
 */
TEST(who_waits_while_the_machine_stalls_waits_for_nothing_else)
{
	static const struct {
		unsigned late_ns; /* after the request; 0: never */
		bool has_looks, is_named;
	} cases[] = {{0, true, true}, {1500000, true, false}, {45000000, true, true}, {1500000, false, true}};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_format(&text,
			       "thread 1 pid=1 tid=1 name=x\nthread 2 pid=1 tid=2 name=y\n1 0 call main\n"
			       "1 1 op-listen fd=3 result=0 socket=99\n%u 2 delay 0 1 0\n",
			       cases[k].has_looks ? 1 : 2);
		for (unsigned i = 1; i <= 20; i++) {
			bool is_slow = i == 11 || i == 16;
			unsigned long long took = is_slow ? 40000000 : 300000, at = now + 40;

			/* It wakes up every 2 ms: the first 1.5 of the 40 are not noticed. */
			if (cases[k].late_ns && is_slow)
				buf_add_format(&text, "late %llu 38500000\n", at + cases[k].late_ns);
			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			buf_add_format(&text, "1 %llu call ask\n1 %llu op-connect fd=6 result=0 took=5 socket=%u\n",
				       now + 20, now + 25, 5000 + i);
			buf_add_format(&text, "1 %llu op-read fd=6 result=9 took=%llu socket=%u\n", at, took, 5000 + i);
			if (cases[k].has_looks)
				buf_add_format(&text, "1 %llu delay-op 0 1 20000\n", at + took + 1);
			buf_add_format(&text, "1 %llu return\n", at + took + 2);
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n",
				       at + took + 10, i, at + took + 20);
			now = at + took + 100000000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("case %zu: %s", k, c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].is_named);
	}
}

/* As many short calls as long as one, which lost its CPU: they have the CPU time, and it has the delay. */
TEST(a_call_that_lost_its_cpu_did_not_compute)
{
	for (unsigned has_computed = 0; has_computed < 2; has_computed++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n"
			     "1 2 delay 0 1 0\n");
		for (unsigned i = 1; i <= 40; i++) {
			bool is_hit = i == 18 || i == 33;
			unsigned ns = is_hit ? 30000000 : 20000;

			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			now += 20;
			for (unsigned k = 0; k < 200; k++, now += 50000)
				buf_add_format(&text, "1 %llu call step\n1 %llu return\n", now, now + 49990);
			buf_add_format(&text, "1 %llu call look\n1 %llu return\n", now, now + ns);
			now += ns;
			/* Ten of these milliseconds are in the steps. */
			buf_add_format(&text, "1 %llu delay %u 1 %u\n", now + 1, is_hit && !has_computed ? 30000000 : 0,
				       is_hit && has_computed ? 40000000 : 10000000);
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n",
				       now + 2, i, now + 10);
			now += 1000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		REQUIRE(c->divergence.count == has_computed);
		if (has_computed) {
			CHECK_EQ_TEXT(c->all.items[0].function, "look");
			CHECK_EQ_UINT(c->all.items[0].time, PROFILE_CPU);
		}
	}
}

/*
 * A thread that neither ran nor was runnable was blocked on another, which is delayed as this program is. If that one
 * uses no sockets, only the delays of the recorder are known.
 */
TEST(what_a_program_waits_for_without_a_socket_is_delayed_as_well)
{
	static const struct {
		double delay, late, work;
		bool is_named;
	} cases[] = {{0, 0, 14, true}, {5, 0, 14, false}, {5, 0, 80, true}, {0, 5, 14, false}, {0, 5, 80, true}};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[40];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.1, .cpu = 0.1, .other = 0.1, .runs = 1};
		for (unsigned i = 5; i < 35; i += 10)
			all[i].work += all[i].delay = cases[k].delay;
		for (unsigned i = 5; i < 35; i += 10)
			all[i].late = cases[k].late;
		all[18].work = all[31].work = cases[k].work;
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("case %zu: %s", k, c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].is_named);
	}
}

/* A handler polls, with the client's descriptor among others or not, and then writes the answer, or reads more. */
TEST(a_poll_that_reports_another_descriptor_waited_for_that)
{
	static const struct {
		const char *reported, *after;
		bool is_named;
	} cases[] = {
		{"ready=8:1", "op-write fd=5 result=9 took=5 aux=9", true},
		{"ready=5:4", "op-write fd=5 result=9 took=5 aux=9", false},
		{"ready=8:1 ready=5:4", "op-write fd=5 result=9 took=5 aux=9", false},
		/* Woken up for another reason, it goes on to wait for the client. */
		{"ready=8:1", "op-read fd=5 result=-11 took=5", false},
	};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n"
			     "1 2 delay 0 1 0\n");
		for (unsigned i = 1; i <= 20; i++) {
			unsigned long long took = i == 11 || i == 16 ? 200000000 : 300000;

			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			buf_add_format(&text,
				       "1 %llu call lock\n1 %llu op-wait fd=-1 result=1 took=%llu aux=60000 %s\n",
				       now + 20, now + 30, took, cases[k].reported);
			now += took + 40;
			buf_add_format(&text, "1 %llu return\n1 %llu %s socket=%u\n", now, now + 5, cases[k].after, i);
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n", now + 20, i);
			buf_add_format(&text, "1 %llu return\n1 %llu op-close fd=5 took=5 socket=%u\n", now + 30,
				       now + 40, i);
			now += 1000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("case %zu: %s", k, c->answer);
		REQUIRE(c->divergence.count == cases[k].is_named);
		if (cases[k].is_named)
			CHECK_EQ_TEXT(c->all.items[0].function, "lock");
	}
}

/* What a request that no other session makes usually takes is not known. */
TEST(a_kind_of_request_that_no_other_session_makes_may_compute_longer)
{
	static const struct {
		const char *in;
		double ms;
		unsigned found;
	} cases[] = {
		{"work", 100, 1},
		{"rare", 70, 0},
		{"rare", 100, 1},
	};

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[20];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 10, .cpu = 10, .runs = 1};
		all[11] = all[17] =
			(struct served){.work = cases[k].ms, .cpu = cases[k].ms, .runs = 1, .in = cases[k].in};
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].found);
	}
}

/* Nor is what it usually waits: for a disk, or for the lock that another such request holds. */
TEST(a_kind_of_request_that_no_other_session_makes_may_wait_for_a_short_time)
{
	static const struct {
		const char *in;
		double ms;
		unsigned found;
	} cases[] = {
		{"work", 15, 1},
		{"rare", 15, 0},
		{"rare", 30, 1},
	};

	for (unsigned k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[20];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.3, .cpu = 0.3, .runs = 1};
		all[11] = all[17] = (struct served){.work = cases[k].ms, .cpu = 0.3, .runs = 1, .in = cases[k].in};
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("case %u: %s", k, c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].found);
	}
}

/* What a session takes anyway is the measure: as with labels, it has to take twice as long. */
TEST(an_excess_is_no_less_than_a_usual_session)
{
	static const struct {
		double usual, odd;
		bool is_named;
	} cases[] = {{0.1, 6, true}, {10, 16, false}, {10, 40, true}};

	for (size_t k = 0; k < ARRAY_SIZE(cases); k++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[40];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = cases[k].usual, .cpu = cases[k].usual, .runs = 1};
		all[18].work = all[18].cpu = all[31].work = all[31].cpu = cases[k].odd;
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("case %zu: %s", k, c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[k].is_named);
	}
}

/* Five sessions wait for 600 ms each; they compute as well, but one of them hardly. */
TEST(who_mostly_waits_is_not_found_by_what_he_computes)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	struct served all[40];

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = (struct served){.work = 0.1, .cpu = 0.1, .runs = 1};
	for (unsigned i = 10; i < 35; i += 5)
		all[i] = (struct served){.work = 600, .cpu = i == 20 ? 2 : 60, .runs = 1};
	c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_UINT(c->all.items[0].time, PROFILE_OWN);
	CHECK_EQ_UINT(c->group[1].sessions, 5);
}

/* A third session computes longer than usual, but in another function. */
TEST(who_computes_elsewhere_is_not_one_of_them)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	struct served all[40];

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		all[i] =
			(struct served){.work = 1 + i % 5, .cpu = 1 + i % 5, .runs = 1, .in = i % 4 ? "work" : "start"};
	all[15] = (struct served){.work = 300, .cpu = 300, .runs = 1};
	all[21] = (struct served){.work = 200, .cpu = 200, .runs = 1};
	all[28] = (struct served){.work = 120, .cpu = 120, .runs = 1, .in = "start"};
	c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "work");
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* The first session that is served finds cold caches, not the one that is refused before. */
TEST(a_session_that_is_refused_is_not_the_first)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	struct served all[40];

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = (struct served){.work = 1, .cpu = 1, .runs = 1};
	all[0].refused = true;
	all[1].work = all[1].cpu = 60;
	all[30].work = all[30].cpu = 30;
	c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
	unit_note("%s", c->answer);
	CHECK_EQ_UINT(c->divergence.count, 0);
}

/* An answer in thousands of small pieces: each write takes CPU time, and none blocks on the client. */
TEST(writing_in_small_pieces_is_computation)
{
	for (unsigned has_cpu = 0; has_cpu < 2; has_cpu++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 22);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n"
			     "1 2 delay 0 1 0\n");
		for (unsigned i = 1; i <= 20; i++) {
			unsigned pieces = i == 11 || i == 16 ? 3000 : 1;

			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			buf_add_format(&text, "1 %llu call send\n", now += 20);
			for (unsigned k = 0; k < pieces; k++, now += 20100) {
				buf_add_format(&text,
					       "1 %llu op-write fd=5 result=9 took=20000 socket=%u aux=9\n"
					       "1 %llu delay-op 0 1 %u\n",
					       now, i, now + 20001, has_cpu ? 20000 : 0);
			}
			buf_add_format(&text, "1 %llu return\n1 %llu return\n", now + 1, now + 2);
			now += 1000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		REQUIRE(c->divergence.count == has_cpu);
		if (!has_cpu)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, "send");
		CHECK_EQ_UINT(c->all.items[0].time, PROFILE_CPU);
		CHECK_EQ_UINT(c->group[1].sessions, 2);
	}
}

/* Rows are sent in a loop; the client does not read, so one of the writes waits. */
TEST(a_wait_below_a_loop_is_of_who_writes)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	unsigned long long now = 1000;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n");
	for (unsigned i = 1; i <= 20; i++) {
		bool is_slow = i == 11 || i == 16;

		add_accept(&text, now, i, 99);
		buf_add_format(
			&text,
			"1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n1 %llu call execute\n",
			now + 10, now + 15, i, now + 20);
		now += 30;
		for (unsigned k = 0; k < (is_slow ? 200 : 2); k++, now += 50) {
			buf_add_format(&text, "1 %llu call put\n1 %llu call flush\n", now, now + 1);
			if (is_slow && k == 100) {
				buf_add_format(&text, "1 %llu op-write fd=5 result=-11 took=1 socket=%u aux=9\n",
					       now + 5, i);
				buf_add_format(&text, "1 %llu call block\n", now + 6);
				buf_add_format(&text, "1 %llu op-wait fd=5 result=1 took=3000000000 aux=60000\n",
					       now + 7);
				now += 3000000010;
				buf_add_format(&text, "1 %llu return\n", now);
			}
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n", now + 10, i);
			buf_add_format(&text, "1 %llu return\n1 %llu return\n", now + 20, now + 21);
		}
		buf_add_format(&text, "1 %llu return\n1 %llu return\n", now, now + 1);
		now += 1000;
	}
	trace = sample_of_text(buf_text(&text));
	c = compare(trace, &s);
	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "flush");
}

/*
 * `run` passes each call on to one of three functions, and `next` calls one of them again, which takes no time then.
 * It is slow below `run` alone, which says less than it does.
 */
TEST(who_only_passes_calls_on_is_not_named)
{
	static const char *const steps[] = {"scan", "sort", "join"};
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	unsigned long long now = 1000;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n");
	for (unsigned i = 1; i <= 20; i++) {
		unsigned took = i == 9 || i == 13 || i == 18 ? 80000000 : 20000;

		add_accept(&text, now, i, 99);
		buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n", now + 10,
			       now + 15, i);
		now += 20;
		for (unsigned k = 0; k < ARRAY_SIZE(steps); k++, now += 60) {
			buf_add_format(&text, "1 %llu call run\n1 %llu call check\n1 %llu return\n", now, now + 1,
				       now + 2);
			buf_add_format(&text, "1 %llu call %s\n", now + 3, steps[k]);
			now += k == 1 ? took : 1000;
			buf_add_format(&text, "1 %llu return\n1 %llu return\n", now + 10, now + 11);
		}
		for (unsigned k = 0; k < 4; k++, now += 60) {
			buf_add_format(&text, "1 %llu call next\n1 %llu call sort\n1 %llu return\n", now, now + 1,
				       now + 40);
			buf_add_format(&text, "1 %llu call copy\n1 %llu return\n1 %llu return\n", now + 41, now + 45,
				       now + 50);
		}
		buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n", now + 10,
			       i, now + 20);
		now += 1000;
	}
	trace = sample_of_text(buf_text(&text));
	c = compare(trace, &s);
	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "sort");
}

TEST(who_computes_is_told_from_who_waits_for_it)
{
	struct served all[40];

	for (unsigned has_cpu = 0; has_cpu < 2; has_cpu++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;

		/* Two sessions compute for 60 ms, and eight wait in the same function until they are done. */
		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.1, .cpu = has_cpu ? 0.1 : 0, .runs = 1};
		for (unsigned i = 8; i < 38; i += 3)
			all[i].work = 60;
		if (has_cpu)
			all[14].cpu = all[29].cpu = 59;
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, has_cpu);
		CHECK_EQ_INT(strstr(c->how ? c->how : c->answer, "CPU times") == NULL, has_cpu);
		if (!has_cpu)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, "work");
		CHECK_EQ_UINT(c->all.items[0].time, PROFILE_CPU);
		CHECK_HAS_TEXT(c->answer, "bad sessions compute for");
		REQUIRE(c->group[1].members.count == 2);
		CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[0].session, 15);
		CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[1].session, 30);
	}
}

/*
 * Scheduling delays of a busy machine, milliseconds: most are short, few are long. The longest is 1.5 times the fourth
 * in the median of 105 recordings, 4 times in 5 % of them; here 1.7 and 4.
 */
static double busy_delay(struct made *m)
{
	return pareto(m, 1, 3);
}

TEST(another_process_that_is_slow_is_told_from_one_that_waits_for_a_cpu)
{
	static const struct {
		unsigned sessions, odd;
		double slow; /* milliseconds that the other process takes longer in these */
	} cases[] = {{20, 0, 0}, {100, 0, 0}, {20, 2, 400}, {100, 5, 150}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unsigned named = 0, right = 0, rounds = 100;

		for (unsigned seed = 1; seed <= rounds; seed++) {
			struct made m = {.random = seed * 7919 + 17};
			_cleanup_flow_trace_ struct flow_trace *trace = NULL;
			_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
			_cleanup_(comparison_freep) struct comparison *c = NULL;
			struct served all[100];

			for (unsigned k = 0; k < cases[i].sessions; k++) {
				double delay = busy_delay(&m);

				all[k] = (struct served){.work = 0.1 + delay,
							 .delay = delay,
							 .runs = 1,
							 .other = 0.3 + busy_delay(&m) + busy_delay(&m)};
			}
			for (unsigned k = 0; k < cases[i].odd; k++)
				all[7 + k * (cases[i].sessions - 8) / cases[i].odd].other += cases[i].slow;
			c = compare_served(all, cases[i].sessions, &trace, &s);
			named += c->divergence.count;
			if (!cases[i].odd && c->divergence.count)
				unit_note("seed %u: %s", seed, c->answer);
			right += c->divergence.count && strcmp(c->all.items[0].function, "ask") == 0 &&
				 c->group[1].sessions == cases[i].odd;
		}
		unit_note("case %zu: named in %u, right in %u of %u", i, named, right, rounds);
		if (cases[i].odd)
			CHECK(right >= 90);
		else
			CHECK(named <= 1);
	}
}

/* An event loop that asks for all of its clients; each is served at its number times a millisecond. */
struct loop {
	struct buf text;
	unsigned long long now;
};

static void poll_until(struct loop *l, unsigned long long until, unsigned timeout)
{
	buf_add_format(&l->text, "1 %llu op-wait fd=4 result=1 took=%llu aux=%u\n", l->now, until - l->now, timeout);
	l->now = until;
}

static void loop_call(struct loop *l, const char *name, const char *operation, unsigned socket)
{
	buf_add_format(&l->text, "1 %llu call %s\n", l->now += 10, name);
	buf_add_format(&l->text, "1 %llu %s took=5 socket=%u\n", l->now += 10, operation, socket);
	buf_add_format(&l->text, "1 %llu return\n", l->now += 10);
}

/* What a client's session waits for between its request and the answer. */
enum between { UPSTREAM, TIMER, HIDDEN_WORK };

static void loop_client(struct loop *l, unsigned number, enum between between, unsigned ms)
{
	unsigned long long until;

	poll_until(l, l->now + 1000, 1000);
	add_accept(&l->text, l->now, number, 9999);
	loop_call(l, "input", "op-read fd=5 result=9", number);
	if (between == UPSTREAM) {
		buf_add_format(&l->text, "1 %llu call ask\n1 %llu op-connect fd=6 result=0 took=5 socket=%u\n",
			       l->now + 10, l->now + 11, 5000 + number);
		/* The call touches both: it is for this client. */
		buf_add_format(&l->text, "1 %llu op-watch fd=5 result=1 took=1 socket=%u\n1 %llu return\n", l->now + 20,
			       number, l->now + 25);
		l->now += 30;
	}
	/* Other things take most of the thread's time; it asks in between. */
	until = l->now + ms * 1000000ULL;
	while (l->now < until) {
		poll_until(l, l->now + (between == HIDDEN_WORK ? 10 : 100000), between == HIDDEN_WORK ? 0 : 1000);
		buf_add_format(&l->text, "1 %llu call other\n1 %llu return\n", l->now + 10, l->now + 900000);
		l->now += 900010;
	}
	poll_until(l, l->now + 10, between == HIDDEN_WORK ? 0 : 1000);
	if (between == UPSTREAM)
		loop_call(l, "answered", "op-read fd=6 result=9", 5000 + number);
	loop_call(l, between == TIMER && ms > 5 ? "expired" : "reply", "op-write fd=5 result=9 aux=9", number);
	loop_call(l, "done", "op-close fd=5 result=0", number);
}

TEST(a_session_of_a_busy_loop_waits_for_another_process_or_a_timer_or_its_own_work)
{
	static const struct {
		enum between between;
		const char *function;
	} cases[] = {{UPSTREAM, "answered"}, {TIMER, "expired"}, {HIDDEN_WORK, NULL}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct loop l = {.text = BUF_INIT(1 << 22), .now = 1000};
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;

		buf_add_text(&l.text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n");
		for (unsigned k = 1; k <= 40; k++)
			loop_client(&l, k, cases[i].between, k == 21 || k == 33 ? 60 : 1);
		trace = sample_of_text(buf_text(&l.text));
		buf_done(&l.text);
		c = compare(trace, &s);
		unit_note("case %zu: %s", i, c->answer);
		CHECK_EQ_UINT(s->list.count, 40);
		CHECK_EQ_UINT(c->divergence.count, cases[i].function ? 1 : 0);
		if (!c->divergence.count || !cases[i].function)
			continue;
		CHECK_EQ_TEXT(c->all.items[0].function, cases[i].function);
		CHECK_EQ_UINT(c->group[1].sessions, 2);
	}
}

TEST(a_peek_waits_for_the_client_and_moves_nothing)
{
	struct loop l = {.text = BUF_INIT(1 << 22), .now = 1000};
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;

	buf_add_text(&l.text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n");
	for (unsigned k = 1; k <= 40; k++) {
		unsigned long long slow = k == 21 || k == 33 ? 6000000000 : 1000;

		add_accept(&l.text, l.now, k, 9999);
		loop_call(&l, "serve", "op-read fd=5 result=9", k);
		buf_add_format(&l.text, "1 %llu call get_line\n", l.now += 10);
		buf_add_format(&l.text, "1 %llu op-wait fd=5 result=1 took=%llu socket=%u\n", l.now += 1, slow, k);
		buf_add_format(&l.text, "1 %llu op-read fd=5 result=9 took=5 socket=%u\n", l.now += slow + 1, k);
		buf_add_format(&l.text, "1 %llu return\n", l.now += 10);
		loop_call(&l, "reply", "op-write fd=5 result=9 aux=9", k);
	}
	trace = sample_of_text(buf_text(&l.text));
	buf_done(&l.text);
	c = compare(trace, &s);
	unit_note("%s", c->answer);
	CHECK_EQ_UINT(s->list.items[0].rx_bytes, 18);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_UINT(c->all.items[0].time, PROFILE_DRIP);
	CHECK_EQ_TEXT(c->all.items[0].waits_in, "get_line");
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* Five pages are cold. Three of them take longest; that the two others also come first tells that it is the warm-up. */
TEST(the_first_sessions_are_warming_up_even_if_some_of_them_lose_little)
{
	static const double cold_ms[] = {20, 4, 18, 3.5, 16};

	for (unsigned is_first = 0; is_first < 2; is_first++) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		struct served all[20];

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
			all[i] = (struct served){.work = 0.1, .runs = 1};
		for (unsigned i = 0; i < ARRAY_SIZE(cold_ms); i++)
			all[is_first ? 1 + i : 3 + 4 * i].work += cold_ms[i];
		c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, !is_first);
		if (!is_first)
			CHECK_EQ_UINT(c->group[1].sessions, 3);
	}
}

/* Two of 60 take longest. Of the others, those that lose some time are all before the last one of the two by chance. */
TEST(sessions_of_the_first_two_thirds_are_not_warming_up)
{
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	struct served all[60];

	for (unsigned i = 0; i < ARRAY_SIZE(all); i++)
		all[i] = (struct served){.work = 0.1, .runs = 1};
	for (unsigned i = 3; i < 39; i += 3)
		all[i].work = 14;
	all[20].work = all[39].work = 100;
	c = compare_served(all, ARRAY_SIZE(all), &trace, &s);
	unit_note("%s", c->answer);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* One read has six requests, each of which asks another process; or one request asks it six times. */
TEST(requests_that_came_in_one_read_wait_as_often_as_they_ask)
{
	for (unsigned is_one = 0; is_one < 2; is_one++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n"
			     "1 2 delay 0 1\n");
		for (unsigned i = 1; i <= 20; i++) {
			unsigned count = i == 9 || i == 15 ? 6 : 1;

			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			for (unsigned k = 0; k < count; k++, now += 4000200) {
				unsigned socket = 1000 + i * 10 + k;

				buf_add_format(&text,
					       "1 %llu call ask\n"
					       "1 %llu op-connect fd=6 result=0 took=5 socket=%u\n",
					       now + 30, now + 40, socket);
				buf_add_format(&text, "1 %llu op-write fd=6 result=9 took=5 socket=%u aux=9\n",
					       now + 50, socket);
				buf_add_format(&text,
					       "1 %llu op-read fd=6 result=9 took=4000000 socket=%u\n"
					       "1 %llu return\n",
					       now + 60, socket, now + 4000070);
				if (!is_one || k + 1 == count)
					buf_add_format(&text,
						       "1 %llu op-write fd=5 result=700 took=5 socket=%u aux=700\n",
						       now + 4000100, i);
			}
			buf_add_format(&text, "1 %llu return\n", now += 1000);
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(s->list.count, 20);
		CHECK_EQ_UINT(c->divergence.count, is_one);
		if (is_one)
			CHECK_EQ_TEXT(c->all.items[0].function, "ask");
	}
}

static void add_poll(struct buf *text, unsigned long long *now, const char *function, unsigned result, unsigned took)
{
	buf_add_format(text, "1 %llu call %s\n1 %llu op-wait fd=-1 result=%u took=%u aux=10\n", *now, function,
		       *now + 10, result, took);
	buf_add_format(text, "1 %llu delay-op 0 1 %u\n", *now + 11 + took, took / 50);
	buf_add_format(text, "1 %llu return\n", *now += took + 20);
}

/*
 * A library polls for the next request again and again, sleeps in between, and then asks elsewhere whether it can read.
 * It sleeps for a short time, which is the client's, or for longer than it polls.
 */
TEST(an_idle_client_is_polled_for_in_several_places)
{
	static const unsigned pauses_ns[] = {1000000, 30000000};

	for (unsigned is_long = 0; is_long < ARRAY_SIZE(pauses_ns); is_long++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		unsigned long long now = 1000;

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=99\n"
			     "1 2 delay 0 1 1\n");
		for (unsigned i = 1; i <= 20; i++) {
			add_accept(&text, now, i, 99);
			buf_add_format(&text, "1 %llu call serve\n", now += 10);
			for (unsigned k = 0; k < 2; k++) {
				buf_add_format(&text, "1 %llu call keep\n", now += 10);
				for (unsigned n = 0; k == 1 && n < (i == 9 || i == 15 ? 20 : 0); n++) {
					add_poll(&text, &now, "next", 0, 10000000);
					buf_add_format(&text, "1 %llu delay 0 1 20000\n", now += pauses_ns[is_long]);
				}
				add_poll(&text, &now, "next", 1, 1000);
				buf_add_format(&text, "1 %llu return\n", now += 10);
				add_poll(&text, &now, "readable", 1, 1000);
				buf_add_format(&text, "1 %llu op-read fd=5 result=9 took=5 socket=%u\n", now += 10, i);
				buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n",
					       now += 50000, i);
			}
			buf_add_format(&text, "1 %llu return\n", now += 1000);
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(s->list.count, 20);
		CHECK_EQ_UINT(c->divergence.count, is_long);
		if (is_long)
			CHECK_EQ_TEXT(c->all.items[0].function, "keep");
	}
}

/* A thread for each session, which makes most of the calls of the slow ones: it is not the first of many there. */
TEST(a_thread_made_for_one_session_is_not_warming_up)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 22);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;
	unsigned long long now = 1000;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n");
	for (unsigned i = 1; i <= 40; i++)
		buf_add_format(&text, "thread %u pid=1 tid=%u name=y\n", 1 + i, 1 + i);
	buf_add_text(&text, "1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n1 2 delay 0 1\n");
	for (unsigned i = 1; i <= 40; i++) {
		bool is_slow = i == 21 || i == 33;

		add_accept(&text, now, i, 9999);
		buf_add_format(&text, "1 %llu call greet\n", now += 10);
		for (unsigned k = 0; k < 5; k++, now += 100)
			buf_add_format(&text, "1 %llu call word\n1 %llu return\n", now, now + 10);
		buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n", now, i,
			       now + 10);
		buf_add_format(&text, "%u %llu call serve\n%u %llu op-read fd=5 result=9 took=5 socket=%u\n", 1 + i,
			       now, 1 + i, now + 10, i);
		for (unsigned k = 0; k < (is_slow ? 20 : 1); k++, now += is_slow ? 3000000 : 10000)
			buf_add_format(&text, "%u %llu call step\n%u %llu return\n", 1 + i, now + 100, 1 + i,
				       now + (is_slow ? 2999999 : 9999));
		buf_add_format(&text, "%u %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n%u %llu return\n", 1 + i,
			       now + 100, i, 1 + i, now + 200);
		now += 1000;
	}
	trace = sample_of_text(buf_text(&text));
	c = compare(trace, &s);
	unit_note("%s", c->answer);
	CHECK(s->list.items[20].thread != s->list.items[0].thread &&
	      s->list.items[1].thread == s->list.items[0].thread);
	REQUIRE(c->divergence.count == 1);
	CHECK_EQ_TEXT(c->all.items[0].function, "step");
	CHECK_EQ_UINT(c->group[1].sessions, 2);
}

/* One session computes for 3 s in an event loop. Two others have sent the rest of their requests meanwhile. */
TEST(a_client_is_not_slow_while_the_loop_works_for_others)
{
	struct loop l = {.text = BUF_INIT(1 << 22), .now = 1000};
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(comparison_freep) struct comparison *c = NULL;

	buf_add_text(&l.text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n");
	for (unsigned k = 1; k <= 40; k++) {
		bool is_behind = k == 21 || k == 22;

		poll_until(&l, l.now + 1000, 1000);
		add_accept(&l.text, l.now, k, 9999);
		loop_call(&l, "input", "op-read fd=5 result=9", k);
		if (k == 22) {
			poll_until(&l, l.now + 1000, 1000);
			buf_add_format(&l.text, "1 %llu call input\n1 %llu op-read fd=5 result=9 took=5 socket=20\n",
				       l.now + 10, l.now + 20);
			buf_add_format(&l.text, "1 %llu return\n", l.now += 3000000000);
		}
		for (unsigned of = k - (k == 22); of <= k && (k == 22 || !is_behind); of++) {
			poll_until(&l, l.now + 1000, 1000);
			loop_call(&l, "input", "op-read fd=5 result=9", of);
			loop_call(&l, "reply", "op-write fd=5 result=9 aux=9", of);
		}
	}
	trace = sample_of_text(buf_text(&l.text));
	buf_done(&l.text);
	c = compare(trace, &s);
	unit_note("%s", c->answer);
	CHECK_EQ_UINT(s->list.count, 40);
	CHECK_EQ_UINT(c->divergence.count, 0);
}

/* Sessions of one thread that compute, lose their CPU in another function, or wait there; milliseconds. */
static void add_computing(struct buf *text, unsigned long long *now, unsigned i, double cpu, double lost, double wait)
{
	unsigned long long computed = *now + 30 + (unsigned long long)(cpu * 1e6),
			   got = computed + 30 + (unsigned long long)((lost + wait) * 1e6);

	add_accept(text, *now, i, 9999);
	buf_add_format(text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n", *now + 10, *now + 15,
		       i);
	buf_add_format(text, "1 %llu call compute\n1 %llu delay 0 1 %.0f\n1 %llu return\n", *now + 30, computed,
		       cpu * 1e6, computed + 1);
	buf_add_format(text, "1 %llu call enter\n1 %llu delay %.0f 1 0\n1 %llu return\n", computed + 10, got,
		       lost * 1e6, got + 1);
	buf_add_format(text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n", got + 10, i,
		       got + 20);
	*now = got + 1000;
}

TEST(with_labels_computation_is_found_where_delays_or_others_hide_it)
{
	for (unsigned others_wait = 0; others_wait < 2; others_wait++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 22);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		uint8_t group_of[40] = {[20] = 1, [32] = 1};
		unsigned long long now = 1000;
		struct why why = {};

		buf_add_text(&text,
			     "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 socket=9999\n"
			     "1 2 delay 0 1 0\n");
		for (unsigned i = 0; i < ARRAY_SIZE(group_of); i++)
			add_computing(&text, &now, i + 1, group_of[i] ? 20 : 0.1, group_of[i] && !others_wait ? 60 : 0,
				      others_wait && !group_of[i] && i % 3 ? 30 : 0.1);
		trace = sample_of_text(buf_text(&text));
		REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
		REQUIRE(s->list.count == ARRAY_SIZE(group_of));
		c = compare_groups(s, group_of, &(struct compare_options){});
		unit_note("case %u: %s", others_wait, c->answer);
		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_TEXT(c->all.items[0].function, "compute");
	}
}

/*
 * An event loop that reads with the same function in two places. Where a session waits for its answer depends on where
 * it was before, so some of the two or three wait in another place than where most of the time is.
 */
TEST(sessions_that_wait_at_different_places_are_one_set)
{
	for (unsigned ms = 10; ms <= 130; ms += 120) {
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
		_cleanup_(comparison_freep) struct comparison *c = NULL;
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 22);
		unsigned long long now = 1000;

		buf_add_text(&text, "thread 1 pid=1 tid=1 name=x\n1 0 call main\n1 1 op-listen fd=3 result=0 "
				    "socket=9999\n1 2 delay 0 1 0\n");
		for (unsigned i = 1; i <= 40; i++) {
			bool is_far = i == 15 || i == 22;
			unsigned long long took = is_far    ? 300000000
						  : i == 30 ? ms * 1000000ull
						  : i == 9  ? 5000000
							    : 1000;

			add_accept(&text, now, i, 9999);
			buf_add_format(&text, "1 %llu call serve\n1 %llu op-read fd=5 result=9 took=5 socket=%u\n",
				       now + 10, now + 15, i);
			if (is_far)
				buf_add_format(&text, "1 %llu call again\n", now + 21);
			buf_add_format(&text, "1 %llu call take\n1 %llu op-connect fd=6 result=0 took=5 socket=%u\n",
				       now + 22, now + 23, 5000 + i);
			buf_add_format(&text, "1 %llu op-read fd=6 result=9 took=%llu socket=%u\n1 %llu return\n",
				       now + 30, took, 5000 + i, now + took + 40);
			if (is_far)
				buf_add_format(&text, "1 %llu return\n", now + took + 41);
			buf_add_format(&text, "1 %llu op-write fd=5 result=9 took=5 socket=%u aux=9\n1 %llu return\n",
				       now + took + 50, i, now + took + 60);
			now += took + 2000;
		}
		trace = sample_of_text(buf_text(&text));
		c = compare(trace, &s);
		unit_note("%s", c->answer);
		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_UINT(c->group[1].sessions, ms > 100 ? 3 : 2);
	}
}

/* Peak resident set since the last reset, KiB. */
static uint64_t peak_kib(bool resets)
{
	FILE *f = resets ? fopen("/proc/self/clear_refs", "we") : NULL;
	char line[256];
	uint64_t kib = 0;

	if (f) {
		REQUIRE(fputs("5", f) >= 0);
		(void)fclose(f);
	}
	f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kib = strtoull(line + 6, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

/* 4,096 sessions at 250 places: 70 MB of cells, of which few are resident at a time. */
TEST(a_search_among_many_sessions_and_places_takes_little_memory)
{
	enum { MANY = 4096, PLACES = 250 };
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
	_cleanup_free_ uint8_t *group_of = NULL;
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct made m = {.random = 1, .now = 1000, .writer = sample_open(path)};
	uint32_t module = trace_writer_module(m.writer, &(struct flow_module){.path = "/bin/srv"});
	uint32_t main_fn = trace_writer_function(m.writer, module, 16, "main"), fns[PLACES];
	struct why why = {};
	uint64_t before;

	for (unsigned i = 0; i < PLACES; i++)
		fns[i] =
			trace_writer_function(m.writer, module, 64 + i * 16, (char[]){'f', (char)('a' + i % 26), '\0'});
	m.thread = trace_writer_thread(m.writer, 1, 1, "srv");
	trace_writer_call(m.writer, m.thread, m.now, main_fn);
	operation(&m, FLOW_OP_LISTEN, 9999, 10, 0, 0);
	for (uint32_t i = 1; i <= MANY; i++) {
		struct flow_socket socket = {.socket = i, .fd = 7, .family = 2, .type = 1};

		REQUIRE(addr_parse_endpoint("10.0.0.1:80", &socket.local) == 0);
		REQUIRE(addr_parse_endpoint("10.0.0.2:1", &socket.remote) == 0);
		socket.remote.port = (uint16_t)(1000 + i);
		(void)trace_writer_socket(m.writer, m.thread, m.now, &socket);
		operation(&m, FLOW_OP_ACCEPT, i, 10, 7, 0);
		trace_writer_call(m.writer, m.thread, m.now += 10, fns[0]);
		operation(&m, FLOW_OP_READ, i, 10, 50, 0);
		for (unsigned k = 1; k < PLACES; k++) {
			trace_writer_call(m.writer, m.thread, m.now += 10, fns[k]);
			m.now += 100 + unit_random(&m.random) % 1000;
			trace_writer_return(m.writer, m.thread, m.now);
		}
		operation(&m, FLOW_OP_WRITE, i, 10, 100, 100);
		trace_writer_return(m.writer, m.thread, m.now += 10);
	}
	trace = sample_close(m.writer, path);
	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
	group_of = xzalloc(s->list.count + 1);
	before = peak_kib(true);
	CHECK(compare_find_outliers(s, group_of, &outlier, &why) == -ENODATA);
	CHECK_HAS_TEXT(outlier.how, "4096 sessions compared");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	CHECK(peak_kib(false) - before < 24 * 1024);
#endif
	unit_note("%" PRIu64 " KiB", peak_kib(false) - before);
}

TEST(delays_are_counted_and_ranked)
{
	double delays[1000];
	struct delay_noise noise;

	for (unsigned i = 0; i < 1000; i++)
		delays[i] = 1000.0 * (1000 - i);
	noise = delay_noise_of(delays, 1000);
	CHECK_NEAR(noise.large_ns, 901000, 1);
	CHECK_EQ_UINT(delay_noise_count(&noise, 1), 1000);
	CHECK_EQ_UINT(delay_noise_count(&noise, 998000), 3);
	CHECK_EQ_UINT(delay_noise_count(&noise, 1e6 + 1), 0);
	CHECK_NEAR(delay_noise_longest(&noise, 1), 1e6, 1);
	CHECK_NEAR(delay_noise_longest(&noise, 3), 998000, 1);
	noise = delay_noise_of(delays, 2);
	CHECK_NEAR(delay_noise_longest(&noise, 3), 0, 1e-9);
	noise = delay_noise_of(delays, 0);
	CHECK_NEAR(delay_noise_longest(&noise, 1), 0, 1e-9);
}
