/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "view/format.h"

struct scale {
	double least; /* values from here on use this unit */
	double factor;
	const char *unit;
};

static void add_scaled(struct buf *out, double value, const struct scale *scales, size_t count)
{
	const struct scale *scale = scales;
	double magnitude = fabs(value);
	double shown;

	/* From 0.9995 of the next unit, rounding would give 1000 of this one. */
	for (size_t i = 1; i < count; i++)
		if (magnitude >= scales[i].least * 0.9995)
			scale = &scales[i];
	shown = value / scale->factor;
	if (scale->factor == 1) {
		/* A whole number, as all of them were; and most of a table is this. */
		char text[24];

		buf_add(out, text, (size_t)(format_put_int(text, (int64_t)shown) - text));
		buf_add_text(out, scale->unit);
	} else {
		buf_add_format(out, "%.*f%s",
			       fabs(shown) < 9.995   ? 2
			       : fabs(shown) < 99.95 ? 1
						     : 0,
			       shown, scale->unit);
	}
}

void format_add_duration(struct buf *out, int64_t ns)
{
	static const struct scale scales[] = {
		{0, 1, "ns"},
		{1e3, 1e3, "us"},
		{1e6, 1e6, "ms"},
		{1e9, 1e9, "s"},
		{600e9, 60e9, "m"},
		{36000e9, 3600e9, "h"},
		{10 * 86400e9, 86400e9, "d"},
	};

	add_scaled(out, (double)ns, scales, ARRAY_SIZE(scales));
}

void format_add_bytes(struct buf *out, int64_t bytes)
{
	static const struct scale scales[] = {
		{0, 1, "B"},      {1e4, 1e3, "kB"},   {1e6, 1e6, "MB"},
		{1e9, 1e9, "GB"}, {1e12, 1e12, "TB"}, {1e15, 1e15, "PB"},
	};

	/* Up to here every byte counts: an MTU is 1500, not 1.50k. Most of a table is zeros. */
	if (bytes == 0)
		buf_add(out, "0B", 2);
	else
		add_scaled(out, (double)bytes, scales, ARRAY_SIZE(scales));
}

void format_add_count(struct buf *out, int64_t count)
{
	static const struct scale scales[] = {
		{0, 1, ""}, {1e5, 1e3, "k"}, {1e6, 1e6, "M"}, {1e9, 1e9, "G"}, {1e12, 1e12, "T"}, {1e15, 1e15, "P"},
	};

	/* Up to here every unit counts. */
	if (count > -100000 && count < 100000)
		buf_add_format(out, "%" PRId64, count);
	else
		add_scaled(out, (double)count, scales, ARRAY_SIZE(scales));
}

void format_add_time(struct buf *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	char text[32];
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || strftime(text, sizeof(text), "%H:%M:%S", &tm) == 0) {
		buf_add_format(out, "%" PRIu64, ns);
		return;
	}
	buf_add_format(out, "%s.%06" PRIu64, text, ns % NSEC_PER_SEC / 1000);
}

static const char digit_pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
				  "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
				  "8081828384858687888990919293949596979899";

char *format_put_uint(char *at, uint64_t value)
{
	char digits[20];
	char *p = digits + sizeof(digits);

	for (; value >= 100; value /= 100) {
		p -= 2;
		memcpy(p, digit_pairs + value % 100 * 2, 2);
	}
	if (value >= 10) {
		p -= 2;
		memcpy(p, digit_pairs + value * 2, 2);
	} else {
		*--p = (char)('0' + value);
	}
	memcpy(at, p, (size_t)(digits + sizeof(digits) - p));
	return at + (digits + sizeof(digits) - p);
}

char *format_put_int(char *at, int64_t value)
{
	if (value >= 0)
		return format_put_uint(at, (uint64_t)value);
	*at = '-';
	return format_put_uint(at + 1, 0 - (uint64_t)value);
}

/*
 * Most shares and rates are short decimals: k / 10^d with a small d. That quotient is correctly rounded, so if it
 * equals the value, "k / 10^d" written as a decimal reads back as the value, and no shorter one does.
 */
static char *put_short_decimal(char *at, double value)
{
	static const double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
	double magnitude = fabs(value);

	if (magnitude >= 1e9)
		return NULL;
	for (unsigned d = 0; d < ARRAY_SIZE(powers); d++) {
		uint64_t k = (uint64_t)(magnitude * powers[d] + 0.5);
		uint64_t whole = k / (uint64_t)powers[d], rest = k % (uint64_t)powers[d];

		if ((double)k / powers[d] != magnitude)
			continue;
		if (value < 0)
			*at++ = '-';
		at = format_put_uint(at, whole);
		if (d == 0)
			return at;
		*at++ = '.';
		for (unsigned i = d; i > 0; i--, rest /= 10)
			at[i - 1] = (char)('0' + rest % 10);
		return at + d;
	}
	return NULL;
}

char *format_put_real(char *at, double value)
{
	char *end = put_short_decimal(at, value); /* of minus zero too, which surprises readers otherwise */
	int n = 0;

	if (end)
		return end;
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(at, 32, "%.*g", digits, value);
		if (strtod(at, NULL) == value)
			break;
	}
	return at + n;
}

void format_add_flags(struct buf *out, const struct field *field, uint64_t bits)
{
	const struct enum_names *names = enum_names_get(field->names);
	size_t start = out->len;

	for (size_t i = 0; bits && i < names->count; i++) {
		uint64_t value = names->items[i].value;

		if (value == 0 || (bits & value) != value)
			continue;
		if (out->len > start)
			buf_add_char(out, '|');
		buf_add_text(out, names->items[i].name);
		bits &= ~value;
	}
	if (bits || out->len == start)
		buf_add_format(out, out->len > start ? "|0x%" PRIx64 : bits ? "0x%" PRIx64 : "%" PRIu64, bits);
}

static void add_unsigned(struct buf *out, const struct field *field, uint64_t value)
{
	const char *name;
	char text[24];

	switch (field->kind) {
	case KIND_HEX:
		buf_add_format(out, "0x%" PRIx64, value);
		return;
	case KIND_BOOL:
		buf_add_text(out, value ? "yes" : "no");
		return;
	case KIND_BYTES:
		format_add_bytes(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
		return;
	case KIND_DURATION:
		format_add_duration(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
		return;
	case KIND_TIME:
		format_add_time(out, value);
		return;
	case KIND_ENUM:
		name = enum_name_find(field->names, value);
		if (name)
			text_add_terminal(out, name, strlen(name));
		else
			buf_add_format(out, "%" PRIu64, value);
		return;
	case KIND_FLAGS:
		format_add_flags(out, field, value);
		return;
	case KIND_COUNT:
		format_add_count(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
		return;
	default:
		buf_add(out, text, (size_t)(format_put_uint(text, value) - text));
	}
}

static void add_signed(struct buf *out, const struct field *field, int64_t value)
{
	if (field->kind == KIND_BYTES)
		format_add_bytes(out, value);
	else if (field->kind == KIND_DURATION)
		format_add_duration(out, value);
	else if (field->kind == KIND_COUNT)
		format_add_count(out, value);
	else
		buf_add_format(out, "%" PRId64, value);
}

static void add_stack(struct buf *out, const struct stack *stack)
{
	for (uint32_t i = 0; i < stack->count; i++) {
		if (i)
			buf_add_char(out, ';');
		text_add_terminal(out, stack->frames[i], strlen(stack->frames[i]));
	}
}

void format_add_value(struct buf *out, const struct field *field, const struct value *value)
{
	bool percent = field->unit && strcmp(field->unit, "%") == 0;
	char text[ADDR_TEXT_MAX];

	switch (value->class) {
	case VALUE_UNKNOWN:
		buf_add_char(out, '-');
		return; /* a unit after nothing would be odd */
	case VALUE_UINT:
		add_unsigned(out, field, value->uint);
		break;
	case VALUE_INT:
		add_signed(out, field, value->sint);
		break;
	case VALUE_REAL:
		/* A share of one reads best in hundredths. */
		buf_add_format(out, "%.3g", percent ? value->real * 100 : value->real);
		break;
	case VALUE_TEXT:
		text_add_terminal(out, value->text, value->len);
		break;
	case VALUE_ADDR:
		buf_add(out, text, addr_format(value->addr, text));
		break;
	case VALUE_ENDPOINT:
		addr_format_endpoint(value->endpoint, out);
		break;
	case VALUE_STACK:
		add_stack(out, value->stack);
		break;
	case VALUE_LIST:
		buf_add_format(out, "%" PRIu32 " items", value->list->count);
		break;
	}
	if (field->unit)
		buf_add_text(out, field->unit);
}
