/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <time.h>

#include "base/parse.h"
#include "unit.h"

/* A parser that fails must not change the result. */
#define UNTOUCHED UINT64_C(0xdeadbeefcafe)

struct u64_case {
	const char *text;
	int result;
	uint64_t value;
};

static void check_u64_cases(int (*parse)(const char *, uint64_t *), const struct u64_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED;

		unit_note("'%s'", cases[i].text);
		CHECK_ERR(parse(cases[i].text, &value), cases[i].result);
		CHECK_EQ_UINT(value, cases[i].result == 0 ? cases[i].value : UNTOUCHED);
	}
}

static int any_u64(const char *text, uint64_t *ret_value)
{
	return parse_u64(text, 0, UINT64_MAX, ret_value);
}

TEST(whole_numbers)
{
	static const struct u64_case cases[] = {
		{"0", 0, 0},
		{"7", 0, 7},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"0x0", 0, 0},
		{"0xff", 0, 255},
		{"0XfF", 0, 255},
		{"0xffffffffffffffff", 0, UINT64_MAX},
		{"0x10000000000000000", -ERANGE, 0},
		{"", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"1\n", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"-0", -EINVAL, 0},
		{"12abc", -EINVAL, 0},
		{"0x", -EINVAL, 0},
		{"0xg", -EINVAL, 0},
		{"x1", -EINVAL, 0},
		{"1.0", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"1,000", -EINVAL, 0},
		{"ff", -EINVAL, 0},
		{"99999999999999999999999999zzz", -EINVAL, 0},
		{"\xd9\xa1", -EINVAL, 0},
	};

	check_u64_cases(any_u64, cases, ARRAY_SIZE(cases));
}

TEST(limits_of_whole_numbers)
{
	uint64_t value = 0;

	CHECK_OK(parse_u64("5", 5, 5, &value));
	CHECK_EQ_UINT(value, 5);
	CHECK_ERR(parse_u64("4", 5, 9, &value), -ERANGE);
	CHECK_ERR(parse_u64("10", 5, 9, &value), -ERANGE);
	CHECK_ERR(parse_u64("5x", 6, 9, &value), -EINVAL);
}

TEST(signed_numbers)
{
	int64_t value = 0;

	CHECK_OK(parse_i64("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
	CHECK_EQ_INT(value, INT64_MIN);
	CHECK_OK(parse_i64("9223372036854775807", INT64_MIN, INT64_MAX, &value));
	CHECK_EQ_INT(value, INT64_MAX);
	CHECK_ERR(parse_i64("9223372036854775808", INT64_MIN, INT64_MAX, &value), -ERANGE);
	CHECK_ERR(parse_i64("-9223372036854775809", INT64_MIN, INT64_MAX, &value), -ERANGE);
	CHECK_OK(parse_i64("-0", INT64_MIN, INT64_MAX, &value));
	CHECK_EQ_INT(value, 0);
	CHECK_OK(parse_i64("-0x10", INT64_MIN, INT64_MAX, &value));
	CHECK_EQ_INT(value, -16);
	CHECK_ERR(parse_i64("-5", -4, 4, &value), -ERANGE);
	CHECK_ERR(parse_i64("--5", INT64_MIN, INT64_MAX, &value), -EINVAL);
	CHECK_ERR(parse_i64("-", INT64_MIN, INT64_MAX, &value), -EINVAL);
	CHECK_ERR(parse_i64("- 5", INT64_MIN, INT64_MAX, &value), -EINVAL);
	CHECK_ERR(parse_i64("+5", INT64_MIN, INT64_MAX, &value), -EINVAL);
	CHECK_ERR(parse_i64("", INT64_MIN, INT64_MAX, &value), -EINVAL);
	CHECK_ERR(parse_i64("5-", INT64_MIN, INT64_MAX, &value), -EINVAL);
}

TEST(double_numbers)
{
	static const struct {
		const char *text;
		int result;
		double value;
	} cases[] = {
		{"0", 0, 0},          {"1.5", 0, 1.5},       {"-2.25", 0, -2.25},    {"1e3", 0, 1000},
		{"1E-3", 0, 0.001},   {"1e+2", 0, 100},      {"", -EINVAL, 0},       {"-", -EINVAL, 0},
		{".5", -EINVAL, 0},   {"-.5", -EINVAL, 0},   {"+1", -EINVAL, 0},     {" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},   {"1e", -EINVAL, 0},    {"1e+", -EINVAL, 0},    {"1.2.3", -EINVAL, 0},
		{"0x10", -EINVAL, 0}, {"inf", -EINVAL, 0},   {"nan", -EINVAL, 0},    {"-inf", -EINVAL, 0},
		{"1,5", -EINVAL, 0},  {"12abc", -EINVAL, 0}, {"1-1", -EINVAL, 0},    {"1e400", -ERANGE, 0},
		{"1e7", -ERANGE, 0},  {"-1e7", -ERANGE, 0},  {"1e-400", -ERANGE, 0}, {"--1", -EINVAL, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double value = 4711;

		unit_note("'%s'", cases[i].text);
		CHECK_ERR(parse_double(cases[i].text, -1e6, 1e6, &value), cases[i].result);
		CHECK_NEAR(value, cases[i].result == 0 ? cases[i].value : 4711, 1e-12);
	}
}

TEST(ratio)
{
	double value = 0;

	CHECK_OK(parse_ratio("0.05", &value));
	CHECK_NEAR(value, 0.05, 1e-15);
	CHECK_OK(parse_ratio("5%", &value));
	CHECK_NEAR(value, 0.05, 1e-15);
	CHECK_OK(parse_ratio("100%", &value));
	CHECK_NEAR(value, 1, 0);
	CHECK_OK(parse_ratio("12.5%", &value));
	CHECK_NEAR(value, 0.125, 1e-15);
	CHECK_ERR(parse_ratio("", &value), -EINVAL);
	CHECK_ERR(parse_ratio("%", &value), -EINVAL);
	CHECK_ERR(parse_ratio("5%%", &value), -EINVAL);
	CHECK_ERR(parse_ratio("5 %", &value), -EINVAL);
	CHECK_ERR(parse_ratio("%5", &value), -EINVAL);
	CHECK_ERR(parse_ratio("five", &value), -EINVAL);
	CHECK_ERR(parse_ratio("0.00000000000000000000000000000000000000001", &value), -EINVAL);
}

TEST(duration)
{
	static const struct u64_case cases[] = {
		{"0", 0, 0},
		{"0ns", 0, 0},
		{"1ns", 0, 1},
		{"10us", 0, 10000},
		{"250ms", 0, 250000000},
		{"1.5s", 0, 1500000000},
		{"1.000000001s", 0, 1000000001},
		{"0.1ms", 0, 100000},
		{"2m", 0, 120000000000},
		{"2min", 0, 120000000000},
		{"1.5h", 0, 5400000000000},
		{"1d", 0, 86400000000000},
		{"0.25d", 0, 21600000000000},
		{"0.33333333333333333333d", 0, 28799999999999},
		{"1.9ns", 0, 1},
		{"18446744073709551615ns", 0, UINT64_MAX},
		{"18446744073709551616ns", -ERANGE, 0},
		{"18446744073709551615us", -ERANGE, 0},
		{"18446744073.709551616s", -ERANGE, 0},
		{"213504d", -ERANGE, 0},
		{"5", -EINVAL, 0},
		{"0.5", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"ms", -EINVAL, 0},
		{".5s", -EINVAL, 0},
		{"1.s", -EINVAL, 0},
		{"-1s", -EINVAL, 0},
		{"+1s", -EINVAL, 0},
		{" 1s", -EINVAL, 0},
		{"1 s", -EINVAL, 0},
		{"1s ", -EINVAL, 0},
		{"1sec", -EINVAL, 0},
		{"1S", -EINVAL, 0},
		{"1MS", -EINVAL, 0},
		{"1s1ms", -EINVAL, 0},
		{"1.5.5s", -EINVAL, 0},
		{"1e3s", -EINVAL, 0},
		{"0x10s", -EINVAL, 0},
	};

	check_u64_cases(parse_duration_ns, cases, ARRAY_SIZE(cases));
}

TEST(seconds)
{
	static const struct u64_case cases[] = {
		{"5", 0, 5000000000},
		{"0.5", 0, 500000000},
		{"0", 0, 0},
		{"250ms", 0, 250000000},
		{"1m", 0, 60000000000},
		{"12abc", -EINVAL, 0},
		{"-5", -EINVAL, 0},
		{"5.", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"18446744073", 0, 18446744073000000000U},
		{"18446744074", -ERANGE, 0},
	};

	check_u64_cases(parse_seconds_ns, cases, ARRAY_SIZE(cases));
}

TEST(size)
{
	static const struct u64_case cases[] = {
		{"0", 0, 0},
		{"4096", 0, 4096},
		{"0x1000", 0, 4096},
		{"1B", 0, 1},
		{"10k", 0, 10000},
		{"10kB", 0, 10000},
		{"10K", 0, 10000},
		{"64KiB", 0, 65536},
		{"1Mi", 0, 1048576},
		{"1.5MB", 0, 1500000},
		{"1.5KiB", 0, 1536},
		{"0.5MiB", 0, 524288},
		{"0.001KiB", 0, 1},
		{"1.25GiB", 0, 1342177280},
		{"1T", 0, 1000000000000},
		{"16TiB", 0, 17592186044416},
		{"16777215TiB", 0, 18446742974197923840U},
		{"16777216TiB", -ERANGE, 0},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"KiB", -EINVAL, 0},
		{"12abc", -EINVAL, 0},
		{"10 k", -EINVAL, 0},
		{"10kb", -EINVAL, 0},
		{"10kiB", -EINVAL, 0},
		{"-1k", -EINVAL, 0},
		{"1.k", -EINVAL, 0},
		{"0x", -EINVAL, 0},
		{"0x10k", -EINVAL, 0},
	};

	check_u64_cases(parse_size_bytes, cases, ARRAY_SIZE(cases));
}

TEST(port)
{
	uint16_t value = 1;

	CHECK_OK(parse_port("0", &value));
	CHECK_EQ_UINT(value, 0);
	CHECK_OK(parse_port("65535", &value));
	CHECK_EQ_UINT(value, 65535);
	CHECK_ERR(parse_port("65536", &value), -ERANGE);
	CHECK_ERR(parse_port("70000", &value), -ERANGE);
	CHECK_ERR(parse_port("4294967376", &value), -ERANGE);
	CHECK_ERR(parse_port("", &value), -EINVAL);
	CHECK_ERR(parse_port("http", &value), -EINVAL);
	CHECK_ERR(parse_port("80 ", &value), -EINVAL);
	CHECK_ERR(parse_port("-80", &value), -EINVAL);
	CHECK_EQ_UINT(value, 65535);
}

TEST(yes_and_no)
{
	static const char *const good[] = {"yes", "true", "on", "1"}, *const bad[] = {"no", "false", "off", "0"};
	static const char *const refused[] = {"", "y", "YES", "2", "01", "yes ", "nope"};
	bool value;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		unit_note("%s, %s", good[i], bad[i]);
		value = false;
		CHECK_OK(parse_bool(good[i], &value));
		CHECK(value);
		CHECK_OK(parse_bool(bad[i], &value));
		CHECK(!value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		unit_note("'%s'", refused[i]);
		CHECK_ERR(parse_bool(refused[i], &value), -EINVAL);
	}
}

TEST(time_of_day)
{
	static const struct u64_case cases[] = {
		{"1970-01-01T00:00:00Z", 0, 0},
		{"2026-11-15T02:13:00Z", 0, 1794708780000000000U},
		{"2026-11-15T02:13:00.5Z", 0, 1794708780500000000U},
		{"2026-11-15T02:13:00.123456789Z", 0, 1794708780123456789U},
		{"2026-11-15T02:13:00.1234567899Z", 0, 1794708780123456789U},
		{"2026-11-15T02:13Z", 0, 1794708780000000000U},
		{"2026-11-15 02:13:00Z", 0, 1794708780000000000U},
		{"2026-11-15T03:13:00+01:00", 0, 1794708780000000000U},
		{"2026-11-14T21:13:00-05:00", 0, 1794708780000000000U},
		{"2024-02-29T00:00:00Z", 0, 1709164800000000000U},
		{"1794708780000000000", 0, 1794708780000000000U},
		{"2025-02-29T00:00:00Z", -EINVAL, 0},
		{"2026-02-31T00:00:00Z", -EINVAL, 0},
		{"2026-13-01T00:00:00Z", -EINVAL, 0},
		{"2026-00-01T00:00:00Z", -EINVAL, 0},
		{"2026-01-00T00:00:00Z", -EINVAL, 0},
		{"2026-01-01T24:00:00Z", -EINVAL, 0},
		{"2026-01-01T00:60:00Z", -EINVAL, 0},
		{"2026-01-01T00:00:60Z", -EINVAL, 0},
		{"2026-01-01T00:00:00z", -EINVAL, 0},
		{"2026-01-01T00:00:00.Z", -EINVAL, 0},
		{"2026-01-01T00:00:00+1:00", -EINVAL, 0},
		{"2026-01-01T00:00:00+01:60", -EINVAL, 0},
		{"2026-01-01T00:00:00+15:00", -EINVAL, 0},
		{"2026-01-01T00:00:00Z ", -EINVAL, 0},
		{"2026-01-01", -EINVAL, 0},
		{"26-01-01T00:00:00Z", -EINVAL, 0},
		{"now", -EINVAL, 0},
		{"", -EINVAL, 0},
		{"1969-12-31T23:59:59Z", -ERANGE, 0},
		{"9999-12-31T23:59:59Z", -ERANGE, 0},
	};

	check_u64_cases(parse_time_ns, cases, ARRAY_SIZE(cases));
}

TEST(time_without_a_zone_is_local)
{
	uint64_t local = 0, utc = 0;

	REQUIRE(setenv("TZ", "XST-5:30", 1) == 0);
	tzset();
	CHECK_OK(parse_time_ns("2026-06-01T12:00:00", &local));
	CHECK_OK(parse_time_ns("2026-06-01T06:30:00Z", &utc));
	CHECK_EQ_UINT(local, utc);
}
