/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of two traces: resolving functions of the same name. */
#include "flow/analyse/compare.h"
#include "flow_sample.h"

#define THREADS 8

/* Addresses of main, and of the copies of init that read, write and close call; 0: not called. */
struct layout {
	const char *build;
	uint64_t main, init[3];
};

/* Threads that all do the same: main calls read, write and close, each of which calls its own copy of init. */
static struct flow_sessions *threads_of(const struct layout *layout, struct flow_trace **ret_trace)
{
	static const char *const callers[] = {"read", "write", "close"};
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct trace_writer *writer = sample_open(path);
	uint32_t module = trace_writer_module(
		writer,
		&(struct flow_module){.path = "/bin/x", .build_id = layout->build, .begin = 0x1000, .end = 0x9000});
	uint32_t top = trace_writer_function(writer, module, layout->main, "main"), by[3], init[3] = {};
	struct flow_sessions *sessions = NULL;
	struct why why = {};

	for (unsigned i = 0; i < 3; i++) {
		by[i] = trace_writer_function(writer, module, layout->main + 0x100 + i, callers[i]);
		if (layout->init[i])
			init[i] = trace_writer_function(writer, module, layout->init[i], "init");
	}
	for (unsigned t = 0; t < THREADS; t++) {
		uint32_t thread = trace_writer_thread(writer, 1, t + 1, "x");
		uint64_t now = 1000 + t * 1000;

		trace_writer_call(writer, thread, now++, top);
		for (unsigned i = 0; i < 3; i++) {
			if (!layout->init[i])
				continue;
			trace_writer_call(writer, thread, now++, by[i]);
			trace_writer_call(writer, thread, now++, init[i]);
			trace_writer_return(writer, thread, now++);
			trace_writer_return(writer, thread, now++);
		}
		trace_writer_return(writer, thread, now++);
	}
	*ret_trace = sample_close(writer, path);
	REQUIRE(flow_sessions_new(*ret_trace, &(struct demux_options){.by = DEMUX_THREAD}, &sessions, &why) == 0);
	return sessions;
}

static struct comparison *compare_layouts(const struct layout *good, const struct layout *bad,
					  struct flow_trace **ret_traces)
{
	_cleanup_(flow_sessions_freep) struct flow_sessions *a = threads_of(good, &ret_traces[0]);
	_cleanup_(flow_sessions_freep) struct flow_sessions *b = threads_of(bad, &ret_traces[1]);

	return compare_traces(a, b, &(struct compare_options){});
}

TEST(copies_of_a_function_are_told_apart_between_traces)
{
	static const struct layout builds[] = {
		{"0a0a", 0x1000, {0x2000, 0x3000, 0x4000}},
		{"0b0b", 0x5000, {0x4100, 0x3100, 0x2100}}, /* the same in another order */
		{"", 0x1000, {0x2000, 0x3000, 0x4000}},
		{"", 0x7000, {0x6000, 0x2000, 0x3000}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(builds); j++) {
			_cleanup_flow_trace_ struct flow_trace *good = NULL, *bad = NULL;
			struct flow_trace *traces[2];
			_cleanup_(comparison_freep) struct comparison *c =
				compare_layouts(&builds[i], &builds[j], traces);

			good = traces[0];
			bad = traces[1];
			unit_note("%zu and %zu: %s", i, j, c->answer);
			CHECK_EQ_UINT(c->group[0].sessions, THREADS);
			CHECK_EQ_UINT(c->group[1].sessions, THREADS);
			CHECK_EQ_UINT(c->all.count, 0);
		}
	}
}

/* The first copy of one build is not called in the other: its first is the second here. */
TEST(a_copy_that_only_one_trace_has_moves_no_other)
{
	static const struct layout builds[][2] = {
		{{"0a0a", 0x1000, {0x2000, 0x3000, 0x4000}}, {"0a0a", 0x1000, {0, 0x3000, 0x4000}}},
		{{"0a0a", 0x1000, {0x2000, 0x3000, 0x4000}}, {"0b0b", 0x1800, {0, 0x3100, 0x4100}}},
		{{"", 0x1000, {0, 0x3000, 0x4000}}, {"", 0x1000, {0x2000, 0x3000, 0x4000}}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(builds); i++) {
		_cleanup_flow_trace_ struct flow_trace *good = NULL, *bad = NULL;
		struct flow_trace *traces[2];
		_cleanup_(comparison_freep) struct comparison *c =
			compare_layouts(&builds[i][0], &builds[i][1], traces);

		good = traces[0];
		bad = traces[1];
		unit_note("%s", c->answer);
		CHECK_EQ_UINT(c->all.count, 1);
		CHECK_HAS_TEXT(c->answer, "read");
		CHECK_HAS_TEXT(c->answer, "called in");
	}
}
