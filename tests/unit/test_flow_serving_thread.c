/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Activity of the thread that serves a connection in a given time range. */
#include <errno.h>

#include "flow/analyse/serving_thread.h"
#include "flow_sample.h"

/* Times are in nanoseconds; a text trace starts at 0 of both clocks, or as flow_ns says. */
static const char server[] = "thread 1 pid=7 tid=7 name=loop\nthread 2 pid=7 tid=8 name=other\n"
			     "1 1000 call s!main\n"
			     "1 1001 socket socket=1 fd=6 local=10.0.0.1:80 remote=10.0.0.9:999\n"
			     "1 1002 socket socket=2 fd=7 local=10.0.0.1:5555 remote=10.0.0.2:3306\n"
			     "1 1500 call s!serve\n"
			     "1 2000 op-read socket=1 fd=6 result=100 took=10\n"
			     "1 3000 call s!ask_database\n"
			     "1 4000 op-read socket=2 fd=7 result=5 took=5000\n"
			     "1 9500 return\n"
			     "1 10000 op-write socket=1 fd=6 result=5 took=10\n"
			     "1 11000 call s!rebuild\n"
			     "2 2500 call s!tick\n"
			     "2 30000 return\n";

static int ask(struct flow_trace *trace, uint64_t start, uint64_t end, const char *remote,
	       struct serving_thread *ret_serving)
{
	struct serving_question q = {.pid = 7, .start_ns = flow_ns(trace, start), .end_ns = flow_ns(trace, end)};
	struct why why = {};

	REQUIRE(addr_parse_endpoint("10.0.0.1:80", &q.local) == 0);
	REQUIRE(addr_parse_endpoint(remote, &q.remote) == 0);
	return serving_thread_find(trace, &q, ret_serving, &why);
}

TEST(the_innermost_function_that_has_most_of_the_time)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	struct serving_thread serving = {};

	REQUIRE(ask(trace, 3000, 9500, "10.0.0.9:999", &serving) == 0);
	CHECK_EQ_TEXT(serving.function, "ask_database");
	CHECK_NEAR(serving.share, 1.0, 1e-3);
	CHECK_EQ_UINT(serving.tid, 7);
	CHECK_EQ_UINT(serving.call_path.count, 3);
	CHECK_EQ_TEXT(serving.call_path.items[1], "serve");
	CHECK_EQ_UINT(serving.calls, 1);
	serving_thread_describe(&serving, &text);
	CHECK_EQ_TEXT(buf_text(&text),
		      "its thread 7 (loop) spent 100 % of that time in ask_database, called by serve, in a read on its "
		      "connection with 10.0.0.2:3306; no activity on the connection for 7.49 us");
	serving_thread_done(&serving);
}

TEST(a_call_that_does_not_end_goes_on)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	struct serving_thread serving = {};

	/* Long after the thread's last event. */
	REQUIRE(ask(trace, 1000000, 2000000, "10.0.0.9:999", &serving) == 0);
	CHECK_EQ_TEXT(serving.function, "rebuild");
	CHECK_NEAR(serving.share, 1.0, 1e-6);
	CHECK_EQ_UINT(serving.calls, 1);
	CHECK(!serving.operation);
	CHECK_EQ_UINT(serving.idle_ns, 1989990);
	serving_thread_done(&serving);
}

TEST(where_nothing_has_most_of_it_the_caller_has)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	struct serving_thread serving = {};

	/* 2000 to 4000: half in serve itself, half in its callees. */
	REQUIRE(ask(trace, 2000, 4000, "10.0.0.9:999", &serving) == 0);
	CHECK_EQ_TEXT(serving.function, "serve");
	CHECK_NEAR(serving.share, 1.0, 1e-3);
	serving_thread_done(&serving);
}

TEST(what_is_not_in_the_trace_is_not_answered)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(server);
	struct serving_thread serving = {};

	CHECK_ERR(ask(trace, 3000, 9500, "10.0.0.9:998", &serving), -ENODATA);
	/* No thread has used it yet. */
	CHECK_ERR(ask(trace, 100, 1900, "10.0.0.9:999", &serving), -ENODATA);
	CHECK_ERR(ask(trace, 5000, 5000, "10.0.0.9:999", &serving), -ENODATA);
}

TEST(shares_are_shares_on_any_trace)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 3, 400);
		uint64_t span = trace->last_ticks - trace->first_ticks;

		for (unsigned i = 0; i < 10; i++) {
			struct serving_thread serving = {};

			if (ask(trace, trace->first_ticks + span * i / 10, trace->first_ticks + span * (i + 2) / 10,
				"10.0.0.2:4000", &serving) == 0) {
				CHECK(serving.share > 0.5 && serving.share <= 1.0 + 1e-9);
				CHECK(serving.call_path.count > 0);
				CHECK(serving.function == serving.call_path.items[serving.call_path.count - 1]);
			}
			serving_thread_done(&serving);
		}
	}
}
