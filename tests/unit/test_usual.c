/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is usual: sketches, their bounds and their records; and a diagnosis that compares with them. */
#include "scene.h"

#include "diagnose/graph/usual.h"
#include "diagnose/measure/against_usual.h"
#include "diagnose/measure/exchange.h"

#define HOUR_NS (3600 * NSEC_PER_SEC)
#define TICK_NS UINT64_C(4000000)

static struct usual_key answer_key(const char *name)
{
	return usual_key(1, USUAL_SERVICE, USUAL_ANSWER, name);
}

static struct usual_answer ask(const struct usual *usual, const char *name, unsigned hour)
{
	struct usual_key key = answer_key(name);
	struct usual_answer answer = {};

	CHECK(usual_get(usual, &key, hour, &answer));
	return answer;
}

TEST(quantiles_are_at_most_half_an_octave_above)
{
	struct usual_key key = answer_key("10.1.2.2:80");
	struct usual usual;
	struct usual_answer answer;

	usual_init(&usual);
	for (unsigned i = 1; i <= 1000; i++)
		usual_add(&usual, &key, 5 * HOUR_NS, i * NSEC_PER_MSEC, 1);
	answer = ask(&usual, "10.1.2.2:80", 5);
	CHECK_EQ_UINT(answer.count, 1000);
	CHECK(answer.p50 >= 500 * NSEC_PER_MSEC && answer.p50 <= 710 * NSEC_PER_MSEC);
	CHECK(answer.p95 >= 950 * NSEC_PER_MSEC && answer.p95 <= 1350 * NSEC_PER_MSEC);
	usual_done(&usual);
}

TEST(an_hour_that_is_known_well_answers_alone)
{
	struct usual_key key = answer_key("a");
	struct usual usual;

	usual_init(&usual);
	usual_add(&usual, &key, 3 * HOUR_NS, NSEC_PER_MSEC, 100);
	usual_add(&usual, &key, 4 * HOUR_NS, NSEC_PER_SEC, 10);
	usual_add(&usual, &key, 14 * HOUR_NS, NSEC_PER_SEC, 1000);
	CHECK_EQ_UINT(ask(&usual, "a", 3).count, 100);
	/* With its neighbours, and else with the whole day. */
	CHECK_EQ_UINT(ask(&usual, "a", 4).count, 110);
	CHECK_EQ_UINT(ask(&usual, "a", 20).count, 1110);
	/* The hour before the first is the last. */
	usual_add(&usual, &key, 23 * HOUR_NS, NSEC_PER_MSEC, 60);
	CHECK_EQ_UINT(ask(&usual, "a", 0).count, 60);
	usual_done(&usual);
}

TEST(nothing_known_is_no_answer)
{
	struct usual_key key = answer_key("a"), other = answer_key("b");
	struct usual_answer answer;
	struct usual usual;

	usual_init(&usual);
	usual_add(&usual, &key, HOUR_NS, NSEC_PER_MSEC, 1);
	CHECK(!usual_get(&usual, &other, 1, &answer));
	other = usual_key(2, USUAL_SERVICE, USUAL_ANSWER, "a");
	CHECK(!usual_get(&usual, &other, 1, &answer));
	usual_done(&usual);
}

TEST(sketches_are_bounded_and_the_oldest_go_first)
{
	struct usual usual;

	usual_init(&usual);
	for (unsigned i = 0; i < 3000; i++) {
		char name[16];
		struct usual_key key;

		snprintf(name, sizeof(name), "%u", i);
		key = answer_key(name);
		usual_add(&usual, &key, HOUR_NS + i, NSEC_PER_MSEC, 1);
	}
	CHECK_EQ_UINT(usual.sketches.count, 1000);
	CHECK_EQ_UINT(ask(&usual, "2999", 1).count, 1);
	usual_done(&usual);
}

TEST(counts_do_not_grow_without_end)
{
	struct usual_key key = answer_key("a");
	struct usual usual;
	uint64_t count;

	usual_init(&usual);
	for (unsigned i = 0; i < 200000; i++)
		usual_add(&usual, &key, HOUR_NS, i % 2 ? NSEC_PER_MSEC : NSEC_PER_SEC, 1);
	count = ask(&usual, "a", 1).count;
	CHECK(count > 10000 && count <= 36000);
	usual_done(&usual);
}

/* --- records --- */

struct copies {
	struct usual to;
	unsigned count;
};

static int copy(void *context, const struct usual_record *record, int64_t *row)
{
	struct copies *copies = context;

	copies->count++;
	CHECK_EQ_INT(*row, 0);
	usual_load(&copies->to, record);
	return 0;
}

TEST(what_is_kept_is_what_was_learned)
{
	struct usual_key key = answer_key("10.1.2.2:80");
	struct copies copies = {};
	struct usual usual;
	struct usual_answer before, after;

	usual_init(&usual);
	usual_init(&copies.to);
	for (unsigned i = 1; i < 100; i++)
		usual_add(&usual, &key, 7 * HOUR_NS, i * NSEC_PER_MSEC, 3);
	usual_add(&usual, &key, 8 * HOUR_NS, 9 * NSEC_PER_MSEC, 60);
	CHECK_OK(usual_each_changed(&usual, copy, &copies));
	CHECK_EQ_UINT(copies.count, 2);
	before = ask(&usual, "10.1.2.2:80", 7);
	after = ask(&copies.to, "10.1.2.2:80", 7);
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
	CHECK_EQ_UINT(ask(&copies.to, "10.1.2.2:80", 8).count, 60);
	/* Nothing has changed since. */
	CHECK_OK(usual_each_changed(&usual, copy, &copies));
	CHECK_EQ_UINT(copies.count, 2);
	usual_keep_netns(&copies.to, 2);
	CHECK_EQ_UINT(copies.to.sketches.count, 0);
	usual_done(&usual);
	usual_done(&copies.to);
}

TEST(records_that_make_no_sense_are_ignored)
{
	static const char *const sketches[] = {"",    "1",       "1:",   ":1",       "64:1",
					       "1:0", "1:99999", "1:1 ", "1:1  2:1", "a:b"};
	struct usual_record record = {.netns = 1, .of = USUAL_SERVICE, .figure = USUAL_ANSWER, .name = "a"};
	struct usual usual;

	usual_init(&usual);
	for (size_t i = 0; i < ARRAY_SIZE(sketches); i++) {
		record.sketch = sketches[i];
		usual_load(&usual, &record);
	}
	record.sketch = NULL;
	usual_load(&usual, &record);
	record.sketch = "1:1";
	record.hour = 24;
	usual_load(&usual, &record);
	record.hour = 1;
	record.of = 9;
	usual_load(&usual, &record);
	record.of = USUAL_SERVICE;
	memset(record.name, 'x', sizeof(record.name));
	usual_load(&usual, &record);
	CHECK_EQ_UINT(usual.sketches.count, 0);
	usual_done(&usual);
}

/* --- the diagnosis --- */

/* Asks five times per second, and is answered after that many ticks; nothing outstanding in a sample. */
static void is_answered_after(struct scene *s, uint64_t ticks)
{
	s->tcp.bytes_sent += 64;
	s->tcp.bytes_acked += 64;
	s->tcp.bytes_received += 64;
	s->tcp.data_segs_out++;
	s->tcp.data_segs_in++;
	s->tcp.segs_out++;
	s->tcp.segs_in++;
	s->tcp.unacked = 0;
	s->socket.sendq_bytes = 0;
	s->tcp.srtt_ns = s->tcp.min_rtt_ns = NSEC_PER_MSEC;
	s->tcp.last_received_ns = TICK_NS;
	s->tcp.last_ack_ns = TICK_NS;
	s->tcp.last_sent_ns = (ticks + 1) * TICK_NS;
}

static void answers_at_once(struct scene *s, unsigned sample _unused_)
{
	is_answered_after(s, 1);
}

static void answers_late(struct scene *s, unsigned sample _unused_)
{
	is_answered_after(s, 30);
}

static void listens(struct scene *s)
{
	s->has_other = true;
	s->other_socket = s->socket;
	s->other_socket.state = SOCKET_LISTEN;
	s->other_socket.cookie = 4711;
}

/* The other way round: a request is received, and answered after 120 ms. */
static void serves_late(struct scene *s, unsigned sample)
{
	answers_late(s, sample);
	s->tcp.last_sent_ns = TICK_NS;
	s->tcp.last_received_ns = 31 * TICK_NS;
	listens(s);
}

static void path_is_long(struct scene *s, unsigned sample)
{
	answers_at_once(s, sample);
	s->tcp.srtt_ns = s->tcp.min_rtt_ns = 80 * NSEC_PER_MSEC;
}

/* What an agent has learned from a day of fast answers over a short path. */
static void learn(struct usual *usual)
{
	struct usual_key service = usual_key(0, USUAL_SERVICE, USUAL_ANSWER, "10.77.2.2:5001"),
			 served = usual_key(0, USUAL_SERVICE, USUAL_ANSWER, ":40000"),
			 path = usual_key(0, USUAL_PATH, USUAL_RTT, "10.77.2.2"),
			 host = usual_key(0, USUAL_HOST, USUAL_RATE, "");

	usual_init(usual);
	for (unsigned hour = 0; hour < USUAL_HOURS; hour++) {
		usual_add(usual, &service, hour * HOUR_NS, 5 * NSEC_PER_MSEC, 100);
		usual_add(usual, &served, hour * HOUR_NS, 5 * NSEC_PER_MSEC, 100);
		usual_add(usual, &path, hour * HOUR_NS, NSEC_PER_MSEC, 100);
		usual_add(usual, &host, hour * HOUR_NS, 1000, 900);
	}
	CHECK_EQ_UINT(usual_seconds(usual, 0), 6 * 3600);
}

static const char *with_usual(scene_fn *change)
{
	struct usual usual;
	const char *said;

	learn(&usual);
	scene_usual = &usual;
	said = diagnose(change);
	scene_usual = NULL;
	usual_done(&usual);
	return said;
}

TEST(a_late_run_knows_what_was_usual)
{
	CHECK_EQ_TEXT(diagnose(answers_late), "");
	CHECK_EQ_TEXT(with_usual(answers_late), "peer-slow");
	CHECK_EQ_TEXT(with_usual(answers_at_once), "");
	CHECK_EQ_TEXT(diagnose(serves_late), "");
	CHECK_EQ_TEXT(with_usual(serves_late), "app-not-sending");
	CHECK_EQ_TEXT(diagnose(path_is_long), "");
	CHECK_EQ_TEXT(with_usual(path_is_long), "path-latency");
}

/* --- learning --- */

TEST(windows_teach_what_is_usual)
{
	_cleanup_(window_freep) struct window *window = window_new();
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct usual_key service = usual_key(0, USUAL_SERVICE, USUAL_ANSWER, "10.77.2.2:5001"),
			 path = usual_key(0, USUAL_PATH, USUAL_RTT, "10.77.2.2"),
			 program = usual_key(0, USUAL_PROGRAM, USUAL_RATE, "app");
	struct usual_answer answer;
	struct usual usual;
	struct scene s;

	usual_init(&usual);
	scene_begin(&s);
	for (unsigned sample = 0; sample < 16; sample++) {
		answers_late(&s, sample);
		fill(snapshot, &s, sample);
		window_add(window, snapshot);
		if (sample % 5 == 0 && sample > 0) {
			_cleanup_(graph_freep) struct graph *graph = window_finish(window);

			usual_learn(&usual, graph);
		}
	}
	CHECK_EQ_UINT(usual_seconds(&usual, 0), 3);
	CHECK(usual_get(&usual, &service, 0, &answer));
	CHECK_EQ_UINT(answer.count, 15);
	CHECK(answer.p50 >= 120 * NSEC_PER_MSEC && answer.p50 <= 170 * NSEC_PER_MSEC);
	CHECK(usual_get(&usual, &path, 0, &answer));
	CHECK(answer.p95 >= NSEC_PER_MSEC && answer.p95 <= 15 * NSEC_PER_MSEC / 10);
	CHECK(usual_get(&usual, &program, 0, &answer));
	CHECK_EQ_UINT(answer.count, 3);
	usual_done(&usual);
}
