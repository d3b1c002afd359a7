/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Summaries: unfolding restores the input; loops and recursion are found; coarsening only removes. */
#include "base/clock.h"
#include "flow/analyse/coarsen.h"
#include "flow/analyse/fold.h"
#include "flow_sample.h"

static void unfold(const struct forest *forest, const struct forest_item *items, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < items[i].times; k++) {
			const struct forest_node *node = &forest->nodes.items[items[i].node];

			if (node->fn != FOREST_BLOCK)
				buf_add_format(out, "(%u", node->fn);
			unfold(forest, forest->items.items + node->first, node->count, out);
			if (node->fn != FOREST_BLOCK)
				buf_add_text(out, ")");
		}
}

/* Each letter is a function: folds the row and prints it. */
static void fold_letters(const char *letters, const struct fold_options *options, struct buf *out)
{
	struct forest forest;
	struct forest_row row = {};
	_cleanup_buf_ struct buf before = BUF_INIT(BUF_CAP_DEFAULT), after = BUF_INIT(BUF_CAP_DEFAULT);

	forest_init(&forest, 256);
	for (const char *at = letters; *at; at++)
		vec_push(&row.items, (struct forest_item){forest_leaf(&forest, (uint8_t)*at), 1});
	unfold(&forest, row.items.items, row.items.count, &before);
	fold_row(&forest, options, &row);
	unfold(&forest, row.items.items, row.items.count, &after);
	CHECK_EQ_TEXT(buf_text(&after), buf_text(&before));
	for (size_t i = 0; i < row.items.count; i++) {
		const struct forest_item *item = &row.items.items[i];
		const struct forest_node *node = &forest.nodes.items[item->node];

		if (item->times > 1)
			buf_add_format(out, "%u", item->times);
		if (node->fn != FOREST_BLOCK) {
			buf_add_char(out, (char)node->fn);
			continue;
		}
		buf_add_char(out, '(');
		for (uint32_t k = 0; k < node->count; k++) {
			const struct forest_item *inner = &forest.items.items[node->first + k];

			if (inner->times > 1)
				buf_add_format(out, "%u", inner->times);
			buf_add_char(out, forest.nodes.items[inner->node].fn == FOREST_BLOCK
						  ? '#'
						  : (char)forest.nodes.items[inner->node].fn);
		}
		buf_add_char(out, ')');
	}
	vec_done(&row.items);
	forest_done(&forest);
}

TEST(repeats_become_groups)
{
	static const struct {
		enum fold_algorithm algorithm;
		uint32_t window;
		const char *from, *to;
	} cases[] = {
		{FOLD_LINEAR, 0, "aaaa", "4a"},
		{FOLD_LINEAR, 0, "aa", "2a"},
		{FOLD_SEARCH, 0, "aa", "2a"},
		{FOLD_LINEAR, 0, "a", "a"},
		{FOLD_LINEAR, 0, "ababab", "3(ab)"},
		{FOLD_LINEAR, 0, "xababy", "x2(ab)y"},
		{FOLD_LINEAR, 0, "aabaabaab", "3(2ab)"},
		{FOLD_LINEAR, 0, "abacabac", "2(abac)"},
		{FOLD_LINEAR, 0, "abc", "abc"},
		{FOLD_LINEAR, 0, "abababcabababc", "2(3#c)"},
		{FOLD_SEARCH, 0, "abababcabababc", "2(3#c)"},
		{FOLD_SEARCH, 0, "aabaabaab", "3(2ab)"},
		{FOLD_SEARCH, 2, "abcabc", "abcabc"},
		{FOLD_WINDOW, 2, "ababab", "3(ab)"},
		{FOLD_WINDOW, 2, "abcabc", "abcabc"},
		{FOLD_WINDOW, 3, "abcabc", "2(abc)"},
		{FOLD_WINDOW, 3, "ababab", "ababab"},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf got = BUF_INIT(4096);
		struct fold_options options = {.algorithm = cases[i].algorithm, .window = cases[i].window};

		unit_note("%s with %s", cases[i].from, fold_algorithm_names[cases[i].algorithm]);
		fold_letters(cases[i].from, &options, &got);
		CHECK_EQ_TEXT(buf_text(&got), cases[i].to);
	}
}

TEST(folding_loses_nothing)
{
	uint64_t random = 99;

	for (unsigned round = 0; round < 300; round++) {
		char letters[400];
		size_t n = unit_random(&random) % (sizeof(letters) - 1), alphabet = 1 + unit_random(&random) % 4;
		_cleanup_buf_ struct buf got = BUF_INIT(BUF_CAP_DEFAULT);

		for (size_t i = 0; i < n; i++) {
			size_t back = 1 + unit_random(&random) % 9;

			/* Copies of earlier items, so that there is something to find. */
			letters[i] = unit_random(&random) % 5 && i > back
					     ? letters[i - back]
					     : (char)('a' + unit_random(&random) % alphabet);
		}
		letters[n] = '\0';
		for (enum fold_algorithm a = FOLD_LINEAR; a <= FOLD_SEARCH; a++)
			fold_letters(letters, &(struct fold_options){.algorithm = a}, &got);
	}
}

static struct flow_sessions *split(const struct flow_trace *trace)
{
	struct flow_sessions *s = NULL;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){.by = DEMUX_THREAD}, &s, &why) == 0);
	return s;
}

TEST(whole_sessions_unfold_to_what_they_were)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 2, 3000);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);

		vec_each(&s->list, session)
			for (enum fold_algorithm a = FOLD_LINEAR; a <= FOLD_SEARCH; a++) {
				_cleanup_buf_ struct buf before = BUF_INIT(BUF_CAP_DEFAULT),
							 after = BUF_INIT(BUF_CAP_DEFAULT);
				_cleanup_free_ uint32_t *memo = xzalloc(s->forest.nodes.count * sizeof(*memo));
				struct forest folded;
				uint32_t node;

				forest_init(&folded, trace->function_count);
				node = fold_tree(&s->forest, session->tree, &(struct fold_options){.algorithm = a},
						 &folded, memo);
				unfold(&s->forest, &(struct forest_item){session->tree, 1}, 1, &before);
				unfold(&folded, &(struct forest_item){node, 1}, 1, &after);
				CHECK_EQ_TEXT(buf_text(&after), buf_text(&before));
				CHECK_EQ_UINT(folded.nodes.items[node].calls,
					      s->forest.nodes.items[session->tree].calls);
				forest_done(&folded);
			}
	}
}

TEST(recursion_is_one_call_and_a_depth)
{
	struct forest forest;
	struct forest_item row[3];
	struct fold_recursion found;
	uint32_t node, leaf;

	forest_init(&forest, 16);
	leaf = forest_leaf(&forest, 2);
	node = forest_leaf(&forest, 1);
	for (unsigned i = 0; i < 9; i++) {
		row[0] = (struct forest_item){leaf, 2};
		row[1] = (struct forest_item){node, 1};
		row[2] = (struct forest_item){leaf, 1};
		node = forest_cons(&forest, 1, row, 3);
	}
	found = fold_recursion(&forest, node);
	CHECK_EQ_UINT(found.levels, 10);
	CHECK_EQ_UINT(found.base, forest_leaf(&forest, 1));
	CHECK_EQ_UINT(fold_recursion(&forest, leaf).levels, 1);
	/* Other calls around one level end the recursion. */
	row[0].times = 5;
	row[1].node = node;
	node = forest_cons(&forest, 1, row, 3);
	CHECK_EQ_UINT(fold_recursion(&forest, node).levels, 2);
	forest_done(&forest);
}

/* Time to fold a row of n calls: twice as many should take about twice as long; four times is not linear. */
TEST(the_linear_algorithm_is_linear)
{
	double took[2] = {1e18, 1e18};

	for (unsigned round = 0; round < 5; round++)
		for (unsigned size = 0; size < 2; size++) {
			struct forest forest;
			struct forest_row row = {};
			uint64_t random = 5, start;

			forest_init(&forest, 1000);
			for (size_t i = 0; i < (size_t)100000 << size; i++) {
				uint32_t fn = (uint32_t)(i % 700 < 500 ? i % 7 : unit_random(&random) % 900);

				vec_push(&row.items, (struct forest_item){forest_leaf(&forest, fn), 1});
			}
			start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
			fold_row(&forest, &(struct fold_options){}, &row);
			took[size] = min_of(took[size], (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start));
			CHECK(row.items.count < (size_t)40000 << size);
			vec_done(&row.items);
			forest_done(&forest);
		}
	CHECK(took[1] < 4 * took[0]);
}

static uint64_t count_calls(const struct forest *forest, uint32_t node, uint32_t fn, unsigned depth, unsigned *deepest)
{
	struct forest_walk walk;
	struct forest_item item;
	uint64_t count = forest->nodes.items[node].fn == fn;

	*deepest = max_of(*deepest, depth);
	forest_walk_begin(&walk, forest, node);
	while (forest_walk_next(&walk, &item))
		count += item.times * count_calls(forest, item.node, fn, depth + 1, deepest);
	return count;
}

TEST(hidden_functions_are_gone_and_the_others_are_all_there)
{
	/* The last one matches names, and no function's name starts with it; only the module's does. */
	char *hide[] = {(char *)"a", (char *)"x!e", (char *)"x*"};

	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 1, 2000);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
		uint32_t tree = s->list.items[0].tree, hidden, cut;
		struct coarsen_options by_name = {.hide = {3, hide}}, by_depth = {.depth = 3};
		struct coarsen c;
		struct forest into;
		unsigned deepest = 0, deepest_cut = 0;

		forest_init(&into, trace->function_count);
		coarsen_init(&c, &by_name, s);
		hidden = coarsen_tree(&c, &s->forest, tree, &into);
		for (uint32_t fn = 1; fn < trace->function_count; fn++) {
			const char *name = trace->functions[fn].name;
			uint64_t before = count_calls(&s->forest, tree, fn, 0, &deepest);

			CHECK_EQ_UINT(count_calls(&into, hidden, fn, 0, &deepest),
				      *name == 'a' || *name == 'e' ? 0 : before);
		}
		coarsen_done(&c);
		coarsen_init(&c, &by_depth, s);
		cut = coarsen_tree(&c, &s->forest, tree, &into);
		(void)count_calls(&into, cut, 0, 0, &deepest_cut);
		CHECK_EQ_UINT(deepest_cut, 3);
		CHECK(deepest > 3);
		coarsen_done(&c);
		forest_done(&into);
	}
}

TEST(patterns_that_leave_nothing)
{
	char *none[] = {(char *)"nosuch"}, *one[] = {(char *)"a"};
	_cleanup_flow_trace_ struct flow_trace *trace = sample_random(1, 1, 200);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
	struct coarsen_options empty = {.only = {1, none}}, some = {.only = {1, one}}, hidden = {.hide = {1, one}};
	struct coarsen c;

	coarsen_init(&c, &empty, s);
	CHECK(coarsen_is_empty(&c));
	coarsen_done(&c);
	coarsen_init(&c, &some, s);
	CHECK(!coarsen_is_empty(&c));
	coarsen_done(&c);
	coarsen_init(&c, &hidden, s);
	CHECK(!coarsen_is_empty(&c));
	CHECK_EQ_UINT(c.hidden_count, 1);
	coarsen_done(&c);
}

static uint32_t function_named(const struct flow_trace *trace, const char *name)
{
	for (uint32_t fn = 1; fn < trace->function_count; fn++)
		if (strcmp(trace->functions[fn].name, name) == 0)
			return fn;
	return 0;
}

TEST(calls_within_a_module_are_left_out)
{
	static const struct {
		const char *name;
		bool stays;
	} cases[] = {{"one", true}, {"two", false}, {"three", true}, {"four", false}, {"five", true}};
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=1 tid=1 name=t\n1 10 call a!one\n1 20 call a!two\n1 30 call b!three\n"
			       "1 40 call b!four\n1 50 call a!five\n1 60 return\n1 70 return\n1 80 return\n"
			       "1 90 return\n1 100 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace);
	struct coarsen_options options = {.modules = true};
	struct coarsen c;
	struct forest into;
	unsigned deepest = 0;
	uint32_t tree;

	forest_init(&into, trace->function_count);
	coarsen_init(&c, &options, s);
	tree = coarsen_tree(&c, &s->forest, s->list.items[0].tree, &into);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t fn = function_named(trace, cases[i].name);

		unit_note("%s", cases[i].name);
		CHECK_EQ_UINT(count_calls(&s->forest, s->list.items[0].tree, fn, 0, &deepest), 1);
		CHECK_EQ_UINT(count_calls(&into, tree, fn, 0, &deepest), cases[i].stays);
	}
	coarsen_done(&c);
	forest_done(&into);
}

/* Three functions, one with most of the time, one that every second session calls, one with a twentieth of the time. */
TEST(functions_with_time_and_variation_stay)
{
	static const char *const order[] = {"work", "rare", "often"};
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	struct why why = {};
	unsigned now = 1000;

	buf_add_text(&text, "thread 1 pid=1 tid=1 name=t\n1 10 call s!main\n");
	for (unsigned i = 1; i <= 20; i++, now += 20000) {
		buf_add_format(&text,
			       "1 %u socket socket=%u fd=5 family=2 type=1 local=10.0.0.1:80 remote=10.0.0.2:%u\n"
			       "1 %u op-accept fd=3 result=5 took=1 socket=%u\n1 %u call s!serve\n"
			       "1 %u op-read fd=5 result=10 took=1 socket=%u\n1 %u call s!work\n1 %u return\n"
			       "1 %u call s!often\n1 %u return\n",
			       now, i, 1000 + i, now + 1, i, now + 10, now + 11, i, now + 20, now + 9520, now + 9521,
			       now + 10021);
		if (i % 2)
			buf_add_format(&text, "1 %u call s!rare\n1 %u return\n", now + 10022, now + 10023);
		buf_add_format(&text,
			       "1 %u op-write fd=5 result=10 took=1 socket=%u\n1 %u return\n"
			       "1 %u op-close fd=5 result=0 took=1 socket=%u\n",
			       now + 10030, i, now + 10040, now + 10050, i);
	}
	trace = sample_of_text(buf_text(&text));
	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
	CHECK_EQ_UINT(s->list.count, 20);
	for (unsigned kept = 1; kept <= ARRAY_SIZE(order); kept++) {
		struct coarsen_options options = {.max_functions = kept};
		struct coarsen c;

		coarsen_init(&c, &options, s);
		for (unsigned i = 0; i < ARRAY_SIZE(order); i++) {
			unit_note("%s of the first %u", order[i], kept);
			CHECK_EQ_INT(c.is_hidden[function_named(trace, order[i])], i >= kept);
		}
		coarsen_done(&c);
	}
}
