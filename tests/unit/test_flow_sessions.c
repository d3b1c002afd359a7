/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions of a trace: every call is in a session, in the rest, or a dispatcher's; trees are restored exactly. */
#include "flow/analyse/profile.h"
#include "flow/analyse/session.h"
#include "flow_sample.h"

static struct flow_sessions *split(const struct flow_trace *trace, const struct demux_options *options)
{
	struct flow_sessions *s = NULL;
	struct why why = {};

	if (flow_sessions_new(trace, options, &s, &why) < 0)
		fprintf(stderr, "# %s\n", why.text);
	REQUIRE(s);
	return s;
}

TEST(every_call_has_one_place)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 1 + seed % 4, 4000);
		const struct demux_options all[] = {{.by = DEMUX_CONNECTION},
						    {.by = DEMUX_REQUEST},
						    {.by = DEMUX_THREAD},
						    {.signature = "function == e or function == c"},
						    {.signature = "depth > 2", .key = "tid"}};

		for (unsigned i = 0; i < ARRAY_SIZE(all); i++) {
			_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &all[i]);
			uint64_t calls = s->rest_calls + s->dispatch_calls, in_classes = 0;

			unit_note("seed %u, options %u", seed, i);
			for (size_t k = 0; k < s->list.count; k++) {
				struct flow_session session = flow_session_at(s, k);

				CHECK_EQ_UINT(session.session, k + 1);
				CHECK(session.class >= 1 && session.class <= s->classes.count);
				CHECK(!session.segments == !session.calls);
				CHECK(session.segments <= session.calls);
				calls += session.calls;
			}
			vec_each(&s->classes, class)
				in_classes += class->sessions;
			CHECK_EQ_UINT(in_classes, s->list.count);
			/* A request that starts inside a call leaves and enters it again: it counts twice. */
			if (all[i].by == DEMUX_REQUEST)
				CHECK(calls >= trace->calls);
			else
				CHECK_EQ_UINT(calls, trace->calls);
			CHECK(s->list.count > 0);
		}
	}
}

/* Dispatchers are searched in the first chunks of a trace: their length must not matter. */
TEST(a_dispatcher_may_show_late)
{
	for (unsigned seed = 1; seed <= 20; seed++) {
		_cleanup_flow_trace_ struct flow_trace *early = sample_random(seed, 1 + seed % 3, 6000);
		_cleanup_flow_trace_ struct flow_trace *late = sample_random_chunks(seed, 1 + seed % 3, 6000, 2048);
		_cleanup_(flow_sessions_freep) struct flow_sessions *a = split(early, &(struct demux_options){});
		_cleanup_(flow_sessions_freep) struct flow_sessions *b = split(late, &(struct demux_options){});

		unit_note("seed %u", seed);
		CHECK(late->threads[0].chunk_count > 4);
		CHECK_EQ_UINT(b->dispatch_calls, a->dispatch_calls);
		CHECK_EQ_UINT(b->rest_calls, a->rest_calls);
		REQUIRE(b->list.count == a->list.count);
		for (size_t i = 0; i < a->list.count; i++) {
			struct flow_session one = flow_session_at(a, i), other = flow_session_at(b, i);

			CHECK_EQ_UINT(other.calls, one.calls);
			CHECK_EQ_UINT(other.segments, one.segments);
			CHECK_EQ_UINT(other.busy_ns, one.busy_ns);
			CHECK_EQ_UINT(other.class, one.class);
		}
	}
}

/* A loop that served one client at a time, many times, finally serves two. */
TEST(one_call_for_two_clients_makes_it_a_loop_everywhere)
{
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct trace_writer *writer = sample_open_chunks(path, 2048);
	uint32_t module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"});
	uint32_t loop = trace_writer_function(writer, module, 16, "loop"),
		 work = trace_writer_function(writer, module, 32, "work");
	uint32_t thread = trace_writer_thread(writer, 1, 1, "t"), socket = 0;
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	uint64_t now = 1000;

	for (unsigned i = 0; i < 2000; i++) {
		trace_writer_call(writer, thread, now += 10, loop);
		for (unsigned k = 0; k < (i == 1999 ? 2 : 1); k++) {
			struct flow_socket client = {.socket = ++socket, .fd = 5, .family = 2, .type = 1};

			REQUIRE(addr_parse_endpoint("10.0.0.2:4000", &client.remote) == 0);
			trace_writer_call(writer, thread, now += 10, work);
			(void)trace_writer_socket(writer, thread, now, &client);
			trace_writer_operation(writer, thread,
					       &(struct flow_operation){.op = FLOW_OP_ACCEPT,
									.start_ticks = now,
									.end_ticks = now + 10,
									.socket = socket,
									.fd = 5,
									.result = 5});
			trace_writer_return(writer, thread, now += 20);
		}
		trace_writer_return(writer, thread, now += 10);
	}
	trace = sample_close(writer, path);
	s = split(trace, &(struct demux_options){});
	CHECK_EQ_UINT(s->list.count, 2001);
	CHECK_EQ_UINT(s->dispatch_calls, 2000);
	CHECK_EQ_TEXT(flow_session_at(s, 0).function, "work");
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 1);
}

static void unfold(const struct forest *forest, uint32_t node, struct buf *out)
{
	struct forest_walk walk;
	struct forest_item item;

	if (forest->nodes.items[node].fn != FOREST_BLOCK)
		buf_add_format(out, "(%u", forest->nodes.items[node].fn);
	forest_walk_begin(&walk, forest, node);
	while (forest_walk_next(&walk, &item))
		for (uint32_t i = 0; i < item.times; i++)
			unfold(forest, item.node, out);
	if (forest->nodes.items[node].fn != FOREST_BLOCK)
		buf_add_text(out, ")");
}

/* The unfolded trees of a thread are its calls and returns. */
TEST(trees_unfold_to_the_trace)
{
	for (unsigned seed = 1; seed <= 10; seed++) {
		_cleanup_flow_trace_ struct flow_trace *trace = sample_random(seed, 1, 3000);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s =
			split(trace, &(struct demux_options){.by = DEMUX_THREAD});
		_cleanup_buf_ struct buf want = BUF_INIT(BUF_CAP_DEFAULT), got = BUF_INIT(BUF_CAP_DEFAULT);
		struct flow_cursor cursor;
		struct flow_event event;
		uint64_t depth = 0;

		flow_cursor_begin(&cursor, trace, 0);
		while (flow_cursor_next(&cursor, &event)) {
			uint64_t ends = event.kind == FLOW_RETURN   ? min_of(depth, 1u)
					: event.kind == FLOW_UNWIND ? min_of(depth, event.value)
					: event.kind == FLOW_LOST   ? depth
								    : 0;

			if (event.kind == FLOW_CALL) {
				buf_add_format(&want, "(%u", event.fn);
				depth++;
			}
			buf_add_fill(&want, ')', ends);
			depth -= ends;
		}
		buf_add_fill(&want, ')', depth);
		REQUIRE(s->list.count == 1);
		unfold(&s->forest, s->list.items[0].tree, &got);
		CHECK_EQ_TEXT(buf_text(&got), buf_text(&want));
	}
}

TEST(a_long_loop_takes_little_memory)
{
	struct forest forest;
	struct forest_row row = {};
	uint32_t leaves[50], node, at = 0;
	struct forest_walk walk;
	struct forest_item item;
	bool same = true;

	forest_init(&forest, 64);
	for (uint32_t i = 0; i < ARRAY_SIZE(leaves); i++)
		leaves[i] = forest_leaf(&forest, i + 1);
	for (unsigned i = 0; i < 2000000; i++)
		forest_row_add(&forest, &row, 0, leaves[i % 37]);
	CHECK(row.items.count <= FOREST_ROW_LONG + 1);
	CHECK(forest.items.count < 100000);
	node = forest_cons(&forest, FOREST_BLOCK, row.items.items, row.items.count);
	CHECK_EQ_UINT(forest.nodes.items[node].calls, 2000000);
	forest_walk_begin(&walk, &forest, node);
	while (forest_walk_next(&walk, &item))
		for (uint32_t i = 0; i < item.times; i++)
			same &= item.node == leaves[at++ % 37];
	CHECK(same);
	CHECK_EQ_UINT(at, 2000000);
	vec_done(&row.items);
	forest_done(&forest);
}

/* Two clients in one loop, served alternately; a timer in between belongs to none. */
static const char *const event_loop = "thread 1 pid=10 tid=10 name=srv\n"
				      "1 0 call srv!main\n"
				      "1 10 call srv!init\n"
				      "1 20 return\n"
				      "1 30 call srv!loop\n"
				      "1 40 op-wait fd=4 result=1 took=100\n"
				      "1 200 call srv!on_accept\n"
				      "1 210 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
				      "1 220 op-accept socket=1 fd=5 result=5 took=10\n"
				      "1 240 call srv!setup\n"
				      "1 250 return\n"
				      "1 260 return\n"
				      "1 300 call srv!on_accept\n"
				      "1 310 socket socket=2 fd=6 local=10.0.0.1:80 remote=10.0.0.3:1002\n"
				      "1 320 op-accept socket=2 fd=6 result=6 took=10\n"
				      "1 340 call srv!setup\n"
				      "1 350 return\n"
				      "1 360 return\n"
				      "1 400 call srv!timer\n"
				      "1 410 return\n"
				      "1 500 call srv!on_read\n"
				      "1 510 op-read socket=2 fd=6 result=100 took=10\n"
				      "1 530 op-write socket=2 fd=6 result=50 took=10\n"
				      "1 550 return\n"
				      "1 600 call srv!on_read\n"
				      "1 610 op-read socket=1 fd=5 result=70 took=10\n"
				      "1 630 op-write socket=1 fd=5 result=50 took=10\n"
				      "1 640 op-close socket=1 fd=5\n"
				      "1 650 return\n"
				      "1 700 call srv!on_read\n"
				      "1 710 op-read socket=2 fd=6 result=30 took=10\n"
				      "1 720 op-write socket=2 fd=6 result=50 took=10\n"
				      "1 740 op-close socket=2 fd=6\n"
				      "1 750 return\n"
				      "1 800 return\n"
				      "1 900 return\n";

TEST(an_event_loop_is_taken_apart_by_connection)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(event_loop);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 2);
	CHECK_EQ_UINT(flow_session_at(s, 0).rport, 1001);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 3);
	CHECK_EQ_UINT(flow_session_at(s, 0).rx_bytes, 70);
	CHECK_EQ_UINT(flow_session_at(s, 0).requests, 1);
	CHECK_EQ_UINT(flow_session_at(s, 1).rport, 1002);
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 4);
	CHECK_EQ_UINT(flow_session_at(s, 1).requests, 2);
	CHECK_EQ_UINT(flow_session_at(s, 1).tx_bytes, 100);
	CHECK_EQ_UINT(flow_session_at(s, 1).wait_ns, 140 + 150);
	/* One and two requests: the loop counts once, so they share a class. */
	CHECK_EQ_UINT(flow_session_at(s, 0).class, flow_session_at(s, 1).class);
	CHECK(!flow_session_at(s, 1).is_open);
	/* init and timer belong to no session; main and loop are dispatchers. */
	CHECK_EQ_UINT(s->rest_calls, 2);
	CHECK_EQ_UINT(s->dispatch_calls, 2);
}

TEST(requests_of_a_connection_are_told_apart)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(event_loop);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s =
		split(trace, &(struct demux_options){.by = DEMUX_REQUEST});

	REQUIRE(s->list.count == 3);
	CHECK_EQ_UINT(flow_session_at(s, 1).rx_bytes, 100);
	CHECK_EQ_UINT(flow_session_at(s, 1).request, 1);
	CHECK_EQ_UINT(flow_session_at(s, 2).request, 2);
	CHECK_EQ_UINT(flow_session_at(s, 2).rx_bytes, 30);
	CHECK_EQ_UINT(flow_session_at(s, 2).calls, 1);
}

/* A request that starts inside a call that continues: both requests have the call. */
TEST(a_request_may_begin_inside_a_call)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=srv\n"
			       "1 0 call srv!worker\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "1 10 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
			       "1 100 call srv!serve\n"
			       "1 110 call srv!get\n"
			       "1 120 op-read socket=1 fd=5 result=10 took=10\n"
			       "1 140 return\n"
			       "1 150 op-write socket=1 fd=5 result=10 took=10\n"
			       "1 200 call srv!get\n"
			       "1 210 op-read socket=1 fd=5 result=11 took=100\n"
			       "1 330 return\n"
			       "1 340 op-write socket=1 fd=5 result=10 took=10\n"
			       "1 360 return\n"
			       "1 400 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s =
		split(trace, &(struct demux_options){.by = DEMUX_REQUEST});

	REQUIRE(s->list.count == 2);
	CHECK_EQ_UINT(flow_session_at(s, 0).rx_bytes, 10);
	CHECK_EQ_UINT(flow_session_at(s, 1).rx_bytes, 11);
	/* serve and get; in the first request, get was entered a second time to wait for the next one. */
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 2);
	CHECK_EQ_UINT(flow_session_at(s, 1).busy_ns, 360 - 310);
}

/* A signal handler interrupted the recorder: what it did is lost, and the open calls are stated. */
TEST(a_loss_costs_the_lost_calls_not_the_rest_of_the_session)
{
	static const char before[] = "thread 1 pid=10 tid=10 name=srv\n"
				     "1 0 call srv!main\n"
				     "1 1 op-listen socket=9 fd=3\n"
				     "1 10 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
				     "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
				     "1 100 call srv!serve\n"
				     "1 110 call srv!get\n"
				     "1 120 op-read socket=1 fd=5 result=10 took=10\n";
	static const char after[] = "1 160 call srv!parse\n"
				    "1 170 return\n"
				    "1 180 return\n"
				    "1 190 call srv!answer\n"
				    "1 200 return\n"
				    "1 210 return\n"
				    "1 400 return\n";
	static const struct {
		const char *loss;
		unsigned calls;
	} cases[] = {
		{"", 4},
		{"1 140 lost 2 signal\n1 150 stack srv!main; srv!serve; srv!get\n", 4},
		/* Another call was open when the loss began: it is over, and its caller continues. */
		{"1 130 call srv!copy\n1 140 lost 3 signal\n1 150 stack srv!main; srv!serve; srv!get\n", 5},
		/* What is open is not stated: nothing after the loss is known to be of the session. */
		{"1 140 lost 2 signal\n", 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;

		buf_add_format(&text, "%s%s%s", before, cases[i].loss, after);
		trace = sample_of_text(buf_text(&text));
		s = split(trace, &(struct demux_options){});
		REQUIRE(s->list.count == 1);
		CHECK_EQ_UINT(flow_session_at(s, 0).calls, cases[i].calls);
	}
}

TEST(a_connection_made_for_a_client_is_the_clients)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=proxy\n"
			       "1 0 call p!main\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "1 10 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
			       "1 40 call p!client\n"
			       "1 50 op-read socket=1 fd=5 result=10\n"
			       "1 60 op-connect socket=2 fd=6\n"
			       "1 70 op-write socket=2 fd=6 result=10\n"
			       "1 80 return\n"
			       "1 90 call p!upstream\n"
			       "1 100 op-read socket=2 fd=6 result=99\n"
			       "1 110 return\n"
			       "1 120 call p!client\n"
			       "1 130 op-write socket=1 fd=5 result=99\n"
			       "1 140 return\n"
			       "1 150 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 1);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 3);
	CHECK_EQ_UINT(flow_session_at(s, 0).rport, 1001);
	CHECK(flow_session_at(s, 0).is_open);
}

/* A task connects, another call reads the answer; the task that passes it on touches both. */
TEST(a_connection_made_by_a_task_is_of_the_client_that_gets_the_answer)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=proxy\n"
			       "1 0 call p!main\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "1 10 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
			       "1 40 call p!input\n"
			       "1 50 op-read socket=1 fd=5 result=10\n"
			       "1 60 return\n"
			       "1 70 call p!task\n"
			       "1 80 op-connect socket=2 fd=6\n"
			       "1 90 return\n"
			       "1 100 call p!input\n"
			       "1 110 op-read socket=2 fd=6 result=99\n"
			       "1 120 return\n"
			       "1 130 call p!task\n"
			       "1 140 op-write socket=1 fd=5 result=99\n"
			       "1 150 op-close socket=2 fd=6\n"
			       "1 160 return\n"
			       "1 170 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	CHECK(s->demux->has_strays);
	REQUIRE(s->list.count == 1);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 4);
	CHECK_EQ_UINT(s->rest_calls, 0);
}

/*
 * Two clients ask; a task connects for each. The second one's answer shows whom its connection is for; the first one's
 * is refused, closed and tried again, and no call touches it together with a client: it is that of the only one who
 * still waits and has none. A connection that another function opens (a check of the upstream) is nobody's.
 */
TEST(a_connection_that_fails_is_of_the_client_that_waits_and_has_no_other)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=proxy\n"
			       "1 0 call p!main\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "1 10 socket socket=1 fd=5 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 call p!arrival\n1 21 op-accept socket=1 fd=5 result=5 took=1\n1 23 return\n"
			       "1 31 socket socket=2 fd=6 local=10.0.0.1:80 remote=10.0.0.2:1002\n"
			       "1 32 call p!arrival\n1 33 op-accept socket=2 fd=6 result=6 took=1\n1 35 return\n"
			       "1 40 call p!input\n1 41 op-read socket=1 fd=5 result=10\n1 42 return\n"
			       "1 43 call p!input\n1 44 op-read socket=2 fd=6 result=10\n1 45 return\n"
			       "1 50 call p!task\n1 51 op-connect socket=3 fd=7 result=-111\n1 52 return\n"
			       "1 53 call p!task\n1 54 op-connect socket=4 fd=8\n1 55 return\n"
			       "1 56 call p!task\n1 57 op-close socket=3 fd=7\n1 58 return\n"
			       "1 60 call p!input\n1 61 op-read socket=4 fd=8 result=99\n1 62 return\n"
			       "1 63 call p!task\n1 64 op-write socket=2 fd=6 result=99\n1 65 op-close socket=4 fd=8\n"
			       "1 66 return\n"
			       "1 70 call p!check\n1 71 op-connect socket=5 fd=8\n1 72 op-close socket=5 fd=8\n"
			       "1 73 return\n"
			       "1 80 call p!task\n1 81 op-connect socket=6 fd=7 result=-111\n1 82 return\n"
			       "1 83 call p!task\n1 84 op-close socket=6 fd=7\n1 85 return\n"
			       "1 90 call p!task\n1 91 op-write socket=1 fd=5 result=30\n1 92 return\n"
			       "1 99 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 2);
	/* arrival, input, four times task that fails or closes, task that replies. */
	CHECK_EQ_UINT(flow_session_at(s, 0).rport, 1001);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 7);
	CHECK_EQ_UINT(flow_session_at(s, 0).errors, 2);
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 5);
	CHECK_EQ_UINT(flow_session_at(s, 1).errors, 0);
	CHECK_EQ_UINT(s->rest_calls, 1);
}

TEST(a_connection_passed_to_another_process_is_one_session)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=master\n"
			       "thread 2 pid=11 tid=11 name=worker\n"
			       "1 0 call p!main\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "2 5 call p!work\n"
			       "1 10 socket socket=1 fd=5 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
			       "1 40 call p!pass\n"
			       "1 50 op-close socket=1 fd=5\n"
			       "1 60 return\n"
			       "2 60 socket socket=2 fd=7 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "2 65 op-take socket=2 fd=7\n"
			       "2 70 call p!serve\n"
			       "2 80 op-read socket=2 fd=7 result=10\n"
			       "2 90 op-write socket=2 fd=7 result=20\n"
			       "2 100 return\n"
			       "1 200 return\n"
			       "2 200 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});
	struct flow_session session;

	REQUIRE(s->list.count == 1);
	session = flow_session_at(s, 0);
	CHECK_EQ_UINT(session.rx_bytes, 10);
	CHECK_EQ_UINT(session.tx_bytes, 20);
	/* The master closed its descriptor; the worker still has it. */
	CHECK(session.is_open);
}

TEST(a_process_that_exits_closes_its_connection)
{
	static const char *const text = "thread 1 pid=10 tid=10 name=master\n"
					"thread 2 pid=11 tid=11 name=child\n"
					"1 0 call p!main\n"
					"1 1 op-listen socket=9 fd=3\n"
					"1 10 socket socket=1 fd=5 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
					"1 20 op-accept socket=1 fd=5 result=5 took=10\n"
					"1 50 op-close socket=1 fd=5\n"
					"2 55 call p!serve\n"
					"2 60 op-read socket=1 fd=5 result=10\n"
					"2 70 op-write socket=1 fd=5 result=20\n"
					"2 80 op-read socket=1 fd=5 result=5\n"
					"%s"
					"1 2000000 return\n";

	for (unsigned exits = 0; exits < 2; exits++) {
		_cleanup_free_ char *made = xasprintf(text, exits ? "2 90 exit\n" : "");
		_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(made);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

		REQUIRE(s->list.count == 1);
		CHECK_EQ_INT(flow_session_at(s, 0).is_open, !exits);
		CHECK(exits ? s->list.items[0].end_ticks < 100 : s->list.items[0].end_ticks == 2000000);
	}
}

/* The parent, which never closes its copy, works on after the child has ended: that is not the session. */
TEST(a_process_that_exits_closes_it_whatever_its_parent_does)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=master\n"
			       "thread 2 pid=11 tid=11 name=child\n"
			       "1 0 call p!main\n"
			       "1 1 op-listen socket=9 fd=3\n"
			       "1 10 socket socket=1 fd=5 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "1 20 op-accept socket=1 fd=5 result=5 took=10\n"
			       "1 40 call p!start\n1 45 op-dup socket=1 fd=6 result=6\n1 50 return\n"
			       "2 55 call p!serve\n"
			       "2 60 op-read socket=1 fd=5 result=10\n"
			       "2 70 op-write socket=1 fd=5 result=20\n"
			       "2 80 op-read socket=1 fd=5 result=5\n"
			       "2 90 exit\n"
			       "1 100 call p!tidy\n1 110 return\n"
			       "1 2000000 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 1);
	CHECK(!flow_session_at(s, 0).is_open);
	CHECK(s->list.items[0].end_ticks == 110);
}

/*
 * A handler of signals interrupts a wait, and runs between two accepts: it works for none of the connections. Without
 * the wait that shows what it is, it would belong to the connection accepted before.
 */
TEST(a_signal_handler_in_a_loop_belongs_to_no_session)
{
	static const char *const text = "thread 1 pid=10 tid=10 name=server\n"
					"1 0 call p!main\n"
					"1 1 op-listen socket=9 fd=3\n"
					"1 10 socket socket=1 fd=5 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
					"1 20 op-accept socket=1 fd=5 result=5 took=10\n"
					"1 40 call p!serve\n1 45 op-read socket=1 fd=5 result=5\n"
					"1 48 op-close socket=1 fd=5\n1 50 return\n"
					"1 100 call p!child_ended\n1 105 return\n"
					"1 110 op-wait fd=3 result=1 took=10\n"
					"1 130 socket socket=2 fd=5 cookie=78 local=10.0.0.1:80 remote=10.0.0.2:1002\n"
					"1 140 op-accept socket=2 fd=5 result=5 took=10\n"
					"1 160 call p!serve\n1 165 op-read socket=2 fd=5 result=5\n"
					"1 168 op-close socket=2 fd=5\n1 170 return\n"
					"1 180 op-wait fd=3 result=1 took=10\n"
					"1 200 call p!child_ended\n1 205 return\n"
					"1 %u op-wait fd=3 result=-4 took=10\n"
					"1 300 return\n";

	for (unsigned interrupts = 0; interrupts < 2; interrupts++) {
		_cleanup_free_ char *made = xasprintf(text, interrupts ? 205 : 206);
		_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(made);
		_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

		REQUIRE(s->list.count == 2);
		CHECK_EQ_UINT(flow_session_at(s, 0).calls, interrupts ? 1 : 2);
		CHECK_EQ_UINT(s->list.items[0].end_ticks, interrupts ? 50 : 105);
		CHECK_EQ_UINT(s->rest_calls, interrupts ? 2 : 1);
	}
}

/* A worker asks over a connection that it used for another client before, and then touches the client it serves. */
TEST(a_connection_from_a_pool_belongs_to_the_client_that_its_call_serves)
{
	_cleanup_flow_trace_ struct flow_trace *trace =
		sample_of_text("thread 1 pid=10 tid=10 name=worker\n"
			       "thread 2 pid=10 tid=11 name=listener\n"
			       "2 0 call p!listener\n2 1 op-listen socket=8 fd=3\n"
			       "2 10 socket socket=1 fd=5 cookie=77 local=10.0.0.1:80 remote=10.0.0.2:1001\n"
			       "2 20 op-accept socket=1 fd=5 result=5 took=5\n"
			       "2 30 socket socket=2 fd=6 cookie=78 local=10.0.0.1:80 remote=10.0.0.2:1002\n"
			       "2 40 op-accept socket=2 fd=6 result=6 took=5\n"
			       "2 60 call p!take\n2 61 op-read socket=2 fd=6 result=5\n2 65 return\n"
			       "1 0 call p!worker\n"
			       "1 100 call p!serve\n1 105 op-read socket=1 fd=5 result=5\n"
			       "1 110 op-connect socket=9 fd=7 took=5\n1 120 op-write socket=9 fd=7 result=5\n"
			       "1 130 op-read socket=9 fd=7 result=5\n1 140 op-write socket=1 fd=5 result=5\n"
			       "1 150 return\n"
			       "1 200 call p!serve\n1 210 op-write socket=9 fd=7 result=5\n"
			       "1 220 op-read socket=9 fd=7 result=5 took=100\n"
			       "1 330 op-write socket=2 fd=6 result=5\n1 340 return\n"
			       "1 400 return\n2 400 return\n");
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 2);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 1);
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 2);
}

TEST(a_signature_tells_sessions_by_an_argument)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text("thread 1 pid=1 tid=1 name=x\n"
								       "1 0 call x!main\n"
								       "1 10 call x!job\n1 10 args 7 1\n1 15 return\n"
								       "1 20 call x!job\n1 20 args 8 1\n1 25 return\n"
								       "1 30 call x!job\n1 30 args 7 1\n"
								       "1 32 call x!deep\n1 33 return\n1 35 return\n"
								       "1 40 return\n");
	struct demux_options options = {.signature = "function == job and arg1 == 1", .key = "arg0"};
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &options);
	struct flow_sessions *none = NULL;
	struct why why = {};

	REQUIRE(s->list.count == 2);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 3);
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 1);
	options.key = "nonsense";
	CHECK(flow_sessions_new(trace, &options, &none, &why) < 0);
	CHECK_HAS_TEXT(why.text, "nonsense");
	options = (struct demux_options){.signature = "function =="};
	CHECK(flow_sessions_new(trace, &options, &none, &why) < 0);
}

/* Two clients of a server that passes accepted connections to a thread, which is late for the second one. */
static const char staged[] =
	"thread 1 pid=1 tid=1 name=front\nthread 2 pid=1 tid=2 name=back\n"
	"1 1000 call s!main\n1 1001 op-listen socket=9 fd=3\n"
	"1 2000 call s!take\n"
	"1 3000 op-accept socket=1 fd=4 result=4 aux=9 took=90000000\n"
	"1 90004000 call s!push\n1 90004100 push 77\n1 90005000 return\n1 90006000 return\n"
	"1 90007000 call s!take\n"
	"1 90008000 op-accept socket=2 fd=5 result=5 aux=9 took=500000\n"
	"1 90509000 call s!push\n1 90509100 push 77\n1 90510000 return\n1 90511000 return\n"
	"2 1500 call s!loop\n"
	"2 90010000 pop 77\n2 90010100 call s!serve\n2 90010200 op-read socket=1 fd=4 result=9\n"
	"2 90020000 op-close socket=1 fd=4\n2 90021000 return\n"
	"2 190000000 pop 77\n2 190000100 call s!serve\n2 190000200 op-read socket=2 fd=5 result=9\n"
	"2 190020000 op-close socket=2 fd=5\n2 190021000 return\n";

TEST(a_session_begins_when_its_client_comes_and_waits_in_queues)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(staged);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
	REQUIRE(s->list.count == 2);
	/* 90 ms in accept belong to no session. */
	CHECK(flow_session_at(s, 0).span_ns < 1000000);
	CHECK_EQ_UINT(flow_session_at(s, 0).threads, 2);
	/* 99.5 ms in the queue belong to the second one. */
	CHECK_NEAR((double)flow_session_at(s, 1).wait_ns, 99489000.0, 20000.0);
	CHECK(flow_session_at(s, 1).busy_ns < 100000);
}

TEST(time_in_a_queue_counts_for_the_call_that_handed_over)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(staged);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = NULL;
	_cleanup_(profile_freep) struct profile *profile = NULL;
	uint64_t wait = 0, elsewhere = 0;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &s, &why) == 0);
	profile = profile_new(s, (const uint8_t[]){PROFILE_GROUPS, 0}, PROFILE_GROUPS);
	vec_each(&profile->places, place)
		*(place->fn && strcmp(trace->functions[place->fn].name, "push") == 0 ? &wait : &elsewhere) +=
			place->group[0].wait_ticks;
	CHECK_NEAR((double)flow_span_ns(trace, wait), 99489000.0, 20000.0);
	CHECK_EQ_UINT(elsewhere, 0);
}

/*
 * Two clients whose work passes a thread without sockets, which takes long for the second one. Values are reused, and
 * the last fetch of that thread finds nothing.
 */
static const char by_hands[] =
	"thread 1 pid=1 tid=1 name=front\nthread 2 pid=1 tid=2 name=middle\nthread 3 pid=1 tid=3 name=back\n"
	"1 1000 call s!main\n1 1001 op-listen socket=9 fd=3\n"
	"1 2000 call s!take\n1 3000 op-accept socket=1 fd=4 result=4 aux=9\n1 4000 op-read socket=1 fd=4 result=9\n"
	"1 5000 push 77\n1 6000 return\n"
	"1 7000 call s!take\n1 8000 op-accept socket=2 fd=5 result=5 aux=9\n1 9000 op-read socket=2 fd=5 result=9\n"
	"1 40000000 push 77\n1 41000000 return\n"
	"2 500 call s!loop\n"
	"2 600 call s!fetch\n2 6500 pop 77\n2 6600 return\n"
	"2 7000 call s!work\n2 7100 call s!inner\n2 7200 return\n2 7300 return\n"
	"2 7400 call s!pass\n2 7500 push 88\n2 7600 return\n"
	"2 8000 call s!fetch\n2 42000000 pop 77\n2 42000100 return\n"
	"2 42000200 call s!work\n2 42000300 call s!rare\n2 72000300 return\n2 72000400 return\n"
	"2 72000500 call s!pass\n2 72000600 push 88\n2 72000700 return\n"
	"2 72000800 call s!fetch\n"
	"3 700 call s!end\n"
	"3 800 call s!fetch\n3 8000 pop 88\n3 8100 return\n"
	"3 8200 call s!answer\n3 8300 op-write socket=1 fd=4 result=5\n3 8400 op-close socket=1 fd=4\n3 8500 return\n"
	"3 8600 call s!fetch\n3 72001000 pop 88\n3 72001100 return\n"
	"3 72001200 call s!answer\n3 72001300 op-write socket=2 fd=5 result=5\n3 72001400 op-close socket=2 fd=5\n"
	"3 72001500 return\n";

TEST(work_that_is_handed_over_belongs_to_whom_it_was_handed_over_for)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(by_hands);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 2);
	for (size_t i = 0; i < 2; i++) {
		struct flow_session session = flow_session_at(s, i);

		unit_note("session %zu", i + 1);
		/* take; fetch, work and what it calls, pass; fetch, answer. */
		CHECK_EQ_UINT(session.calls, 7);
		CHECK_EQ_UINT(session.segments, 6);
		CHECK_EQ_UINT(session.threads, 3);
	}
	/* Fetching is waiting until a value arrives. */
	CHECK(flow_session_at(s, 1).busy_ns > 30000000 + 39000000);
	CHECK(flow_session_at(s, 1).busy_ns < 30000000 + 42000000);
	/* The last fetch; main, loop and end are dispatchers. */
	CHECK_EQ_UINT(s->rest_calls, 1);
	CHECK_EQ_UINT(s->dispatch_calls, 3);
}

/* As probes see a server: a few functions, without callers. */
TEST(calls_between_operations_are_the_sessions_without_a_caller)
{
	static const char text[] = "thread 1 pid=10 tid=10 name=srv\n"
				   "1 0 socket socket=1 fd=3 local=127.0.0.1:80\n"
				   "1 10 op-accept fd=5 result=5 took=5 socket=2 aux=1\n"
				   "1 20 op-accept fd=6 result=6 took=5 socket=3 aux=1\n"
				   "1 30 op-read fd=5 result=10 took=1 socket=2\n"
				   "1 40 call parse\n"
				   "1 50 return\n"
				   "1 60 op-read fd=6 result=10 took=1 socket=3\n"
				   "1 70 call parse\n"
				   "1 80 return\n"
				   "1 90 call answer\n"
				   "1 100 op-write fd=6 result=10 took=1 socket=3\n"
				   "1 110 return\n"
				   "1 120 call log\n"
				   "1 130 return\n"
				   "1 140 op-wait fd=7 result=0 took=10\n"
				   "1 160 call timers\n"
				   "1 170 return\n";
	_cleanup_flow_trace_ struct flow_trace *trace = sample_of_text(text);
	_cleanup_(flow_sessions_freep) struct flow_sessions *s = split(trace, &(struct demux_options){});

	REQUIRE(s->list.count == 2);
	CHECK_EQ_UINT(flow_session_at(s, 0).calls, 1);
	CHECK_EQ_UINT(flow_session_at(s, 1).calls, 3);
	CHECK_EQ_UINT(s->rest_calls, 1);
}
