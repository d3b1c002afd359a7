/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparison of sessions: no difference between equal ones, none from noise, and real ones are located. */
#include "flow/analyse/compare.h"
#include "flow_sample.h"

/* A server that serves each client with a call of serve; the client decides what differs. */
struct model {
	struct trace_writer *writer;
	uint64_t now, random;
	uint64_t lookup_ns, pause_ns;
	unsigned lookups;         /* per client; 0: one, or as its manner says */
	unsigned percent, one_in; /* speed of everything in percent, and one call in one_in is preempted */
	uint32_t thread, main, serve, parse, answer, lookup, write, noise, deep, error, body[40];
};

/* Duration of a call on a busy machine: preemptions are mostly short, sometimes very long. */
static uint64_t takes(struct model *m, uint64_t ns)
{
	uint64_t taken = ns * m->percent / 100;

	if (m->one_in && unit_random(&m->random) % m->one_in == 0)
		taken += 5000 * 1000 / (1 + unit_random(&m->random) % 1000);
	return taken;
}

static void call(struct model *m, uint32_t fn, uint64_t ns)
{
	trace_writer_call(m->writer, m->thread, m->now += 10, fn);
	if (unit_random(&m->random) % 3 == 0) {
		trace_writer_call(m->writer, m->thread, m->now += 5, m->noise);
		if (unit_random(&m->random) % 2) {
			trace_writer_call(m->writer, m->thread, m->now += 5, m->deep);
			trace_writer_return(m->writer, m->thread, m->now += 5);
		}
		trace_writer_return(m->writer, m->thread, m->now += 5);
	}
	trace_writer_return(m->writer, m->thread, m->now += takes(m, ns + unit_random(&m->random) % (ns / 2 + 1)));
}

static void operation(struct model *m, enum flow_op op, uint32_t socket, int result)
{
	trace_writer_operation(m->writer, m->thread,
			       &(struct flow_operation){.op = op,
							.start_ticks = m->now + 1,
							.end_ticks = m->now + 2,
							.socket = socket,
							.fd = 7,
							.result = result});
	m->now += 2;
}

/* TWICE: session durations follow slow clients, and one function takes twice as long. */
enum manner { NORMAL, SLOW, FAILING, TWICE, EXTRA, MISSING, MORE, MANY };

static void client(struct model *m, uint32_t number, enum manner manner)
{
	struct flow_socket socket = {.socket = number, .fd = 7, .family = 2, .type = 1};

	REQUIRE(addr_parse_endpoint("10.0.0.1:80", &socket.local) == 0);
	REQUIRE(addr_parse_endpoint("10.0.0.2:1", &socket.remote) == 0);
	socket.remote.port = (uint16_t)(1000 + number);
	(void)trace_writer_socket(m->writer, m->thread, m->now, &socket);
	operation(m, FLOW_OP_ACCEPT, number, 7);
	trace_writer_call(m->writer, m->thread, m->now += 10, m->serve);
	m->now += m->pause_ns ? unit_random(&m->random) % m->pause_ns : 0;
	operation(m, FLOW_OP_READ, number, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(m->body); i++) {
		trace_writer_call(m->writer, m->thread, m->now += 10, m->body[i]);
		trace_writer_return(m->writer, m->thread, m->now += takes(m, 20 + i * 20));
	}
	if (manner != MISSING)
		call(m, m->parse, 300);
	trace_writer_call(m->writer, m->thread, m->now += 10, m->answer);
	for (unsigned i = 0; i < (m->lookups ? m->lookups : manner == MORE ? 3 : 1); i++)
		call(m, m->lookup,
		     manner == SLOW    ? 40000000
		     : manner == TWICE ? m->lookup_ns * 2
		     : manner == MANY  ? m->lookup_ns * 400
				       : m->lookup_ns);
	if (manner == EXTRA)
		call(m, m->error, 100);
	if (manner == FAILING)
		call(m, m->error, 100);
	else
		call(m, m->write, 100);
	operation(m, FLOW_OP_WRITE, number, 100);
	trace_writer_return(m->writer, m->thread, m->now += 10);
	operation(m, FLOW_OP_CLOSE, number, 0);
	trace_writer_return(m->writer, m->thread, m->now += 10);
}

static struct flow_trace *make_like(struct model m, unsigned normal, unsigned bad, enum manner manner)
{
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	uint32_t module;
	struct {
		uint32_t *fn;
		const char *name;
	} names[] = {{&m.main, "main"},     {&m.serve, "serve"},      {&m.parse, "parse"},
		     {&m.answer, "answer"}, {&m.lookup, "lookup"},    {&m.write, "write"},
		     {&m.noise, "alloc"},   {&m.deep, "alloc_block"}, {&m.error, "error"}};

	m.writer = sample_open(path);
	m.now = 1000;
	module = trace_writer_module(m.writer, &(struct flow_module){.path = "/bin/srv"});
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		*names[i].fn = trace_writer_function(m.writer, module, i * 16, names[i].name);
	for (unsigned i = 0; i < ARRAY_SIZE(m.body); i++)
		m.body[i] = trace_writer_function(m.writer, module, 1000 + i * 16,
						  (char[]){'b', (char)('a' + i / 26), (char)('a' + i % 26), '\0'});
	m.thread = trace_writer_thread(m.writer, 1, 1, "srv");
	trace_writer_call(m.writer, m.thread, m.now, m.main);
	operation(&m, FLOW_OP_LISTEN, 9999, 0);
	for (uint32_t i = 0; i < normal + bad; i++)
		client(&m, i + 1, bad && (!normal || i % ((normal + bad) / bad) == 1) ? manner : NORMAL);
	trace_writer_return(m.writer, m.thread, m.now += 10);
	return sample_close(m.writer, path);
}

static struct flow_trace *make(uint64_t seed, unsigned normal, unsigned bad, enum manner manner)
{
	return make_like((struct model){.random = seed * 77 + 5,
					.lookup_ns = manner == TWICE ? 400000 : 400,
					.pause_ns = manner == TWICE ? 50000000 : 0,
					.percent = 100},
			 normal, bad, manner);
}

/* On a busy machine that is slower as a whole. */
static struct flow_trace *make_busy(uint64_t seed, unsigned percent, unsigned normal, unsigned bad, enum manner manner)
{
	return make_like(
		(struct model){.random = seed * 991 + 3, .lookup_ns = 20000, .percent = percent, .one_in = 500}, normal,
		bad, manner);
}

static struct flow_sessions *split(const struct flow_trace *trace)
{
	struct flow_sessions *s = NULL;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
	return s;
}

static struct comparison *by_expression(struct flow_sessions *s, const char *good, const char *bad)
{
	_cleanup_free_ uint8_t *group_of = xzalloc(s->list.count);
	struct why why = {};

	if (compare_label(s, good, bad, group_of, &why) < 0)
		fprintf(stderr, "# %s\n", why.text);
	return compare_groups(s, group_of, &(struct compare_options){});
}

TEST(a_trace_does_not_differ_from_itself)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(seed, 30, 5, FAILING);
		_cleanup_(flow_sessions_freep) struct flow_sessions *a = split(trace), *b = split(trace);
		_cleanup_(comparison_freep) struct comparison *c = compare_traces(a, b, &(struct compare_options){});

		CHECK_EQ_UINT(c->all.count, 0);
		CHECK_EQ_UINT(c->divergence.count, 0);
		CHECK_HAS_TEXT(c->answer, "no difference");
	}
}

TEST(random_traces_do_not_differ_from_themselves)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 3, 3000);
		_cleanup_(flow_sessions_freep) struct flow_sessions *a = split(trace), *b = split(trace);
		_cleanup_(comparison_freep) struct comparison *c = compare_traces(a, b, &(struct compare_options){});

		CHECK_EQ_UINT(c->all.count, 0);
	}
}

TEST(noise_is_no_difference)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(seed, 40, 0, NORMAL);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
		_cleanup_(comparison_freep) struct comparison *c = by_expression(s, NULL, "session > 30"),
							      *pair = by_expression(s, "session == 3", "session == 8");
		_cleanup_free_ uint8_t *group_of = xzalloc(s->list.count);
		struct why why = {};
		_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};

		unit_note("seed %u: %s", seed, c->answer);
		CHECK_EQ_UINT(s->list.count, 40);
		CHECK_EQ_UINT(c->all.count, 0);
		/* Two sessions whose calls differ are not alike; the trace knows it for noise. */
		vec_each(&pair->all, d)
			CHECK_NEAR(d->confidence, 0.1, 1e-9);
		CHECK_ERR(compare_find_outliers(s, group_of, &outlier, &why), -ENODATA);
	}
}

TEST(a_call_that_takes_longer_is_named)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(seed, 40, 5, SLOW);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
		_cleanup_(comparison_freep) struct comparison *c = by_expression(s, NULL, "span > 10ms");
		_cleanup_free_ uint8_t *group_of = xzalloc(s->list.count);
		_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
		struct why why = {};
		size_t found = 0;

		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_TEXT(c->all.items[0].function, "lookup");
		CHECK_EQ_UINT(c->all.items[0].kind, DIVERGENCE_SLOWER);
		CHECK(c->all.items[0].ratio > 1000);
		CHECK_EQ_UINT(c->all.items[0].path.count, 4);
		CHECK_EQ_UINT(c->group[1].sessions, 5);
		/* The same sessions are found without labels. */
		CHECK_OK(compare_find_outliers(s, group_of, &outlier, &why));
		for (size_t i = 0; i < s->list.count; i++)
			found += group_of[i] == 1 && flow_session_at(s, i).span_ns > 10000000;
		CHECK_EQ_UINT(found, 5);
	}
}

TEST(a_call_that_others_do_not_make_is_named)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(seed, 40, 5, FAILING);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
		_cleanup_(comparison_freep) struct comparison *c =
			by_expression(s, NULL, "session in (2, 11, 20, 29, 38)");
		bool extra = false, missing = false;

		CHECK_EQ_UINT(c->all.count, 2);
		vec_each(&c->all, d) {
			CHECK_EQ_UINT(d->path.count, 4);
			extra |= d->kind == DIVERGENCE_EXTRA && strcmp(d->function, "error") == 0 &&
				 d->bad_sessions == 5 && d->good_sessions == 0;
			missing |= d->kind == DIVERGENCE_MISSING && strcmp(d->function, "write") == 0 &&
				   d->bad_sessions == 0 && d->good_sessions == 40;
		}
		CHECK(extra);
		CHECK(missing);
	}
}

TEST(a_function_that_takes_twice_as_long_is_named_though_sessions_do_not_differ)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = make(seed, 40, 5, TWICE),
						       *as_ever = make(seed, 40, 0, TWICE);
		_cleanup_flow_trace_ struct flow_trace *after = make(seed + 50, 0, 40, TWICE);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace), *before = split(as_ever),
								    *later = split(after);
		_cleanup_(comparison_freep) struct comparison *c =
			by_expression(s, NULL, "session in (2, 11, 20, 29, 38)");
		_cleanup_(comparison_freep) struct comparison *none = by_expression(s, "session in (2, 11, 20)", NULL);
		_cleanup_(comparison_freep) struct comparison *alike = by_expression(before, NULL, "session > 20");
		_cleanup_(comparison_freep) struct comparison *traces =
			compare_traces(before, later, &(struct compare_options){});

		unit_note("seed %u: %s", seed, c->answer);
		REQUIRE(c->divergence.count == 1);
		CHECK_EQ_TEXT(c->all.items[0].function, "lookup");
		CHECK_EQ_UINT(c->all.items[0].kind, DIVERGENCE_SLOWER);
		CHECK_NEAR(c->all.items[0].ratio, 2.0, 0.3);
		CHECK_NEAR((double)c->all.items[0].bad_call_ns, 900000.0, 150000.0);
		CHECK_HAS_TEXT(c->answer, "a call of lookup takes");
		REQUIRE(traces->divergence.count == 1);
		CHECK_EQ_TEXT(traces->all.items[0].function, "lookup");
		CHECK_HAS_TEXT(traces->answer, "99 % confidence interval");
		CHECK(traces->all.items[0].ratio_low > 1.6 && traces->all.items[0].ratio_low <= 2);
		CHECK(traces->all.items[0].ratio_high >= 2 && traces->all.items[0].ratio_high < 2.5);
		CHECK_EQ_UINT(none->all.count, 0);
		CHECK_EQ_UINT(alike->all.count, 0);
	}
}

/* What differs between the sessions, and where it must be found. */
static const struct {
	enum manner manner;
	const char *function;
	enum divergence_kind kind;
} wrongs[] = {
	{NORMAL, NULL, 0},
	{EXTRA, "error", DIVERGENCE_EXTRA},
	{MISSING, "parse", DIVERGENCE_MISSING},
	{FAILING, "error", DIVERGENCE_EXTRA},
	{MORE, "lookup", DIVERGENCE_EXTRA},
	{MANY, "lookup", DIVERGENCE_SLOWER},
	{TWICE, "lookup", DIVERGENCE_SLOWER},
};

static void check_found(const struct comparison *c, size_t wrong)
{
	CHECK_EQ_UINT(c->divergence.count, wrongs[wrong].function ? 1 : 0);
	if (!c->divergence.count || !wrongs[wrong].function)
		return;
	CHECK_EQ_TEXT(c->all.items[0].function, wrongs[wrong].function);
	CHECK_EQ_UINT(c->all.items[0].kind, wrongs[wrong].kind);
}

TEST(few_sessions_that_take_longer_are_found_without_labels_and_other_calls_are_mentioned)
{
	for (uint64_t seed = 1; seed <= 8; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(wrongs) - 1; i++) {
			_cleanup_flow_trace_ struct flow_trace *trace = make_busy(
				seed, 100, wrongs[i].function ? 95 : 100, wrongs[i].function ? 5 : 0, wrongs[i].manner);
			_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
			_cleanup_free_ uint8_t *group_of = xzalloc(s->list.count);
			_cleanup_(compare_outlier_done) struct compare_outlier outlier = {};
			_cleanup_(comparison_freep) struct comparison *c = NULL;
			struct why why = {};

			if (wrongs[i].manner != MANY) {
				CHECK_ERR(compare_find_outliers(s, group_of, &outlier, &why), -ENODATA);
				CHECK_HAS_TEXT(outlier.how, "no session stands out: 100 sessions compared");
				if (wrongs[i].function) {
					CHECK_HAS_TEXT(outlier.how, "Not reported: 5 sessions");
					CHECK_HAS_TEXT(outlier.how, wrongs[i].function);
					CHECK_HAS_TEXT(outlier.how, "--bad 'session in (2, 22, 42, 62, 82)'");
				}
				continue;
			}
			CHECK_OK(compare_find_outliers(s, group_of, &outlier, &why));
			c = compare_groups(s, group_of, &(struct compare_options){.outlier = &outlier});
			unit_note("seed %llu: %s (%s)", (unsigned long long)seed, c->answer, c->how);
			check_found(c, i);
			CHECK_EQ_UINT(c->group[1].sessions, 5);
			REQUIRE(c->group[1].members.count == 5);
			for (uint32_t k = 0; k < 5; k++)
				CHECK_EQ_UINT(((const struct compared_member *)c->group[1].members.items)[k].session,
					      2 + 20 * k);
		}
}

TEST(before_and_after_are_told_apart_on_a_machine_that_was_busier_then)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		_cleanup_flow_trace_ struct flow_trace *then = make_busy(seed, 100, 100, 0, NORMAL);
		_cleanup_(flow_sessions_freep) struct flow_sessions *before = split(then);

		for (size_t i = 0; i < ARRAY_SIZE(wrongs); i++) {
			_cleanup_flow_trace_ struct flow_trace *now =
				make_busy(seed + 100, 150, wrongs[i].function ? 0 : 100, wrongs[i].function ? 100 : 0,
					  wrongs[i].manner);
			_cleanup_(flow_sessions_freep) struct flow_sessions *after = split(now);
			_cleanup_(comparison_freep) struct comparison *c =
				compare_traces(before, after, &(struct compare_options){});

			unit_note("seed %llu: %s", (unsigned long long)seed, c->answer);
			check_found(c, i);
		}
	}
}

/* Sessions in which `answer` makes that many lookups. */
static struct flow_trace *make_calls(uint64_t seed, unsigned sessions, unsigned lookups)
{
	return make_like((struct model){.random = seed * 31 + 7, .lookup_ns = 2000, .lookups = lookups, .percent = 100},
			 sessions, 0, NORMAL);
}

TEST(a_call_that_is_made_more_often_or_less_often_than_before_is_told)
{
	static const struct {
		unsigned before, after;
		enum divergence_kind kind;
		const char *answer;
	} cases[] = {
		{1, 3, DIVERGENCE_EXTRA,
		 "answer calls lookup 3 times in bad sessions and 1 time in good ones (3 times as often)"},
		{10, 11, DIVERGENCE_EXTRA, "answer calls lookup 11 times in bad sessions and 10 times in good ones"},
		{4, 2, DIVERGENCE_MISSING, "answer calls lookup 2 times in bad sessions and 4 times in good ones"},
		{5, 5, 0, NULL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_flow_trace_ struct flow_trace *then = make_calls(1, 30, cases[i].before),
						       *now = make_calls(2, 30, cases[i].after);
		_cleanup_(flow_sessions_freep) struct flow_sessions *before = split(then), *after = split(now);
		_cleanup_(comparison_freep) struct comparison *c =
			compare_traces(before, after, &(struct compare_options){});

		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->divergence.count, cases[i].answer ? 1 : 0);
		if (!c->divergence.count || !cases[i].answer)
			continue;
		CHECK_HAS_TEXT(c->answer, cases[i].answer);
		CHECK_EQ_UINT(c->all.items[0].kind, cases[i].kind);
		CHECK_NEAR(c->all.items[0].good_calls, cases[i].before, 1e-9);
		CHECK_NEAR(c->all.items[0].bad_calls, cases[i].after, 1e-9);
		CHECK(c->all.items[0].confidence > 0.99);
	}
}

TEST(few_sessions_do_not_show_how_often_a_call_is_made)
{
	_cleanup_flow_trace_ struct flow_trace *then = make_calls(1, 3, 1), *now = make_calls(2, 3, 3);
	_cleanup_(flow_sessions_freep) struct flow_sessions *before = split(then), *after = split(now);
	_cleanup_(comparison_freep) struct comparison *c = compare_traces(before, after, &(struct compare_options){});

	vec_each(&c->all, d)
		CHECK(!(d->good_calls > 0));
}

TEST(statistics_are_what_the_books_say)
{
	uint64_t a[] = {1, 2, 3, 4}, b[] = {5, 6, 7}, same[] = {2, 2}, twin[] = {2, 2};

	CHECK_NEAR(compare_superiority(a, 4, b, 3), 1.0, 1e-12);
	CHECK_NEAR(compare_superiority(b, 3, a, 4), 0.0, 1e-12);
	CHECK_NEAR(compare_superiority(same, 2, twin, 2), 0.5, 1e-12);
	/* Five of five and none of forty: 1 in C(45,5). */
	CHECK_NEAR(compare_chance(5, 5, 0, 40) * 1221759, 1.0, 1e-6);
	/* The lady tasting tea: 1 in 70, and 17 in 70. */
	CHECK_NEAR(compare_chance(4, 4, 0, 4), 1.0 / 70, 1e-9);
	CHECK_NEAR(compare_chance(3, 4, 1, 4), 17.0 / 70, 1e-9);
	CHECK_NEAR(compare_chance(0, 5, 40, 40), 1.0, 1e-9);
	/* The normal approximation is close to the exact values: 1 in 70, 7 in 70, one half. */
	CHECK_NEAR(compare_rank_chance(1.0, 4, 4), 1.0 / 70, 2e-3);
	/* Poisson tails: P(X >= 3), P(X >= 2) and a small one, of mean 2. */
	CHECK_NEAR(compare_many_chance(3, 2), 0.32332, 1e-5);
	CHECK_NEAR(compare_many_chance(2, 2), 0.59399, 1e-5);
	CHECK_NEAR(compare_many_chance(20, 2) * 1e14, 6.44373, 1e-5);
	CHECK_NEAR(compare_set_chance(3, 2), 6 * 0.32332, 1e-4);
	CHECK_NEAR(compare_set_chance(2, 2), 2 * 0.59399, 1e-4);
	CHECK_NEAR(compare_rank_chance(13.0 / 16, 4, 4), 7.0 / 70, 5e-3);
	CHECK(compare_rank_chance(0.5, 20, 20) > 0.5);
	/* Nothing to compare with says nothing. */
	CHECK_NEAR(compare_rank_chance(0, 0, 4), 0.5, 1e-12);
	CHECK(compare_rank_chance(1.0, 40, 5) < 1e-3);
}

/* Share of intervals that do not contain the true ratio, and their mean width. */
static double missed(size_t sessions, double ratio, double *ret_width)
{
	uint64_t state = 5, good[400], bad[400];
	unsigned misses = 0, rounds = 300;

	*ret_width = 0;
	for (unsigned round = 0; round < rounds; round++) {
		struct compare_interval i;

		for (size_t k = 0; k < sessions; k++) {
			good[k] = 100000 + unit_random(&state) % 100000;
			bad[k] = (uint64_t)(ratio * (double)(100000 + unit_random(&state) % 100000));
		}
		(void)compare_median(good, sessions);
		(void)compare_median(bad, sessions);
		i = compare_ratio_interval(good, sessions, bad, sessions, 0.5);
		misses += i.low > ratio || i.high < ratio;
		*ret_width += (i.high - i.low) / rounds;
	}
	return (double)misses / rounds;
}

TEST(a_confidence_interval_holds_the_true_ratio)
{
	double few, many;

	CHECK(missed(40, 2, &few) <= 0.03);
	CHECK(missed(400, 2, &many) <= 0.03);
	/* Ten times as many sessions: about a third of the width. */
	CHECK(many < few / 2 && many > few / 6);
	CHECK(compare_ratio_interval(NULL, 0, NULL, 0, 0.5).high == 0);
}
