/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the time of a program goes, from snapshots made by hand, as records and as text. */
#include "scene.h"

#include "diagnose/measure/time_use.h"
#include "diagnose/present/present.h"
#include "probe/blocking.h"

#define ROWS_MAX 4
#define MS       UINT64_C(1000000)

/* What passes in each sample, of the thread of the scene and of a second one. */
struct case_of {
	uint64_t run_ns, delay_ns;
	uint64_t rwnd_ns; /* of the connection, which always has data to send: held back by the receive window */
	struct blocking_record rows[ROWS_MAX]; /* wait_ns and count of one sample */
	bool has_second;                       /* a thread with nothing but rows of another tid */
	bool gap;
	bool has_sent;  /* all that it has written */
	bool rtt_falls; /* from 20 to 10 ms, after two windows */
	/* The connection moves nothing: how long ago it sent and received. */
	bool rests;
	uint64_t last_sent_ns, last_received_ns;
	uint32_t data_segs_in;
};

static struct blocking_record row(uint32_t tid, uint8_t what, uint16_t rport, uint64_t wait_ns)
{
	struct blocking_record r = {.pid = 4711,
				    .tid = tid,
				    .what = what,
				    .rport = rport,
				    .wait_ns = wait_ns,
				    .count = 1,
				    .max_ns = wait_ns};

	r.proto = rport ? 6 : 0;
	r.p50_ns = wait_ns;
	return r;
}

/* Two for one reason, and another between them. */
static const struct gap_record gaps[] = {
	{.source = "firewall", .lost = "firewall rules", .why = "needs CAP_NET_ADMIN"},
	{.source = "wire", .lost = "DNS queries", .why = "needs CAP_NET_RAW"},
	{.source = "conntrack", .lost = "connections that it tracks", .why = "needs CAP_NET_ADMIN"},
};

static void add_sample(struct snapshot *snapshot, const struct scene *scene, const struct case_of *of, unsigned sample)
{
	struct thread_record second = scene->thread;

	second.tid = 4712;
	second.run_ns = second.wait_ns = 1;
	if (of->has_second)
		put(snapshot, &thread_type, &second);
	for (unsigned i = 0; i < ROWS_MAX && of->rows[i].pid; i++) {
		struct blocking_record total = of->rows[i];

		total.wait_ns *= sample + 1;
		total.count *= sample + 1;
		if (total.rport)
			total.raddr = scene->socket.raddr;
		put(snapshot, &blocking_type, &total);
	}
	for (size_t i = 0; of->gap && i < ARRAY_SIZE(gaps); i++)
		put(snapshot, &gap_type, &gaps[i]);
}

/* The record, and the text at a width, of four windows. */
static struct time_use divide(const struct case_of *of, unsigned width, struct buf *text)
{
	_cleanup_(knowledge_freep) struct knowledge *knowledge = NULL;
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_(diagnosis_freep) struct diagnosis *diagnosis = NULL;
	struct out out = {.fd = -1, .kept = true, .width = width, .pending = BUF_INIT(BUF_CAP_DEFAULT)};
	struct time_use use = {};
	struct why why = {};
	struct scene scene;

	REQUIRE(knowledge_load(&knowledge, &why) == 0);
	diagnosis = diagnosis_new(knowledge);
	scene_begin(&scene);
	scene.thread.tid = 4711;
	scene.thread.run_ns = scene.thread.wait_ns = 1000;
	for (unsigned sample = 0; sample < 21; sample++) {
		scene.thread.run_ns += of->run_ns;
		scene.thread.wait_ns += of->delay_ns;
		if (!of->rests)
			send_well(&scene);
		if (of->has_sent)
			scene.tcp.notsent_bytes = 0;
		if (of->rests) {
			scene.tcp.last_sent_ns = of->last_sent_ns;
			scene.tcp.last_received_ns = of->last_received_ns;
			scene.tcp.data_segs_in = of->data_segs_in;
		}
		if (of->rtt_falls && sample > 10)
			scene.tcp.min_rtt_ns = 10 * MS;
		scene.tcp.rwnd_limited_ns += of->rwnd_ns;
		fill(snapshot, &scene, sample);
		add_sample(snapshot, &scene, of, sample);
		window_add(window, snapshot);
		if (sample > 0 && sample % 5 == 0)
			diagnosis_add_window(diagnosis, window_finish(window));
	}
	present_diagnosis(diagnosis_get(diagnosis), &(struct present_options){}, &out);
	if (text)
		buf_add_text(text, buf_text(&out.pending));
	buf_done(&out.pending);
	vec_each(&diagnosis_graph(diagnosis)->modules, module)
		if ((*module)->kind == MODULE_APP && (*module)->time_history)
			use = time_history_sum((*module)->time_history, TIME_WINDOWS);
	return use;
}

static double share_of(const struct time_use *use, enum time_what what)
{
	double share = 0;

	for (unsigned i = 0; i < use->count; i++)
		share += use->shares[i].what == what ? use->shares[i].share : 0;
	return share;
}

TEST(shares_are_what_passed)
{
	struct case_of of = {.run_ns = 80 * MS, .delay_ns = 20 * MS};
	struct time_use use;

	of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 60 * MS);
	of.rows[1] = row(4711, BLOCKING_OTHER, 0, 40 * MS);
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_CPU), 0.4, 0.001);
	CHECK_NEAR(share_of(&use, TIME_CPU_WAIT), 0.1, 0.001);
	CHECK_NEAR(share_of(&use, TIME_ANSWER), 0.3, 0.001);
	CHECK_NEAR(share_of(&use, TIME_OTHER), 0.2, 0.001);
	CHECK(!use.estimate);
}

/* Where waits were measured for a part of the time, they stand for the rest. */
TEST(measured_waits_fill_the_rest)
{
	struct case_of of = {.run_ns = 100 * MS, .has_sent = true};
	struct time_use use;

	of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 10 * MS);
	of.rows[1] = row(4711, BLOCKING_POLL, 0, 10 * MS);
	of.rows[0].estimate = of.rows[1].estimate = true;
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_CPU), 0.5, 0.001);
	CHECK_NEAR(share_of(&use, TIME_ANSWER), 0.25, 0.001);
	CHECK_NEAR(share_of(&use, TIME_IDLE), 0.25, 0.001);
	CHECK(use.estimate);
}

/* A program that polls with data that it could not send yet waits to write more. */
TEST(polls_with_unsent_data)
{
	struct case_of of = {.run_ns = 100 * MS};
	struct time_use use;

	of.rows[0] = row(4711, BLOCKING_POLL, 0, 100 * MS);
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_NETWORK), 0.5, 0.001);
	CHECK_NEAR(share_of(&use, TIME_IDLE), 0, 0.001);
	of.has_sent = true;
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_NETWORK), 0, 0.001);
	CHECK_NEAR(share_of(&use, TIME_IDLE), 0.5, 0.001);
}

/* Of the time that it waits to send, the peer does not read as long as its window holds the connection back. */
TEST(a_sender_waits_for_the_peer_or_the_network)
{
	struct case_of of = {.run_ns = 100 * MS, .rwnd_ns = 150 * MS};
	struct time_use use;

	of.rows[0] = row(4711, BLOCKING_SEND, 5001, 100 * MS);
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_CPU), 0.5, 0.001);
	CHECK_NEAR(share_of(&use, TIME_PEER_READING), 0.375, 0.001);
	CHECK_NEAR(share_of(&use, TIME_NETWORK), 0.125, 0.001);
	/* What took no time is not listed. */
	of.rwnd_ns = 0;
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_NETWORK), 0.5, 0.001);
	CHECK_EQ_UINT(use.count, 2);
}

/* Of several windows the smallest. */
TEST(the_rtt_of_a_connection_that_is_waited_for)
{
	struct case_of of = {.run_ns = 100 * MS, .has_sent = true, .rtt_falls = true};
	struct time_use use;
	unsigned found = 0;

	of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 100 * MS);
	use = divide(&of, 80, NULL);
	for (unsigned i = 0; i < use.count; i++)
		if (use.shares[i].what == TIME_ANSWER) {
			CHECK_EQ_UINT(use.shares[i].rtt_ns, 10 * MS);
			found++;
		}
	CHECK_EQ_UINT(found, 1);
}

/* On a connection that rests, a program whose peer spoke last waits for nothing. */
TEST(who_spoke_last_on_a_connection_that_rests)
{
	static const struct {
		uint64_t last_sent_ns, last_received_ns;
		uint32_t data_segs_in;
		enum time_what what;
	} cases[] = {
		{5000 * MS, 4000 * MS, 7, TIME_IDLE},    {4000 * MS, 5000 * MS, 7, TIME_ANSWER},
		{4000 * MS, 4000 * MS, 7, TIME_ANSWER},  {5000 * MS, 4000 * MS, 0, TIME_ANSWER},
		{UINT64_MAX, 4000 * MS, 7, TIME_ANSWER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct case_of of = {.run_ns = 100 * MS,
				     .rests = true,
				     .last_sent_ns = cases[i].last_sent_ns,
				     .last_received_ns = cases[i].last_received_ns,
				     .data_segs_in = cases[i].data_segs_in};
		struct time_use use;

		of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 100 * MS);
		use = divide(&of, 80, NULL);
		unit_note("case %zu", i);
		CHECK_NEAR(share_of(&use, cases[i].what), 0.5, 0.001);
	}
}

TEST(idle_threads_do_not_count)
{
	struct case_of of = {.run_ns = 100 * MS, .has_second = true};
	struct time_use use;

	of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 100 * MS);
	of.rows[1] = row(4712, BLOCKING_OTHER, 0, 200 * MS);
	use = divide(&of, 80, NULL);
	CHECK_NEAR(share_of(&use, TIME_CPU), 0.5, 0.001);
	CHECK_NEAR(share_of(&use, TIME_ANSWER), 0.5, 0.001);
}

TEST(unmeasured_is_unknown)
{
	struct case_of of = {.run_ns = 20 * MS};
	struct time_use use = divide(&of, 80, NULL);

	CHECK_EQ_UINT(use.count, 0);
}

#define TABLE                                                                                                          \
	"\nPROGRAM    SHARE WHAT   ON             COUNT    P50    MAX     RTT\n"                                       \
	"app (4711)  98 % answer 10.77.2.2:5001    15 196 ms 196 ms 20.0 ms\n"                                         \
	"app (4711) 2.0 % cpu    -                  -      -      -       -\n"                                         \
	"Not seen: connections that it tracks; firewall rules (needs CAP_NET_ADMIN)\n"                                 \
	"Not seen: DNS queries (needs CAP_NET_RAW)\n"

TEST(the_text_at_80_and_120_columns)
{
	struct case_of of = {.run_ns = 4 * MS, .gap = true};
	_cleanup_buf_ struct buf narrow = BUF_INIT(BUF_CAP_DEFAULT), wide = BUF_INIT(BUF_CAP_DEFAULT);

	of.rows[0] = row(4711, BLOCKING_RECEIVE, 5001, 196 * MS);
	(void)divide(&of, 80, &narrow);
	(void)divide(&of, 120, &wide);
	CHECK_HAS_TEXT(buf_text(&narrow),
		       "No fault found. app (4711) spends 98 % waiting for 10.77.2.2:5001: 196 ms per\n"
		       "   request, RTT 20.0 ms (1 connection, 2.80 s).\n" TABLE);
	CHECK_HAS_TEXT(buf_text(&wide),
		       "No fault found. app (4711) spends 98 % waiting for 10.77.2.2:5001: 196 ms per request, "
		       "RTT 20.0 ms (1 connection, 2.80\n   s).\n" TABLE);
}
