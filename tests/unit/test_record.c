/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include "record/json_read.h"
#include "sample.h"
#include "view/json.h"

static struct value get(const struct sample *s, const char *name)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct record record = RECORD_OF(s);
	struct field_ref ref;

	REQUIRE(shape_find(&shape, name, &ref) == 0);
	return record_get(&record, ref);
}

TEST(every_kind_is_read)
{
	struct sample s = sample_make();

	CHECK_EQ_UINT(get(&s, "time_ns").uint, UINT64_C(1763172787123456789));
	CHECK_EQ_UINT(get(&s, "pid").uint, 4711);
	CHECK_EQ_UINT(get(&s, "comm").len, 5);
	CHECK_EQ_INT(get(&s, "laddr").addr->family, ADDR_V4);
	CHECK_EQ_UINT(get(&s, "rport").uint, 51234);
	CHECK_EQ_INT(get(&s, "delta").sint, -5);
	CHECK_NEAR(get(&s, "share").real, 0.125, 0);
	CHECK_EQ_UINT(get(&s, "is_new").uint, 1);
	CHECK_EQ_UINT(get(&s, "kstack").stack->count, 2);
	CHECK_EQ_UINT(get(&s, "hist").list->count, 2);
	CHECK_EQ_UINT(get(&s, "peer").endpoint->port, 51234);
}

TEST(unknown_is_a_value_of_every_field)
{
	struct sample s = sample_make();
	struct field_ref at = {};
	struct shape shape = SHAPE_OF(&sample_type);

	while (shape_next(&shape, &at)) {
		unit_note("%s", at.field->name);
		CHECK(value_get(at.field, &s).class != VALUE_UNKNOWN);
		value_set_unknown(at.field, &s);
		/* A bool cannot be unknown. */
		CHECK_EQ_INT(value_get(at.field, &s).class, at.field->kind == KIND_BOOL ? VALUE_UINT : VALUE_UNKNOWN);
	}
}

TEST(zero_is_known_unless_the_table_says_otherwise)
{
	struct sample s = {};

	CHECK_EQ_INT(get(&s, "bytes").class, VALUE_UINT);
	CHECK_EQ_INT(get(&s, "pid").class, VALUE_UNKNOWN);
	CHECK_EQ_INT(get(&s, "error").class, VALUE_UNKNOWN);
	CHECK_EQ_INT(get(&s, "share").class, VALUE_REAL);
	for (int unknown = 0; unknown < 2; unknown++) {
		static const double zero;
		struct field ratio = {.store = STORE_DOUBLE, .size = sizeof(zero), .zero_is_unknown = unknown};

		CHECK_EQ_INT(value_get(&ratio, &zero).class, unknown ? VALUE_UNKNOWN : VALUE_REAL);
	}
	for (int unknown = 0; unknown < 2; unknown++) {
		static const int64_t numbers[] = {0, -5, INT64_MIN};
		struct field number = {.store = STORE_I64, .size = sizeof(numbers[0]), .zero_is_unknown = unknown};

		CHECK_EQ_INT(value_get(&number, &numbers[0]).class, unknown ? VALUE_UNKNOWN : VALUE_INT);
		CHECK_EQ_INT(value_get(&number, &numbers[1]).sint, -5);
		CHECK_EQ_INT(value_get(&number, &numbers[2]).class, VALUE_UNKNOWN);
	}
	s.rport = UINT16_MAX;
	CHECK_EQ_UINT(get(&s, "rport").uint, 65535);
}

TEST(text_need_not_be_terminated)
{
	struct sample s = {};

	memset(s.comm, 'x', sizeof(s.comm));
	CHECK_EQ_UINT(get(&s, "comm").len, sizeof(s.comm));
}

TEST(fields_are_found_without_their_unit)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct field_ref ref;

	CHECK_OK(shape_find(&shape, "lat", &ref));
	CHECK_EQ_TEXT(ref.field->name, "lat_ns");
	CHECK_OK(shape_find(&shape, "time", &ref));
	CHECK_ERR(shape_find(&shape, "la", &ref), -ENOENT);
	CHECK_ERR(shape_find(&shape, "", &ref), -ENOENT);
}

TEST(fields_are_found_by_what_stands_above_their_column)
{
	static const struct field fields[] = {{.name = "timer"}, {.name = "timer_ns", .heading = "timer_left"}};
	static const struct record_type type = {.name = "t", .fields = fields, .field_count = ARRAY_SIZE(fields)};
	static const struct field_alias aliases[] = {{"IP", "timer"}, {"GONE", "nosuch"}, {}};
	struct shape shape = SHAPE_OF(&type);
	static const struct {
		const char *name, *field;
	} cases[] = {{"TIMER", "timer"}, {"Timer_Left", "timer_ns"}, {"timer_ns", "timer_ns"}, {"ip", "timer"}};
	struct field_ref ref;

	shape.aliases = aliases;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		unit_note("%s", cases[i].name);
		REQUIRE(shape_find(&shape, cases[i].name, &ref) == 0);
		CHECK_EQ_TEXT(ref.field->name, cases[i].field);
	}
	CHECK_ERR(shape_find(&shape, "gone", &ref), -ENOENT);
}

struct extra {
	uint32_t queue;
};

static const struct field extra_fields[] = {FIELD(struct extra, queue, ID, "queue")};
static const struct record_type extra_type = {
	.name = "extra", .fields = extra_fields, .field_count = 1, .size = sizeof(struct extra)};

TEST(parts_may_be_absent)
{
	struct sample s = sample_make();
	struct extra extra = {.queue = 7};
	struct shape shape = {.count = 2, .types = {&sample_type, &extra_type}};
	struct record record = {.parts = {&s, &extra}};
	struct field_ref ref, at = {};
	unsigned count = 0;

	CHECK_OK(shape_find(&shape, "queue", &ref));
	CHECK_EQ_UINT(record_get(&record, ref).uint, 7);
	record.parts[1] = NULL;
	CHECK_EQ_INT(record_get(&record, ref).class, VALUE_UNKNOWN);
	while (shape_next(&shape, &at))
		count++;
	CHECK_EQ_UINT(count, ARRAY_SIZE(sample_fields) + 1);
}

TEST(enum_names_go_both_ways)
{
	uint64_t value;

	CHECK_EQ_TEXT(enum_name_find(&sample_states, 2), "SYN_SENT");
	CHECK(enum_name_find(&sample_states, 99) == NULL);
	CHECK_OK(enum_value_find(&sample_states, "syn-sent", &value));
	CHECK_EQ_UINT(value, 2);
	CHECK_ERR(enum_value_find(&sample_states, "SYN", &value), -ENOENT);
	CHECK_EQ_TEXT(enum_name_find(&errno_names, ECONNREFUSED), "ECONNREFUSED");
	CHECK_OK(enum_value_find(&errno_names, "etimedout", &value));
	CHECK_EQ_UINT(value, ETIMEDOUT);
}

/* Without the kinds that cannot be read from JSON. */
static struct record_type flat_type(struct field *fields)
{
	struct record_type type = sample_type;

	type.field_count = 0;
	for (size_t i = 0; i < ARRAY_SIZE(sample_fields); i++)
		if (sample_fields[i].kind != KIND_STACK && sample_fields[i].kind != KIND_LIST)
			fields[type.field_count++] = sample_fields[i];
	type.fields = fields;
	return type;
}

TEST(json_comes_back_as_the_same_record)
{
	struct field fields[ARRAY_SIZE(sample_fields)];
	struct record_type type = flat_type(fields);
	_cleanup_buf_ struct buf first = BUF_INIT(0), second = BUF_INIT(0);
	struct sample s = sample_make(), back = {};
	struct why why = {};

	json_add_object(&first, &type, &s);
	CHECK_OK(record_read_json_line(&type, first.data, first.len, &back, &why));
	json_add_object(&second, &type, &back);
	CHECK_EQ_TEXT(buf_text(&second), buf_text(&first));
	record_free_strings(&type, &back);
}

TEST(json_reader_refuses_what_does_not_fit)
{
	static const char *const wrong[] = {
		"",
		"[]",
		"17",
		"{\"pid\":}",
		"{\"pid\":-1}",
		"{\"pid\":4294967296}",
		"{\"pid\":1.5}",
		"{\"pid\":\"4711\"}",
		"{\"pid\":true}",
		"{\"comm\":17}",
		"{\"comm\":\"seventeen letters\"}",
		"{\"comm\":\"a\\u0000b\"}",
		"{\"laddr\":\"10.0.0\"}",
		"{\"laddr\":10}",
		"{\"state\":\"OPEN\"}",
		"{\"state\":1}",
		"{\"share\":\"x\"}",
		"{\"is_new\":1}",
		"{\"pid\":[]}",
		"{\"pid\":1,\"pid\":2}",
		"{\"pid\":1} x",
		"{\"rport\":65536}",
		"{\"handle\":17}",
		"{\"flags\":\"SYN|\"}",
		"{\"delta\":2147483648}",
	};
	struct field fields[ARRAY_SIZE(sample_fields)];
	struct record_type type = flat_type(fields);

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct sample s;
		struct why why = {};

		unit_note("%s", wrong[i]);
		CHECK_ERR(record_read_json_line(&type, wrong[i], strlen(wrong[i]), &s, &why), -EINVAL);
		CHECK(why.text[0] != '\0');
	}
}

TEST(json_reader_takes_missing_null_and_later_fields)
{
	struct field fields[ARRAY_SIZE(sample_fields)];
	struct record_type type = flat_type(fields);
	const char *line = "{\"pid\":5,\"comm\":null,\"invented\":{\"a\":[1]}}";
	struct sample s;

	CHECK_OK(record_read_json_line(&type, line, strlen(line), &s, NULL));
	CHECK_EQ_UINT(s.pid, 5);
	CHECK_EQ_INT(get(&s, "comm").class, VALUE_UNKNOWN);
	CHECK_EQ_INT(get(&s, "bytes").class, VALUE_UNKNOWN);
	CHECK_EQ_INT(get(&s, "laddr").class, VALUE_UNKNOWN);
}

TEST(json_reader_takes_integers_of_every_size)
{
	struct wide {
		uint64_t large;
		int64_t below;
	} wide = {};
	static const struct field fields[] = {FIELD(struct wide, large, COUNT, "large"),
					      FIELD(struct wide, below, COUNT, "below zero")};
	static const struct record_type type = {
		.name = "wide", .help = "wide", .fields = fields, .field_count = 2, .size = sizeof(struct wide)};
	static const char line[] = "{\"large\":9007199254740993,\"below\":-9007199254740993}";

	CHECK_OK(record_read_json_line(&type, line, strlen(line), &wide, NULL));
	CHECK_EQ_UINT(wide.large, UINT64_C(9007199254740993));
	CHECK_EQ_INT(wide.below, -INT64_C(9007199254740993));
}

TEST(json_reader_says_what_it_cannot_read)
{
	struct sample s;
	struct why why = {};

	CHECK_ERR(record_read_json_line(&sample_type, "{}", 2, &s, &why), -ENOTSUP);
	CHECK_HAS_TEXT(why.text, "sample");
}
