/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waterfalls, figures of stages, tails, and journeys as JSON. */
#include "base/text.h"
#include "journeys.h"
#include "path/draw/waterfall.h"
#include "path/journey/journey_record.h"
#include "path/sum/heat.h"
#include "path/sum/slowest.h"
#include "path/sum/spread.h"
#include "path/sum/summary.h"
#include "view/json.h"

static char *draw(const struct journey *journey, bool utf8, unsigned width)
{
	struct out out = journey_out(utf8, width);

	waterfall_print(journey, &out);
	return journey_out_text(&out);
}

TEST(waterfall_has_a_line_for_each_stage_and_says_what_was_widest)
{
	struct journey journey = journey_received(4100000);
	_cleanup_free_ char *text = draw(&journey, false, 80);

	CHECK_EQ_TEXT(text, "4.11 ms receive tcp 10.0.0.1:80 from 10.0.0.2:40000, 566 B, nginx (4711), eth0,\n"
			    "   delivered, 02:13:07.000000\n"
			    "   reader waited 4.10 ms for a CPU: 3 runnable tasks ahead\n"
			    "   STAGE           AT    TOOK CPU CONTEXT  . WAITS # WORKS\n"
			    "   softirq       0 ns 2.00 us   0 softirq  .\n"
			    "   ip         2.00 us 3.00 us   0 softirq  #\n"
			    "   transport  5.00 us 1.50 us   0 softirq  #\n"
			    "   wakeup     6.50 us  800 ns   0 softirq  .\n"
			    "   sched      7.30 us 4.10 ms   1 process  ....................................\n"
			    "   copy       4.11 ms 1.20 us   1 process                                      #\n"
			    "   return     4.11 ms  400 ns   1 process                                      #\n"
			    "   not visible: irq, filter\n");
}

TEST(who_was_ahead_is_counted_in_words)
{
	static const struct {
		uint32_t note;
		const char *sched, *qdisc;
	} cases[] = {{0, "reader waited 1.00 us for a CPU: no runnable task ahead",
		      "data waited 1.00 us in the interface's qdisc: no packet ahead"},
		     {1, "reader waited 1.00 us for a CPU: 1 runnable task ahead",
		      "data waited 1.00 us in the interface's qdisc: 1 packet ahead"},
		     {2, "reader waited 1.00 us for a CPU: 2 runnable tasks ahead",
		      "data waited 1.00 us in the interface's qdisc: 2 packets ahead"},
		     {PATH_NO_NOTE, "reader waited 1.00 us for a CPU", "data waited 1.00 us in the interface's qdisc"}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf sched = BUF_INIT(256), qdisc = BUF_INIT(256);
		struct journey journey = {.dir = PACKET_RX};
		struct journey_stage stage = {.ns = 1000, .note = cases[i].note, .stage = PATH_SCHED};

		journey_add_gap(&sched, &journey, &stage);
		CHECK_EQ_TEXT(buf_text(&sched), cases[i].sched);
		journey.dir = PACKET_TX;
		stage.stage = PATH_QDISC;
		journey_add_gap(&qdisc, &journey, &stage);
		CHECK_EQ_TEXT(buf_text(&qdisc), cases[i].qdisc);
	}
}

TEST(waterfall_of_what_is_not_known)
{
	struct journey journey = {.time_ns = JOURNEY_TIME, .dir = PACKET_TX, .end = PATH_DROPPED, .bytes = 60};
	_cleanup_free_ char *text = NULL;

	text = draw(&journey, false, 80);
	CHECK_EQ_TEXT(text, "0 ns transmit - to -, 60 B, dropped, 02:13:07.000000\n");
	journey_add(&journey, PATH_DRIVER, 0, UINT16_MAX, 0);
	free(text);
	text = draw(&journey, true, 80);
	CHECK_HAS_TEXT(text, "   driver        0 ns    0 ns   - -\n");
	journey_add(&journey, PATH_COMPLETION, 1, 0, PATH_SOFT);
	free(text);
	text = draw(&journey, true, 80);
	CHECK_HAS_TEXT(text, "   completion    0 ns    1 ns   0 softirq  ░");
}

TEST(waterfall_bars_stay_within_the_line)
{
	uint64_t state = 7;

	for (int i = 0; i < 300; i++) {
		struct journey journey = journey_random(&state, JOURNEY_STAGES_MAX);
		unsigned width = 64 + (unsigned)(unit_random(&state) % 80);
		_cleanup_free_ char *text = draw(&journey, false, width);
		uint32_t lines = 0;
		bool in_stages = false;

		for (char *line = text, *next; line && *line; line = next) {
			next = strchr(line, '\n');
			if (next)
				*next++ = '\0';
			CHECK(strlen(line) <= width);
			in_stages = in_stages && strncmp(line, "   not visible", 14) != 0;
			lines += in_stages;
			in_stages = in_stages || strncmp(line, "   STAGE  ", 10) == 0;
		}
		CHECK_EQ_UINT(lines, journey.stage_count);
	}
}

TEST(hostile_names_do_not_reach_the_terminal)
{
	struct journey journey = journey_received(1000);
	_cleanup_free_ char *text = NULL;

	memcpy(journey.comm, "\033[31m<b>\"&\n\xff\xfe'z", 16);
	memcpy(journey.dev, "\r\x01<script>", 11);
	text = draw(&journey, false, 80);
	CHECK(!strchr(text, '\033'));
	CHECK(!strchr(text, '\r'));
	CHECK(!strchr(text, '\x01'));
	CHECK_HAS_TEXT(text, "\\x1b[31m");
}

/* --- JSON --- */

static char *json_of(const struct journey *journey)
{
	const struct shape *shape = journey_record_shape();
	struct journey_record record;
	struct buf out = BUF_INIT(65536);
	struct field_ref at = {};

	journey_record_fill(&record, journey);
	while (shape_next(shape, &at)) {
		struct value value = record_get(&record.record, at);

		buf_add_format(&out, "%s\"%s\":", out.len ? "," : "{", at.field->name);
		json_add_value(&out, at.field, &value);
	}
	buf_add_char(&out, '}');
	return out.data;
}

TEST(json_has_the_promised_members)
{
	struct journey journey = journey_received(4100000);
	_cleanup_free_ char *text = json_of(&journey);

	CHECK_HAS_TEXT(text,
		       "{\"dir\":\"rx\",\"time_ns\":1794708787000000000,\"laddr\":\"10.0.0.1\",\"lport\":80,\"raddr\":"
		       "\"10.0.0.2\",\"rport\":40000,");
	CHECK_HAS_TEXT(text, "\"pid\":4711,");
	CHECK_HAS_TEXT(text, "\"comm\":\"nginx\",");
	CHECK_HAS_TEXT(text, "\"bytes\":566,");
	CHECK_HAS_TEXT(text, "\"total_ns\":4108900,");
	CHECK_HAS_TEXT(text, "\"end\":\"delivered\",");
	CHECK_HAS_TEXT(text,
		       "{\"stage\":\"sched\",\"start_ns\":1794708787000007300,\"ns\":4100000,\"cpu\":1,\"context\":"
		       "\"process\",\"note\":3}");
	CHECK_HAS_TEXT(text, "\"hidden\":[\"irq\",\"filter\"]}");
	/* Unknown is null, not zero. */
	CHECK_HAS_TEXT(text, "\"reason\":null");
	CHECK_HAS_TEXT(text, "\"note\":null");
}

TEST(json_of_an_empty_journey)
{
	struct journey journey = {.time_ns = 1, .dir = PACKET_RX, .end = PATH_UNFINISHED};
	_cleanup_free_ char *text = json_of(&journey);

	CHECK_HAS_TEXT(text, "\"stages\":[],\"hidden\":[]}");
	CHECK_HAS_TEXT(text, "\"laddr\":null,\"lport\":null");
}

/* --- figures --- */

TEST(slots_of_a_spread_lie_side_by_side)
{
	CHECK_EQ_UINT(spread_slot_first(0), 0);
	for (unsigned i = 0; i + 1 < SPREAD_SLOTS; i++) {
		uint64_t first = spread_slot_first(i), last = spread_slot_last(i);

		unit_note("slot %u", i);
		CHECK_EQ_UINT(last + 1, spread_slot_first(i + 1));
		CHECK_EQ_UINT(spread_slot(first), i);
		CHECK_EQ_UINT(spread_slot(last), i);
	}
	CHECK_EQ_UINT(spread_slot(UINT64_MAX), SPREAD_SLOTS - 1);
}

static int compare_numbers(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

TEST(quantiles_are_near_the_exact_ones)
{
	static const double shares[] = {0.01, 0.5, 0.9, 0.99, 1};
	uint64_t state = 3, values[1000];
	struct spread spread = {};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		values[i] = unit_random(&state) >> (20 + unit_random(&state) % 40);
		spread_add(&spread, values[i]);
	}
	qsort(values, ARRAY_SIZE(values), sizeof(values[0]), compare_numbers);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		double exact = (double)values[(size_t)(shares[i] * (double)ARRAY_SIZE(values)) - 1];

		unit_note("share %g", shares[i]);
		CHECK_NEAR((double)spread_quantile(&spread, shares[i]), exact, exact / 28 + 1);
	}
	CHECK_EQ_UINT(spread.max, values[ARRAY_SIZE(values) - 1]);
	CHECK_EQ_UINT(spread.min, values[0]);
	spread_done(&spread);
}

TEST(octaves_hold_every_value_once)
{
	struct hist_slot slots[SPREAD_OCTAVES];
	struct spread spread = {};
	uint64_t state = 11, counted = 0;
	unsigned end;

	for (int i = 0; i < 5000; i++)
		spread_add(&spread, unit_random(&state) >> unit_random(&state) % 64);
	end = spread_octaves(&spread, slots);
	for (unsigned i = 0; i < end; i++)
		counted += slots[i].count;
	CHECK_EQ_UINT(counted, 5000);
	CHECK_EQ_UINT(slots[end - 1].count > 0, 1);
	spread_done(&spread);
}

TEST(slowest_keeps_the_slowest_in_order)
{
	struct slowest slowest = {.limit = 5};
	uint64_t state = 5;

	for (int i = 0; i < 200; i++) {
		struct journey journey = journey_received(1 + unit_random(&state) % 1000000);

		slowest_add(&slowest, &journey);
	}
	for (uint64_t i = 0; i < 7; i++) {
		struct journey journey = journey_received(2000000 + i % 2);

		journey.seq = (uint32_t)i;
		slowest_add(&slowest, &journey);
	}
	REQUIRE(slowest.journeys.count == 5);
	/* Ties in order of arrival. */
	CHECK_EQ_UINT(slowest.journeys.items[0].seq, 1);
	CHECK_EQ_UINT(slowest.journeys.items[1].seq, 3);
	CHECK_EQ_UINT(slowest.journeys.items[2].seq, 5);
	CHECK_EQ_UINT(slowest.journeys.items[3].seq, 0);
	CHECK_EQ_UINT(slowest.journeys.items[4].seq, 2);
	slowest_done(&slowest);
	slowest_add(&(struct slowest){}, &(struct journey){.total_ns = 9});
}

/* --- tails --- */

TEST(the_stage_that_makes_the_slow_ones_slow_owns_the_tail)
{
	struct tail tail = {};
	struct tail_verdict verdict;
	_cleanup_buf_ struct buf words = BUF_INIT(4096);
	double sum = 0;

	for (int i = 0; i < 1000; i++) {
		struct journey journey = journey_received(i % 100 == 50 ? 5000000 : 4000);

		tail_add(&tail, &journey);
	}
	REQUIRE(tail_judge(&tail, &verdict));
	CHECK_EQ_UINT(verdict.owner, PATH_SCHED);
	CHECK_EQ_UINT(verdict.slow, 10);
	for (unsigned i = 0; i < PATH_STAGES; i++)
		sum += verdict.shares[i];
	CHECK_NEAR(sum, 1, 1e-9);
	tail_add_words(&words, &tail);
	CHECK_EQ_TEXT(buf_text(&words),
		      "slowest 10 of 1000: 5.01 ms (fastest half: 12.9 us); sched is 100 % of the difference");
	tail_done(&tail);
}

/* Fewer than ten journeys have no tail; of ten, the slowest one is the tail. */
TEST(the_fewest_journeys_with_a_tail)
{
	for (int count = 9; count <= 10; count++) {
		struct tail tail = {};
		struct tail_verdict verdict;

		for (int i = 0; i < count; i++) {
			struct journey journey = journey_received(i == 3 ? 5000000 : 4000);

			tail_add(&tail, &journey);
		}
		CHECK_EQ_INT(tail_judge(&tail, &verdict), count == 10);
		if (count == 10)
			CHECK_EQ_UINT(verdict.slow, 1);
		tail_done(&tail);
	}
}

TEST(shares_of_a_tail_add_up_whatever_the_journeys)
{
	uint64_t state = 23;

	for (int round = 0; round < 50; round++) {
		struct tail tail = {};
		struct tail_verdict verdict = {};
		double sum = 0;

		for (int i = 0; i < 200; i++) {
			struct journey journey = journey_random(&state, 12);

			tail_add(&tail, &journey);
		}
		REQUIRE(tail_judge(&tail, &verdict));
		for (unsigned i = 0; i < PATH_STAGES; i++)
			sum += verdict.shares[i];
		CHECK_NEAR(sum, 1, 1e-6);
		CHECK(verdict.slow >= 2);
		CHECK(verdict.slow_ns >= verdict.usual_ns);
		tail_done(&tail);
	}
}

TEST(a_stage_that_is_quicker_in_the_tail_has_no_share)
{
	struct summary summary;
	struct stage_rows rows;
	struct tail_verdict verdict;

	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		struct journey journey = journey_make(PACKET_RX);

		journey_add(&journey, PATH_IP, i % 100 == 50 ? 1000 : 30000, 0, PATH_SOFT);
		journey_add(&journey, PATH_SCHED, i % 100 == 50 ? 5000000 : 4000, 0, PATH_PROCESS);
		summary_add(&summary, &journey);
	}
	REQUIRE(summary.groups.count == 1);
	REQUIRE(tail_judge(&summary.groups.items[0]->tail, &verdict));
	CHECK(verdict.shares[PATH_IP] < 0);
	summary_rows(summary.groups.items[0], &(struct stage_look){.utf8 = true}, &rows);
	vec_each(&rows.rows, row)
		if (row->stage == PATH_IP || row->stage == PATH_SCHED)
			CHECK_NEAR(row->tail_share, row->stage == PATH_SCHED ? 1 : 0, 0);
	stage_rows_done(&rows);
	summary_done(&summary);
}

TEST(where_there_is_no_tail_none_is_named)
{
	struct tail tail = {};
	_cleanup_buf_ struct buf few = BUF_INIT(4096), same = BUF_INIT(4096), near = BUF_INIT(4096);
	struct journey journey = journey_received(4000);

	tail_add_words(&few, &tail);
	CHECK_EQ_TEXT(buf_text(&few), "too few journeys to compare slow with normal ones");
	for (int i = 0; i < 100; i++)
		tail_add(&tail, &journey);
	tail_add_words(&same, &tail);
	CHECK_EQ_TEXT(buf_text(&same), "no tail: all take about the same time");
	journey = journey_received(7000);
	tail_add(&tail, &journey);
	tail_add_words(&near, &tail);
	CHECK_HAS_TEXT(buf_text(&near), "no tail");
	tail_done(&tail);
}

/* --- summaries --- */

TEST(figures_count_every_journey_once)
{
	char *names[] = {(char *)"comm", (char *)"cpu"};
	struct text_list by = {.count = 2, .items = names};
	struct summary summary;
	uint64_t state = 99, journeys = 0, ends = 0, ns = 0, all_ns = 0;

	REQUIRE(summary_init(&summary, &by, NULL) == 0);
	for (int i = 0; i < 2000; i++) {
		struct journey journey = journey_random(&state, 20);

		snprintf(journey.comm, sizeof(journey.comm), "p%d", i % 5);
		all_ns += journey.total_ns;
		summary_add(&summary, &journey);
	}
	vec_each(&summary.groups, item) {
		const struct summary_group *group = *item;

		journeys += group->total.count;
		for (unsigned i = 0; i <= PATH_UNFINISHED; i++)
			ends += group->ends[i];
		for (unsigned i = 1; i < PATH_STAGES; i++) {
			ns += group->stages[i].sum;
			CHECK(group->stages[i].count + group->hidden[i] <= group->total.count);
		}
	}
	CHECK_EQ_UINT(journeys, 2000);
	CHECK_EQ_UINT(ends, 2000);
	CHECK_EQ_UINT(ns, all_ns);
	CHECK_EQ_UINT(summary.ungrouped, 0);
	/* Five programs, two directions, four CPUs and journeys without a stage. */
	CHECK_EQ_UINT(summary.groups.count, 50);
	summary_done(&summary);
}

TEST(rows_add_up_to_their_group)
{
	struct summary summary;
	uint64_t state = 41;

	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	for (int i = 0; i < 500; i++) {
		struct journey journey = journey_random(&state, 10);

		summary_add(&summary, &journey);
	}
	summary_sort(&summary);
	REQUIRE(summary.groups.count == 2);
	vec_each(&summary.groups, group) {
		struct stage_rows rows;
		double share = 0;

		summary_rows(*group, &(struct stage_look){.utf8 = true}, &rows);
		vec_each(&rows.rows, row) {
			const struct hist_slot *slots = row->hist.items;
			uint64_t counted = 0;

			for (uint32_t i = 0; i < row->hist.count; i++)
				counted += slots[i].count;
			CHECK_EQ_UINT(counted, row->count == UINT64_MAX ? 0 : row->count);
			CHECK(row->p50_ns <= row->p90_ns && row->p90_ns <= row->p99_ns && row->p99_ns <= row->max_ns);
			share += row->stage && row->count != UINT64_MAX ? row->share : 0;
		}
		CHECK_NEAR(share, 1, 1e-3);
		stage_rows_done(&rows);
	}
	summary_done(&summary);
}

TEST(figures_as_a_table)
{
	struct summary summary;
	struct out out = journey_out(false, 0);
	_cleanup_free_ char *text = NULL;

	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		struct journey received = journey_received(i == 50 ? 5000000 : 4000), sent = journey_sent(20000);

		received.end = i == 50 ? PATH_UNFINISHED : PATH_DELIVERED;
		summary_add(&summary, &received);
		if (i < 4)
			summary_add(&summary, &sent);
	}
	summary_sort(&summary);
	summary_print(&summary, &out);
	text = journey_out_text(&out);
	CHECK_EQ_TEXT(text, "receive: 100 journeys (99 delivered, 1 unfinished)\n"
			    "slowest of 100: 5.01 ms (fastest half: 12.9 us); sched is 100 % of the difference\n"
			    "STAGE     COUNT SHARE     P50     P90     P99     MAX TAIL_SHARE SPREAD\n"
			    "irq           -     -       -       -       -       -          - -\n"
			    "softirq     100 3.2 % 2.00 us 2.00 us 2.00 us 2.00 us        0 %   #\n"
			    "filter        -     -       -       -       -       -          - -\n"
			    "ip          100 4.8 % 3.00 us 3.00 us 3.00 us 3.00 us        0 %    #\n"
			    "transport   100 2.4 % 1.50 us 1.50 us 1.50 us 1.50 us        0 %   #\n"
			    "wakeup      100 1.3 %  800 ns  800 ns  800 ns  800 ns        0 %  #\n"
			    "sched       100  86 % 4.03 us 4.03 us 4.03 us 5.00 ms      100 %    #          .\n"
			    "copy        100 1.9 % 1.20 us 1.20 us 1.20 us 1.20 us        0 %   #\n"
			    "return      100 0.6 %  400 ns  400 ns  400 ns  400 ns        0 % #\n"
			    "total       100 100 % 13.1 us 13.1 us 13.1 us 5.01 ms          -      #        .\n"
			    "spread: from 256 ns to 8.39 ms, each column twice the one before\n"
			    "not visible: irq, filter\n"
			    "\n"
			    "transmit: 4 journeys (4 delivered)\n"
			    "too few journeys to compare slow with normal ones\n"
			    "STAGE  COUNT SHARE     P50     P90     P99     MAX TAIL_SHARE SPREAD\n"
			    "sndbuf     4 0.2 %  500 ns  500 ns  500 ns  500 ns          - #\n"
			    "tcp        4 0.9 % 2.50 us 2.50 us 2.50 us 2.50 us          -    #\n"
			    "qdisc      4 7.3 % 20.0 us 20.0 us 20.0 us 20.0 us          -       #\n"
			    "driver     4 0.3 %  900 ns  900 ns  900 ns  900 ns          -  #\n"
			    "ack        4  91 %  250 us  250 us  250 us  250 us          -          #\n"
			    "total      4 100 %  274 us  274 us  274 us  274 us          -           #\n"
			    "spread: from 256 ns to 524 us, each column twice the one before\n");
	summary_done(&summary);
}

TEST(zero_has_a_column_of_its_own)
{
	struct summary summary;
	struct stage_rows rows;

	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	for (int i = 0; i < 4; i++) {
		struct journey journey = journey_received(i < 2 ? 0 : 5000);

		summary_add(&summary, &journey);
	}
	summary_rows(summary.groups.items[0], &(struct stage_look){}, &rows);
	CHECK(rows.with_zero);
	CHECK_EQ_UINT(hist_log2_slot(rows.first_octave).lo, 256);
	vec_each(&rows.rows, row) {
		const struct hist_slot *slots = row->hist.items;

		if (row->stage != PATH_SCHED)
			continue;
		CHECK_EQ_TEXT(row->spread, "#    #");
		CHECK_EQ_UINT(slots[0].hi, 0);
		CHECK_EQ_UINT(slots[0].count, 2);
		CHECK_EQ_UINT(slots[5].count, 2);
	}
	stage_rows_done(&rows);
	summary_done(&summary);
}

TEST(little_histograms_fit_a_narrow_terminal)
{
	struct out out = journey_out(true, 80);
	_cleanup_free_ char *text = NULL;
	struct stage_rows rows;
	struct summary summary;
	uint64_t counted = 0;

	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	for (int i = 0; i < 40; i++) {
		struct journey journey = journey_received(i < 39 ? UINT64_C(1) << i % 40 : 0);

		summary_add(&summary, &journey);
	}
	summary_print(&summary, &out);
	text = journey_out_text(&out);
	CHECK_HAS_TEXT(text, "spread: zero, then from 1 ns to 550 s, each column 8 times the one before\n");
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		CHECK(text_columns(line, strcspn(line, "\n")) <= 80);
	CHECK(!strstr(text, "…"));
	summary_rows(summary.groups.items[0], &(struct stage_look){.columns = 7}, &rows);
	vec_each(&rows.rows, row) {
		const struct hist_slot *slots = row->hist.items;

		CHECK(strlen(row->spread) <= 7);
		for (uint32_t i = 0; row->stage == PATH_SCHED && i < row->hist.count; i++)
			counted += slots[i].count;
	}
	/* The record has all slots. */
	CHECK_EQ_UINT(counted, 40);
	stage_rows_done(&rows);
	summary_done(&summary);
}

TEST(stages_stand_in_the_order_of_the_way)
{
	struct journey sent = journey_sent(20000);
	struct journey_record record;
	struct summary summary;
	struct stage_rows rows;
	const uint8_t want[] = {PATH_SNDBUF, PATH_TCP,        PATH_FILTER, PATH_QDISC,
				PATH_DRIVER, PATH_COMPLETION, PATH_ACK,    0};

	for (uint8_t dir = PACKET_RX; dir <= PACKET_TX; dir++) {
		uint32_t seen = 0;

		for (unsigned i = 0; i < PATH_ORDER_COUNT; i++)
			seen |= 1u << path_order(dir)[i];
		CHECK_EQ_UINT(seen, (1u << PATH_STAGES) - 2);
	}
	sent.hidden = 1u << PATH_FILTER | 1u << PATH_COMPLETION;
	journey_record_fill(&record, &sent);
	CHECK_EQ_UINT(record.lists.hidden.count, 2);
	CHECK_EQ_UINT(((const uint8_t *)record.lists.hidden.items)[0], PATH_FILTER);
	REQUIRE(summary_init(&summary, NULL, NULL) == 0);
	summary_add(&summary, &sent);
	summary_rows(summary.groups.items[0], &(struct stage_look){}, &rows);
	REQUIRE(rows.rows.count == ARRAY_SIZE(want));
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		CHECK_EQ_UINT(rows.rows.items[i].stage, want[i]);
	stage_rows_done(&rows);
	summary_done(&summary);
}

TEST(groups_have_a_limit_and_say_so)
{
	char *names[] = {(char *)"rport"};
	struct text_list by = {.count = 1, .items = names};
	struct out out = journey_out(true, 0);
	_cleanup_free_ char *text = NULL;
	struct summary summary;

	REQUIRE(summary_init(&summary, &by, NULL) == 0);
	for (int i = 0; i < SUMMARY_GROUPS_MAX + 10; i++) {
		struct journey journey = journey_received(1000);

		journey.rport = (uint16_t)(i + 1);
		summary_add(&summary, &journey);
	}
	CHECK_EQ_UINT(summary.ungrouped, 10);
	summary_print(&summary, &out);
	text = journey_out_text(&out);
	CHECK_HAS_TEXT(text, "10 journeys of other groups not shown: limit is 256 groups\n");
	summary_done(&summary);
}

TEST(a_field_that_is_not_there_cannot_group)
{
	char *names[] = {(char *)"com"};
	struct text_list by = {.count = 1, .items = names};
	struct summary summary;
	struct why why;

	CHECK_ERR(summary_init(&summary, &by, &why), -EINVAL);
	CHECK_EQ_TEXT(why.text, "--by: unknown field 'com'; did you mean comm?");
	summary_done(&summary);
}

/* --- heat maps --- */

TEST(heat_keeps_every_value_and_the_order_does_not_matter)
{
	uint64_t state = 77, times[400], values[400];
	struct heat forward = HEAT_INIT(2), backward = HEAT_INIT(2);
	uint64_t counted = 0;

	for (int i = 0; i < 400; i++) {
		times[i] = JOURNEY_TIME + (unit_random(&state) >> 28);
		values[i] = unit_random(&state) >> unit_random(&state) % 64;
	}
	for (int i = 0; i < 400; i++) {
		heat_add(&forward, (unsigned)i % 2, times[i], values[i]);
		heat_add(&backward, (unsigned)(399 - i) % 2, times[399 - i], values[399 - i]);
	}
	CHECK_EQ_UINT(forward.shift, backward.shift);
	CHECK_EQ_UINT(forward.first, backward.first);
	REQUIRE(heat_columns(&forward) == heat_columns(&backward));
	CHECK(heat_columns(&forward) > HEAT_COLUMNS / 2 - 1 && heat_columns(&forward) <= HEAT_COLUMNS);
	for (unsigned layer = 0; layer < 2; layer++)
		for (unsigned column = 0; column < heat_columns(&forward); column++)
			for (unsigned row = 0; row < HEAT_ROWS; row++) {
				counted += heat_get(&forward, layer, column, row);
				CHECK_EQ_UINT(heat_get(&forward, layer, column, row),
					      heat_get(&backward, layer, column, row));
			}
	CHECK_EQ_UINT(counted, 400);
	heat_done(&forward);
	heat_done(&backward);
}

TEST(heat_takes_any_time)
{
	struct heat heat = HEAT_INIT(1);

	CHECK_EQ_UINT(heat_columns(&heat), 0);
	heat_add(&heat, 0, UINT64_MAX, 1);
	heat_add(&heat, 0, 0, UINT64_MAX);
	heat_add(&heat, 0, JOURNEY_TIME, 0);
	CHECK(heat_columns(&heat) <= HEAT_COLUMNS);
	CHECK_EQ_UINT(heat.count, 3);
	CHECK_EQ_UINT(heat_get(&heat, 0, 0, HEAT_ROWS - 1), 1);
	CHECK_EQ_UINT(heat_most(&heat, 0), 1);
	heat_done(&heat);
}
