/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two programs on one timeline: connections, messages and clocks are matched, and the time is split between them. */
#include "flow/analyse/align.h"
#include "flow/draw/proxy_diagram.h"
#include "flow_sample.h"

/* A call or a return, after so much of the server's time. */
struct step {
	unsigned percent;
	const char *what;
};

struct plan {
	uint64_t proxy_ns, network_ns, server_ns; /* each way, if there are two */
	int64_t offset_ns;                        /* of the server's clock */
	double drift;
	unsigned requests;
	bool pieces; /* the request is sent in two writes and read in three */
	/* Every second request: how much later than it arrives the server begins to read it. */
	uint64_t late_ns;
	const struct step *calls; /* of the server, up to one without a name */
	bool no_main;             /* in the server's trace */
};

static uint64_t server_time(const struct plan *p, uint64_t ns)
{
	return ns + (uint64_t)(p->offset_ns + (int64_t)(p->drift * (double)ns));
}

static void line(struct buf *out, uint64_t ns, const char *what, unsigned socket, unsigned bytes)
{
	buf_add_format(out, "1 %llu op-%s socket=%u fd=%u result=%u took=10\n", (unsigned long long)ns, what, socket,
		       socket + 5, bytes);
}

static void write_calls(const struct plan *p, struct buf *server, uint64_t from, uint64_t to)
{
	uint64_t span = to - from - 300;

	for (unsigned i = 0; p->calls && p->calls[i].what; i++)
		buf_add_format(
			server, "1 %llu %s\n",
			(unsigned long long)server_time(p, from + 10 * (i + 1) + span * p->calls[i].percent / 100),
			p->calls[i].what);
}

static void write_request(const struct plan *p, struct buf *proxy, struct buf *server, unsigned number, uint64_t now)
{
	uint64_t late = number % 2 ? p->late_ns : 0;
	uint64_t sent = now + p->proxy_ns, there = sent + p->network_ns + late, answered = there + p->server_ns;
	uint64_t back = answered + p->network_ns;

	line(proxy, now - 10, "read", 1, 100);
	if (p->pieces) {
		line(proxy, sent - 500, "write", 2, 30);
		line(proxy, sent, "write", 2, 70);
		line(server, server_time(p, there - 400), "read", 1, 10);
		line(server, server_time(p, there - 200), "read", 1, 50);
		line(server, server_time(p, there - 10), "read", 1, 40);
	} else {
		line(proxy, sent, "write", 2, 100);
		line(server, server_time(p, there - 10), "read", 1, 100);
	}
	write_calls(p, server, there, answered);
	line(server, server_time(p, answered), "write", 1, 900);
	line(proxy, back - 10, "read", 2, 900);
	line(proxy, back + p->proxy_ns, "write", 1, 900);
}

/* One timeline: calls return, time is monotonic, and every message is drawn. */
static void check_picture(const struct align *align, struct flow_sessions *proxy, struct flow_sessions *server)
{
	struct proxy_diagram diagram = {.align = align, .proxy = proxy, .server = server};
	unsigned calls = 0, returns = 0, messages = 0;
	struct sequence sequence = {};
	struct why why = {};
	uint64_t last = 0;

	REQUIRE(proxy_diagram_draw(&diagram, &(struct session_diagram_options){}, &sequence, &why) == 0);
	vec_each(&sequence.items, item) {
		calls += item->kind == SEQUENCE_CALL;
		returns += item->kind == SEQUENCE_RETURN;
		messages += item->kind == SEQUENCE_VALUE;
		CHECK(item->from < sequence.lines.count && item->to < sequence.lines.count);
		CHECK(item->start_ns >= last);
		last = item->start_ns;
	}
	CHECK(calls > 0 && calls == returns);
	CHECK_EQ_UINT(messages, 2 * align->exchanges);
	for (enum sequence_format format = SEQUENCE_AS_TEXT; format <= SEQUENCE_AS_JSON; format++) {
		struct out out = {.fd = -1, .kept = true, .width = 100, .pending = BUF_INIT(BUF_CAP_DEFAULT)};

		sequence_write(&sequence, format, &out);
		CHECK(out.pending.len > 0);
		buf_done(&out.pending);
	}
	sequence_done(&sequence);
	diagram.session = 1000000;
	CHECK_ERR(proxy_diagram_draw(&diagram, &(struct session_diagram_options){}, &sequence, &why), -ENODATA);
	sequence_done(&sequence);
}

static struct align *run(const struct plan *p)
{
	_cleanup_buf_ struct buf proxy = BUF_INIT(BUF_CAP_DEFAULT), server = BUF_INIT(BUF_CAP_DEFAULT);
	struct flow_trace *traces[2];
	struct flow_sessions *sessions[2] = {};
	struct align *align = NULL;
	struct why why = {};
	uint64_t now = 100000000;

	buf_add_text(&proxy, "thread 1 pid=1 tid=1 name=p\n1 1000 call p!main\n"
			     "1 1001 socket socket=1 fd=6 local=10.0.0.1:443 remote=10.0.0.9:999\n"
			     "1 1002 op-accept socket=1 fd=6 result=6\n"
			     "1 2000 call p!serve\n1 2001 op-read socket=1 fd=6 result=1\n"
			     "1 2002 socket socket=2 fd=7 local=10.0.0.1:5555 remote=10.0.0.2:80\n"
			     "1 2003 op-connect socket=2 fd=7\n");
	buf_add_format(&server,
		       "thread 1 pid=2 tid=2 name=s\n1 %llu %s\n"
		       "1 %llu socket socket=1 fd=6 local=10.0.0.2:80 remote=10.0.0.1:5555\n"
		       "1 %llu op-accept socket=1 fd=6 result=6\n",
		       (unsigned long long)server_time(p, 3000), p->no_main ? "push 1" : "call s!main",
		       (unsigned long long)server_time(p, 3000), (unsigned long long)server_time(p, 3001));
	for (unsigned i = 0; i < p->requests; i++, now += 50000000)
		write_request(p, &proxy, &server, i, now);
	traces[0] = sample_of_text(buf_text(&proxy));
	traces[1] = sample_of_text(buf_text(&server));
	for (unsigned i = 0; i < 2; i++)
		REQUIRE(flow_sessions_new(traces[i], &(struct demux_options){}, &sessions[i], &why) == 0);
	if (align_new(sessions[0], sessions[1], &align, &why) < 0)
		fprintf(stderr, "# %s\n", why.text);
	else
		check_picture(align, sessions[0], sessions[1]);
	for (unsigned i = 0; i < 2; i++) {
		flow_sessions_free(sessions[i]);
		flow_trace_close(traces[i]);
	}
	return align;
}

/* Nothing arrives before it was sent. */
static void check_order(const struct align *align)
{
	uint64_t last = 0;

	vec_each(&align->list, x) {
		CHECK(x->sent_ns <= x->received_ns);
		CHECK(x->received_ns <= x->answered_ns);
		CHECK(x->answered_ns <= x->returned_ns);
		CHECK(x->sent_ns >= last);
		last = x->sent_ns;
	}
}

TEST(time_is_split_between_the_sides)
{
	static const struct {
		struct plan plan;
		enum align_side slowest;
	} cases[] = {
		{{.proxy_ns = 1000000, .network_ns = 20000, .server_ns = 50000, .requests = 10}, ALIGN_PROXY},
		{{.proxy_ns = 10000, .network_ns = 20000, .server_ns = 5000000, .requests = 10}, ALIGN_SERVER},
		{{.proxy_ns = 10000, .network_ns = 3000000, .server_ns = 50000, .requests = 10}, ALIGN_NETWORK},
		{{.proxy_ns = 10000, .network_ns = 20000, .server_ns = 500000, .requests = 9, .pieces = true},
		 ALIGN_SERVER},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct plan *p = &cases[i].plan;
		_cleanup_(align_freep) struct align *align = run(p);

		unit_note("case %u", i);
		REQUIRE(align);
		CHECK_EQ_UINT(align->exchanges, p->requests);
		CHECK_EQ_UINT(align->matched, 1);
		CHECK_EQ_INT(align->clock_offset_ns, 0);
		CHECK_EQ_UINT(align->slowest, cases[i].slowest);
		CHECK_NEAR((double)align->server_ns, (double)(p->server_ns * p->requests), 1000.0 * p->requests);
		CHECK_NEAR((double)align->network_ns, (double)(p->network_ns * 2 * p->requests), 1000.0 * p->requests);
		CHECK_NEAR((double)align->proxy_ns, (double)(p->proxy_ns * 2 * p->requests), 1000.0 * p->requests);
		check_order(align);
	}
}

/* A message that waits in the socket for its reader is not on the network. */
TEST(a_late_reader_is_not_the_network)
{
	struct plan p = {
		.proxy_ns = 10000, .network_ns = 200000, .server_ns = 50000, .requests = 10, .late_ns = 3000000};
	_cleanup_(align_freep) struct align *align = run(&p);

	REQUIRE(align);
	CHECK_EQ_UINT(align->slowest, ALIGN_SERVER);
	CHECK_NEAR((double)align->server_ns, 10 * 50000.0 + 5 * 3000000.0, 10000);
	CHECK_NEAR((double)align->network_ns, 10 * 400000.0, 10000);
	CHECK_EQ_UINT(align->list.items[0].slowest, ALIGN_NETWORK);
	CHECK_EQ_UINT(align->list.items[1].slowest, ALIGN_SERVER);
}

TEST(the_function_that_takes_the_time)
{
	/* Most of the time of its own; without such a one, all that it calls counts. */
	static const struct {
		struct step calls[32];
		const char *answer;
		bool no_main;
	} cases[] = {
		{{{0, "call s!serve"},
		  {0, "call s!account"},
		  {10, "return"},
		  {10, "call s!query"},
		  {10, "call s!index"},
		  {20, "return"},
		  {100, "return"},
		  {100, "return"},
		  {}},
		 "45.0 ms of 45.1 ms per request, over 10 requests; mostly in query"},
		{{{0, "call s!serve"},
		  {0, "call s!account"},
		  {40, "return"},
		  {40, "call s!query"},
		  {40, "call s!index"},
		  {65, "return"},
		  {100, "return"},
		  {100, "return"},
		  {}},
		 "; mostly in account"},
		{{{0, "call s!serve"},
		  {0, "call s!a"},
		  {15, "return"},
		  {15, "call s!b"},
		  {30, "return"},
		  {30, "call s!c"},
		  {45, "return"},
		  {45, "call s!d"},
		  {60, "return"},
		  {60, "call s!e"},
		  {75, "return"},
		  {75, "call s!f"},
		  {90, "return"},
		  {100, "return"},
		  {}},
		 "; mostly in "},
		{{{0, "call s!large"},
		  {0, "call s!large0"},
		  {12, "return"},
		  {12, "call s!large1"},
		  {24, "return"},
		  {24, "call s!large2"},
		  {36, "return"},
		  {36, "call s!large3"},
		  {48, "return"},
		  {48, "call s!large4"},
		  {60, "return"},
		  {60, "return"},
		  {60, "call s!small"},
		  {60, "call s!small0"},
		  {70, "return"},
		  {70, "call s!small1"},
		  {80, "return"},
		  {80, "call s!small2"},
		  {90, "return"},
		  {90, "call s!small3"},
		  {100, "return"},
		  {100, "return"},
		  {}},
		 "; mostly in large",
		 true},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(cases); i++) {
		struct plan p = {.proxy_ns = 10000,
				 .network_ns = 20000,
				 .server_ns = 45000000,
				 .requests = 10,
				 .calls = cases[i].calls,
				 .no_main = cases[i].no_main};
		_cleanup_(align_freep) struct align *align = run(&p);

		unit_note("case %u", i);
		REQUIRE(align);
		CHECK_EQ_UINT(align->slowest, ALIGN_SERVER);
		CHECK_HAS_TEXT(align->answer, cases[i].answer);
	}
}

TEST(clocks_that_differ_are_set_by_the_exchange)
{
	static const int64_t offsets[] = {5000000000, 77000000, 1234567890123};

	for (unsigned i = 0; i < ARRAY_SIZE(offsets); i++)
		for (unsigned drifting = 0; drifting < 2; drifting++) {
			struct plan p = {.proxy_ns = 10000,
					 .network_ns = 30000,
					 .server_ns = 400000,
					 .requests = 40,
					 .offset_ns = offsets[i],
					 .drift = drifting ? 0.0005 : 0};
			_cleanup_(align_freep) struct align *align = run(&p);

			unit_note("offset %lld, drifting %u", (long long)offsets[i], drifting);
			REQUIRE(align);
			CHECK_EQ_UINT(align->exchanges, 40);
			CHECK_EQ_UINT(align->slowest, ALIGN_SERVER);
			check_order(align);
			if (!drifting)
				CHECK_NEAR((double)align->clock_offset_ns, (double)offsets[i], 40000.0);
			else
				CHECK_NEAR(align->clock_drift, p.drift, p.drift / 5);
		}
}

TEST(strangers_do_not_match)
{
	_cleanup_flow_trace_ struct flow_trace *trace = sample_random(3, 2, 500);
	_cleanup_(flow_sessions_freep) struct flow_sessions *one = NULL, *other = NULL;
	struct align *align = NULL;
	struct why why = {};

	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &one, &why) == 0);
	REQUIRE(flow_sessions_new(trace, &(struct demux_options){}, &other, &why) == 0);
	CHECK_ERR(align_new(one, other, &align, &why), -ENODATA);
	CHECK_HAS_TEXT(why.text, "no outgoing connections");
}
