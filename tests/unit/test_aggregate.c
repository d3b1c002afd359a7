/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Aggregation in user space: the same as the kernel's. */
#include <errno.h>
#include <string.h>

#include "event/core/event.h"
#include "event/sock/sock.h"
#include "tool/core/aggregate.h"
#include "unit.h"

struct rows {
	struct aggregate *aggregate;
	VEC(char *) text; /* "key=count/sum/min/max" */
};

static void add_address(struct buf *text, const struct addr *addr)
{
	char shown[ADDR_TEXT_MAX];

	addr_format(addr, shown);
	buf_add_text(text, shown);
}

static void see(const void *row, void *context)
{
	struct rows *rows = context;
	const struct record_type *type = aggregate_type(rows->aggregate);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	for (uint32_t i = 0; i < type->field_count; i++) {
		struct value value = value_get(&type->fields[i], row);

		if (type->fields[i].kind == KIND_LIST || type->fields[i].kind == KIND_TIME)
			continue;
		buf_add_format(&text, "%s%s=", text.len ? " " : "", type->fields[i].name);
		if (value.class == VALUE_UINT)
			buf_add_format(&text, "%llu", (unsigned long long)value.uint);
		else if (value.class == VALUE_INT)
			buf_add_format(&text, "%lld", (long long)value.sint);
		else if (value.class == VALUE_TEXT)
			buf_add_format(&text, "%.*s", (int)value.len, value.text);
		else if (value.class == VALUE_ADDR)
			add_address(&text, value.addr);
		else
			buf_add_text(&text, "-");
	}
	vec_push(&rows->text, xstrdup(buf_text(&text)));
}

static void rows_done(struct rows *rows)
{
	vec_each(&rows->text, text)
		free(*text);
	vec_done(&rows->text);
	aggregate_close(rows->aggregate);
}

static void open_rows(struct rows *rows, enum aggregate_kind kind, const char *value, const char *by)
{
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)by};
	struct aggregate_spec spec = {.kind = kind, .value = value, .by = {by ? 1 : 0, keys}, .last = 100, .step = 10};
	struct why why = {};

	*rows = (struct rows){};
	CHECK_EQ_INT(aggregate_open(&spec, &shape, 1, &rows->aggregate, &why), 0);
}

static void add(struct rows *rows, const char *comm, uint64_t bytes)
{
	struct sock_io_event event;
	struct record record = {};

	event_clear(event_find("sock.send"), &event);
	snprintf(event.head.comm, sizeof(event.head.comm), "%s", comm);
	/* Bytes after the terminator are not part of a name. */
	if (strlen(comm) + 2 < sizeof(event.head.comm))
		event.head.comm[strlen(comm) + 1] = (char)bytes;
	event.data.bytes = bytes;
	record.parts[EVENT_PART_HEAD] = &event.head;
	record.parts[EVENT_PART_DATA] = &event.data;
	aggregate_add(rows->aggregate, 0, &record);
}

TEST(sums_are_kept_by_key_largest_first)
{
	_cleanup_(rows_done) struct rows rows;

	open_rows(&rows, AGGREGATE_SUM, "bytes", "comm");
	add(&rows, "a", 5);
	add(&rows, "b", 100);
	add(&rows, "a", 7);
	add(&rows, "", 1);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 3);
	CHECK_EQ_TEXT(rows.text.items[0], "comm=b count=1 sum=100");
	CHECK_EQ_TEXT(rows.text.items[1], "comm=a count=2 sum=12");
	CHECK_EQ_TEXT(rows.text.items[2], "comm=- count=1 sum=1");
	/* Taken rows are cleared. */
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 0);
}

/* Of the same size: in the order of their keys, to the last byte. */
TEST(rows_of_the_same_size)
{
	static const char *const addresses[] = {"fd00::2", "fd00::1", "fd00::3"};
	_cleanup_(rows_done) struct rows rows;

	open_rows(&rows, AGGREGATE_COUNT, NULL, "raddr");
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		struct sock_io_event event;
		struct record record = {.parts = {[EVENT_PART_HEAD] = &event.head, [EVENT_PART_DATA] = &event.data}};

		event_clear(event_find("sock.send"), &event);
		REQUIRE(addr_parse(addresses[i], &event.head.raddr) == 0);
		aggregate_add(rows.aggregate, 0, &record);
	}
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 3);
	CHECK_EQ_TEXT(rows.text.items[0], "raddr=fd00::1 count=1");
	CHECK_EQ_TEXT(rows.text.items[1], "raddr=fd00::2 count=1");
	CHECK_EQ_TEXT(rows.text.items[2], "raddr=fd00::3 count=1");
}

TEST(a_value_that_is_not_known_is_left_out)
{
	_cleanup_(rows_done) struct rows rows;

	open_rows(&rows, AGGREGATE_STATS, "bytes", NULL);
	add(&rows, "a", EVENT_UNKNOWN64);
	add(&rows, "a", 4);
	add(&rows, "a", 2);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 1);
	CHECK_EQ_TEXT(rows.text.items[0], "count=2 sum=6 min=2 max=4 avg=3");
}

TEST(counts_count_all)
{
	_cleanup_(rows_done) struct rows rows;

	open_rows(&rows, AGGREGATE_COUNT, NULL, NULL);
	add(&rows, "a", EVENT_UNKNOWN64);
	add(&rows, "b", 4);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 1);
	CHECK_EQ_TEXT(rows.text.items[0], "count=2");
}

TEST(each_event_has_a_sum_of_its_own)
{
	struct shape shapes[] = {event_shape(event_find("sock.send")), event_shape(event_find("sock.recv"))};
	char *keys[] = {(char *)"comm"};
	struct aggregate_spec spec = {
		.kind = AGGREGATE_TOP, .value = "bytes", .by = {1, keys}, .sums = {"tx_bytes", "rx_bytes"}};
	_cleanup_(rows_done) struct rows rows = {};
	struct event_group received = {.count = 3, .sum = 900, .min = 1, .max = 500};
	struct sock_io_event event;
	struct record record = {};
	struct why why = {};

	CHECK_EQ_INT(aggregate_open(&spec, shapes, 2, &rows.aggregate, &why), 0);
	add(&rows, "a", 5);
	add(&rows, "a", 7);
	add(&rows, "b", 100);
	/* More often, but less: the order is that of the sum. */
	for (int i = 0; i < 3; i++)
		add(&rows, "c", 1);
	event_clear(event_find("sock.recv"), &event);
	event.head.comm[0] = 'a';
	record.parts[EVENT_PART_HEAD] = &event.head;
	record.parts[EVENT_PART_DATA] = &event.data;
	aggregate_merge(rows.aggregate, 1, &record, &received);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 3);
	CHECK_EQ_TEXT(rows.text.items[0], "comm=a count=5 tx_bytes=12 rx_bytes=900 sum=912");
	CHECK_EQ_TEXT(rows.text.items[1], "comm=b count=1 tx_bytes=100 rx_bytes=0 sum=100");
	CHECK_EQ_TEXT(rows.text.items[2], "comm=c count=3 tx_bytes=3 rx_bytes=0 sum=3");
}

static const char *first_letter(const void *context, const struct value *value)
{
	return value->class == VALUE_TEXT && value->text[0] == 'a' ? context : NULL;
}

TEST(a_key_may_be_a_label)
{
	static const struct aggregate_label label = {"letter", "comm", first_letter, "begins with a"};
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)"letter"};
	struct aggregate_spec spec = {.kind = AGGREGATE_SUM, .value = "bytes", .by = {1, keys}, .label = &label};
	_cleanup_(rows_done) struct rows rows = {};
	struct why why = {};

	CHECK_EQ_INT(aggregate_open(&spec, &shape, 1, &rows.aggregate, &why), 0);
	add(&rows, "ab", 5);
	add(&rows, "ac", 7);
	add(&rows, "ba", 1);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 2);
	CHECK_EQ_TEXT(rows.text.items[0], "letter=begins with a count=2 sum=12");
	CHECK_EQ_TEXT(rows.text.items[1], "letter=- count=1 sum=1");
}

TEST(a_table_has_rates_shares_and_classes_in_the_order_of_its_keys)
{
	static const struct aggregate_class classes[] = {{"small", 64}, {"large", 1 << 20}, {}};
	static const struct aggregate_table table = {.rates = true, .share_keys = 1, .classes = classes};
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)"comm", (char *)"cpu"};
	struct aggregate_spec spec = {.kind = AGGREGATE_HIST, .value = "bytes", .by = {1, keys}, .table = &table};
	_cleanup_(rows_done) struct rows rows = {};
	struct why why = {};

	CHECK_EQ_INT(aggregate_open(&spec, &shape, 1, &rows.aggregate, &why), 0);
	for (unsigned i = 0; i < 4; i++)
		add(&rows, "b", 64);
	add(&rows, "a", 63);
	add(&rows, "a", 0);
	add(&rows, "a", 6000);
	aggregate_set_span(rows.aggregate, 2000000000);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 2);
	CHECK_EQ_TEXT(rows.text.items[0], "comm=a count=3 sum=6063 min=0 max=6000 avg=2021 count_rate=2 sum_rate=3032 "
					  "share=- small=2 large=1");
	CHECK_EQ_TEXT(rows.text.items[1], "comm=b count=4 sum=256 min=64 max=64 avg=64 count_rate=2 sum_rate=128 "
					  "share=- small=0 large=4");
	/* Length of the interval unknown. */
	aggregate_set_span(rows.aggregate, 0);
	add(&rows, "a", 1);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 1);
	CHECK_EQ_TEXT(rows.text.items[2], "comm=a count=1 sum=1 min=1 max=1 avg=1 count_rate=- sum_rate=- share=- "
					  "small=1 large=0");
}

TEST(a_table_has_percentiles_and_means_beside_its_histogram)
{
	static const struct aggregate_table table = {.adds = {"bytes"}, .means = true, .percentiles = true};
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)"comm"};
	struct aggregate_spec spec = {.kind = AGGREGATE_HIST, .value = "bytes", .by = {1, keys}, .table = &table};
	_cleanup_(rows_done) struct rows rows = {};
	struct why why = {};

	CHECK_EQ_INT(aggregate_open(&spec, &shape, 1, &rows.aggregate, &why), 0);
	for (unsigned i = 0; i < 98; i++)
		add(&rows, "a", 64);
	add(&rows, "a", 1 << 20);
	add(&rows, "a", 1 << 20);
	add(&rows, "b", 1000);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 2);
	/* The slot of 64 goes up to 127; a single value is not interpolated. */
	CHECK_EQ_TEXT(rows.text.items[0],
		      "comm=a count=100 bytes=21034 sum=2103424 min=64 max=1048576 avg=21034 p50=96 "
		      "p99=1048576");
	CHECK_EQ_TEXT(rows.text.items[1], "comm=b count=1 bytes=1000 sum=1000 min=1000 max=1000 avg=1000 p50=1000 "
					  "p99=1000");
}

static void see_share(const void *row, void *context)
{
	const struct record_type *type = aggregate_type(((struct rows *)context)->aggregate);

	for (uint32_t i = 0; i < type->field_count; i++)
		if (strcmp(type->fields[i].name, "share") == 0)
			vec_push(&((struct rows *)context)->text,
				 xasprintf("%.2f", value_get(&type->fields[i], row).real));
}

TEST(a_share_is_of_the_rows_with_the_same_first_keys)
{
	static const struct aggregate_table table = {.share_keys = 1, .adds = {"bytes"}};
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)"proto", (char *)"comm"};
	struct aggregate_spec spec = {.kind = AGGREGATE_STATS, .value = "bytes", .by = {2, keys}, .table = &table};
	static const char *const wanted[] = {"0.25", "0.75"};
	_cleanup_(rows_done) struct rows rows = {};
	struct why why = {};

	CHECK_EQ_INT(aggregate_open(&spec, &shape, 1, &rows.aggregate, &why), 0);
	add(&rows, "b", 3);
	add(&rows, "a", 5);
	add(&rows, "b", 7);
	add(&rows, "b", 7);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see_share, &rows), 2);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		CHECK_EQ_TEXT(rows.text.items[i], wanted[i]);
	add(&rows, "b", 3);
	add(&rows, "b", 7);
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 1);
	CHECK_EQ_TEXT(rows.text.items[2], "proto=- comm=b count=2 bytes=10 sum=10 min=3 max=7 avg=5 share=-");
}

static const struct aggregate *seen_by; /* the callback of a list has no room for it */

static void see_slots(const void *row, void *context)
{
	struct list *ret = context;

	*ret = *aggregate_hist(seen_by, row);
}

TEST(slots_of_both_kinds_of_histogram)
{
	static const struct {
		enum aggregate_kind kind;
		uint64_t values[3];
		struct hist_slot first, last;
	} cases[] = {
		{AGGREGATE_HIST, {0, 1, 5}, {0, 0, 1}, {4, 7, 1}},
		{AGGREGATE_HIST, {1024, 2047, 1500}, {1024, 2047, 3}, {1024, 2047, 3}},
		{AGGREGATE_LHIST, {0, 9, 99}, {0, 9, 2}, {90, 99, 1}},
		{AGGREGATE_LHIST, {100, 5000, 95}, {90, 99, 1}, {100, UINT64_MAX, 2}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(rows_done) struct rows rows;
		const struct hist_slot *slots;
		struct list hist = {};

		unit_note("case %zu", i);
		open_rows(&rows, cases[i].kind, "bytes", NULL);
		for (size_t v = 0; v < 3; v++)
			add(&rows, "a", cases[i].values[v]);
		seen_by = rows.aggregate;
		CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see_slots, &hist), 1);
		CHECK(hist.count > 0);
		if (hist.count == 0)
			continue;
		slots = hist.items;
		CHECK_EQ_UINT(slots[0].lo, cases[i].first.lo);
		CHECK_EQ_UINT(slots[0].hi, cases[i].first.hi);
		CHECK_EQ_UINT(slots[0].count, cases[i].first.count);
		CHECK_EQ_UINT(slots[hist.count - 1].lo, cases[i].last.lo);
		CHECK_EQ_UINT(slots[hist.count - 1].hi, cases[i].last.hi);
		CHECK_EQ_UINT(slots[hist.count - 1].count, cases[i].last.count);
	}
}

TEST(mistakes_are_named)
{
	struct shape shape = event_shape(event_find("sock.send"));
	char *keys[] = {(char *)"commm"};
	struct {
		struct aggregate_spec spec;
		const char *says;
	} cases[] = {
		{{.kind = AGGREGATE_SUM, .value = "bites"}, "unknown field 'bites'"},
		{{.kind = AGGREGATE_SUM, .value = "comm"}, "not a number"},
		{{.kind = AGGREGATE_COUNT, .by = {1, keys}}, "did you mean comm"},
		{{.kind = AGGREGATE_LHIST, .value = "bytes", .last = 1000, .step = 1}, "with 1 to 64 steps between"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct aggregate *aggregate = NULL;
		struct why why = {};

		CHECK_EQ_INT(aggregate_open(&cases[i].spec, &shape, 1, &aggregate, &why), -EINVAL);
		unit_note("%s", why.text);
		CHECK(strstr(why.text, cases[i].says) != NULL);
	}
}

/* Values below zero: sums, extremes and the order of rows. */
TEST(values_below_zero)
{
	static const struct field field = {
		.name = "delta", .kind = KIND_COUNT, .store = STORE_I32, .size = 4, .help = "change"};
	static const struct record_type type = {
		.name = "change", .help = "a change", .fields = &field, .field_count = 1, .size = 8};
	struct shape shape = event_shape(event_find("sock.send"));
	struct aggregate_spec spec = {.kind = AGGREGATE_STATS, .value = "delta"};
	_cleanup_(rows_done) struct rows rows = {};
	struct sock_io_event event;
	struct why why = {};

	shape.types[EVENT_PART_DATA] = &type;
	REQUIRE(aggregate_open(&spec, &shape, 1, &rows.aggregate, &why) == 0);
	event_clear(event_find("sock.send"), &event);
	for (int32_t delta = -5; delta <= 2; delta += 7) {
		int64_t data = 0;
		struct record record = {};

		memcpy(&data, &delta, sizeof(delta));
		record.parts[EVENT_PART_HEAD] = &event.head;
		record.parts[EVENT_PART_DATA] = &data;
		aggregate_add(rows.aggregate, 0, &record);
	}
	CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see, &rows), 1);
	CHECK_EQ_TEXT(rows.text.items[0], "count=2 sum=-3 min=-5 max=2 avg=-");
}

static void see_max(const void *row, void *context)
{
	struct rows *rows = context;

	vec_push(&rows->text, xasprintf("%llu", (unsigned long long)aggregate_max(rows->aggregate, row)));
}

/* Which figures a kind has, and the largest value of a histogram. */
TEST(figures_of_each_kind)
{
	static const struct {
		enum aggregate_kind kind;
		bool has_hist, has_max;
	} cases[] = {{AGGREGATE_COUNT, false, false}, {AGGREGATE_SUM, false, false}, {AGGREGATE_STATS, false, true},
		     {AGGREGATE_HIST, true, true},    {AGGREGATE_LHIST, true, true}, {AGGREGATE_TOP, false, false}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(rows_done) struct rows rows = {};
		const struct record_type *type;
		bool has_hist = false, has_max = false;

		unit_note("kind %d", cases[i].kind);
		open_rows(&rows, cases[i].kind, cases[i].kind == AGGREGATE_COUNT ? NULL : "bytes", "comm");
		type = aggregate_type(rows.aggregate);
		for (uint32_t f = 0; f < type->field_count; f++) {
			has_hist |= strcmp(type->fields[f].name, "hist") == 0;
			has_max |= strcmp(type->fields[f].name, "max") == 0;
		}
		CHECK_EQ_INT(has_hist, cases[i].has_hist);
		CHECK_EQ_INT(has_max, cases[i].has_max);
		add(&rows, "a", 70);
		add(&rows, "a", 30);
		if (cases[i].kind != AGGREGATE_HIST)
			continue;
		CHECK_EQ_UINT(aggregate_take(rows.aggregate, 1, see_max, &rows), 1);
		CHECK_EQ_TEXT(rows.text.items[0], "70");
	}
}
