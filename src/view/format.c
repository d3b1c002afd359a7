/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "view/format.h"

/* Three significant digits; two below 0.1, so that small values are not shown as 0. */
static void add_digits(struct buf *out, double value)
{
	double magnitude = fabs(value);
	int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;

	for (; magnitude != 0 && magnitude < 0.0995 && decimals < 9; decimals++)
		magnitude *= 10;
	buf_add_format(out, "%.*f", decimals, value);
}

/* "/s" follows the number directly, "B" after a blank. */
static void add_unit(struct buf *out, const char *prefix, const char *unit)
{
	if (unit[0] && unit[0] != '/')
		buf_add_char(out, ' ');
	buf_add_text(out, prefix);
	buf_add_text(out, unit);
}

/* In full below 10,000, then with three digits and a prefix. */
static void add_scaled(struct buf *out, double value, const char *unit)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	double magnitude = fabs(value);
	unsigned prefix = 0;

	if (magnitude >= 9999.5)
		/* 999.5 of this prefix would round up to 1000. */
		for (; (prefix == 0 || magnitude >= 999.5) && prefix + 1 < ARRAY_SIZE(prefixes); magnitude /= 1000)
			prefix++;
	if (prefix == 0 && value == floor(value)) {
		char text[24];

		buf_add(out, text, (size_t)(format_put_int(text, (int64_t)value) - text));
	} else {
		add_digits(out, value < 0 ? -magnitude : magnitude);
	}
	add_unit(out, prefixes[prefix], unit);
}

void format_add_duration(struct buf *out, int64_t ns)
{
	static const struct {
		double least; /* values from here on use this unit */
		double factor;
		const char *unit;
	} scales[] = {
		{0, 1, "ns"},
		{1e3, 1e3, "us"},
		{1e6, 1e6, "ms"},
		{1e9, 1e9, "s"},
		{600e9, 60e9, "min"},
		{36000e9, 3600e9, "h"},
		{10 * 86400e9, 86400e9, "d"},
	};
	unsigned scale = 0;

	/* From 0.9995 of the next unit, rounding would give 1000 of this one. */
	for (unsigned i = 1; i < ARRAY_SIZE(scales); i++)
		if (fabs((double)ns) >= scales[i].least * 0.9995)
			scale = i;
	if (scale == 0)
		buf_add_format(out, "%" PRId64, ns);
	else
		add_digits(out, (double)ns / scales[scale].factor);
	add_unit(out, "", scales[scale].unit);
}

void format_add_bytes(struct buf *out, int64_t bytes)
{
	/* Most of a table is zeros. */
	if (bytes == 0)
		buf_add(out, "0 B", 3);
	else
		add_scaled(out, (double)bytes, "B");
}

void format_add_count(struct buf *out, int64_t count)
{
	add_scaled(out, (double)count, "");
}

void format_add_rate(struct buf *out, double bytes_per_second)
{
	add_scaled(out, bytes_per_second, "B/s");
}

void format_add_number(struct buf *out, double value)
{
	add_scaled(out, value, "");
}

void format_add_share(struct buf *out, double share)
{
	double percent = fabs(share) * 100;

	if (percent > 0 && percent < 0.005)
		buf_add_text(out, share < 0 ? "-0.01 %" : "<0.01 %");
	else
		buf_add_format(out, "%.*f %%",
			       percent == 0 || percent >= 9.95 ? 0
			       : percent >= 0.095              ? 1
							       : 2,
			       share * 100);
}

/* Length of the word after a blank; 0: there is none. */
static size_t next_word(const char *sentence)
{
	return sentence[0] == ' ' ? strspn(sentence + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-") : 0;
}

static bool is_word(const char *word, size_t size, const char *other)
{
	return strlen(other) == size && memcmp(word, other, size) == 0;
}

/* queries, processes, packets; with the blank in front. */
static void add_singular(struct buf *out, const char *noun, size_t size)
{
	bool y = size > 3 && memcmp(noun + 1 + size - 3, "ies", 3) == 0;
	bool es = size > 4 && memcmp(noun + 1 + size - 4, "sses", 4) == 0;

	buf_add(out, noun, 1 + size - (y ? 3 : es ? 2 : 1));
	buf_add_text(out, y ? "y" : "");
}

/* Before the noun stand at most this many adjectives: "received UDP packets". */
#define ADJECTIVES_MAX 2

const char *format_add_singular(struct buf *out, const char *sentence)
{
	static const char *const verbs[][2] = {{"were", "was"}, {"are", "is"}, {"have", "has"}, {"do", "does"}};
	/* After the number itself: there is no noun. */
	static const char *const others[] = {"of", "in", "to", "from", "for", "at", "was", "is", "has", "as"};
	const char *noun = sentence;
	size_t size = next_word(noun);

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (is_word(sentence + 1, size, others[i]))
			return sentence;
	for (unsigned before = 0; size > 0 && noun[size] != 's'; before++) {
		if (before == ADJECTIVES_MAX)
			return sentence;
		noun += 1 + size;
		size = next_word(noun);
	}
	if (size < 3)
		return sentence;
	buf_add(out, sentence, (size_t)(noun - sentence));
	add_singular(out, noun, size);
	sentence = noun + 1 + size;
	size = next_word(sentence);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (is_word(sentence + 1, size, verbs[i][0])) {
			buf_add_format(out, " %s", verbs[i][1]);
			return sentence + 1 + size;
		}
	return sentence;
}

void format_add_plural(struct buf *out, uint64_t count, const char *noun)
{
	buf_add_format(out, "%" PRIu64 " %s%s", count, noun, text_plural(count));
}

void format_add_clock(struct buf *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm tm = {};

	(void)localtime_r(&seconds, &tm);
	buf_add_format(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
}

void format_add_time(struct buf *out, uint64_t ns)
{
	format_add_clock(out, ns);
	buf_add_format(out, ".%06" PRIu64, ns % NSEC_PER_SEC / 1000);
}

static bool ends_with(const char *name, size_t n, const char *end)
{
	return n > strlen(end) && strcmp(name + n - strlen(end), end) == 0;
}

void format_add_heading(struct buf *out, const struct field *field)
{
	const char *name = field->heading ?: field->name;
	_cleanup_buf_ struct buf shown = BUF_INIT(4096);
	size_t n = strlen(name);

	if (!field->heading && ends_with(name, n, "_ns"))
		n -= strlen("_ns");
	else if (!field->heading && ends_with(name, n, "_bytes"))
		n -= strlen("_bytes");
	/* The name may be a column of somebody's file. */
	text_add_terminal(&shown, name, n);
	for (size_t i = 0; i < shown.len; i++)
		buf_add_char(out, (char)toupper((unsigned char)shown.data[i]));
}

const char *format_kind_name(const struct field *field)
{
	static const char *const names[] = {
		[KIND_COUNT] = "count",    [KIND_ID] = "number",    [KIND_HEX] = "number",
		[KIND_BOOL] = "yes or no", [KIND_BYTES] = "size",   [KIND_DURATION] = "duration",
		[KIND_TIME] = "time",      [KIND_RATIO] = "number", [KIND_ENUM] = "name",
		[KIND_FLAGS] = "flags",    [KIND_ADDR] = "address", [KIND_ENDPOINT] = "endpoint",
		[KIND_TEXT] = "text",      [KIND_STACK] = "stack",  [KIND_LIST] = "list",
	};

	if (field->unit && strcmp(field->unit, "%") == 0)
		return "share";
	return field->unit ? field->unit : names[field->kind];
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

/* A number of things, defined by kind and unit. */
static void add_amount(struct buf *out, const struct field *field, double value)
{
	const char *unit = field->unit ?: "";

	if (field->kind == KIND_DURATION)
		format_add_duration(out, (int64_t)value);
	else if (field->as_bits)
		add_scaled(out, value * 8, "bit/s");
	else if (strcmp(unit, "%") == 0)
		format_add_share(out, field->kind == KIND_RATIO ? value : value / 100);
	else if (field->kind == KIND_BYTES)
		add_scaled(out, value, *unit ? "B/s" : "B");
	else
		add_scaled(out, value, unit);
}

/* As an administrator types it: MTU 1500, a time to the microsecond, the handle 8001: */
static void add_exact(struct buf *out, const struct field *field, uint64_t value)
{
	if (field->kind == KIND_DURATION)
		buf_add_format(out, "%.6f s", (double)value / NSEC_PER_SEC);
	else if (field->kind != KIND_HEX)
		buf_add_format(out, "%" PRIu64, value);
	else if (value & 0xffff)
		buf_add_format(out, "%" PRIx64 ":%" PRIx64, value >> 16, value & 0xffff);
	else
		buf_add_format(out, "%" PRIx64 ":", value >> 16);
}

static void add_name(struct buf *out, const struct field *field, uint64_t value)
{
	const char *name = field->names ? enum_name_find(field->names, value) : NULL;
	char text[24];

	if (name)
		text_add_terminal(out, name, strlen(name));
	else
		buf_add(out, text, (size_t)(format_put_uint(text, value) - text));
}

static void add_unsigned(struct buf *out, const struct field *field, uint64_t value)
{
	if (field->exact) {
		add_exact(out, field, value);
		return;
	}
	switch (field->kind) {
	case KIND_HEX:
		buf_add_format(out, "0x%" PRIx64, value);
		return;
	case KIND_BOOL:
		buf_add_text(out, value ? "yes" : "no");
		return;
	case KIND_DURATION:
		format_add_duration(out, value > INT64_MAX ? INT64_MAX : (int64_t)value);
		return;
	case KIND_TIME:
		format_add_time(out, value);
		return;
	case KIND_FLAGS:
		format_add_flags(out, field, value);
		return;
	case KIND_BYTES:
	case KIND_COUNT:
		add_amount(out, field, (double)value);
		return;
	default:
		add_name(out, field, value);
	}
}

static void add_signed(struct buf *out, const struct field *field, int64_t value)
{
	if (field->exact && value >= 0)
		add_exact(out, field, (uint64_t)value);
	else if (field->kind == KIND_DURATION)
		format_add_duration(out, value);
	else if (field->kind == KIND_BYTES || field->kind == KIND_COUNT)
		add_amount(out, field, (double)value);
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
	char text[ADDR_TEXT_MAX];

	switch (value->class) {
	case VALUE_UNKNOWN:
		buf_add_text(out, field->unknown ?: "-");
		return;
	case VALUE_UINT:
		add_unsigned(out, field, value->uint);
		break;
	case VALUE_INT:
		add_signed(out, field, value->sint);
		break;
	case VALUE_REAL:
		add_amount(out, field, value->real);
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
		format_add_plural(out, value->list->count, "item");
		break;
	}
}

void format_add_span(struct buf *out, uint64_t seconds)
{
	static const struct {
		const char *name;
		uint64_t seconds;
	} units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units) && seconds < 2 * units[i].seconds)
		i++;
	buf_add_format(out, "%" PRIu64 " %s", seconds / units[i].seconds, units[i].name);
}
