/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>

#include "base/parse.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit duration_units[] = {
	{"ns", 1},          {"us", 1000},         {"ms", 1000000},      {"s", 1000000000},
	{"m", 60000000000}, {"min", 60000000000}, {"h", 3600000000000}, {"d", 86400000000000},
	{NULL, 0},
};

static const struct unit size_units[] = {
	{"", 1},
	{"B", 1},
	{"k", 1000},
	{"kB", 1000},
	{"KB", 1000},
	{"K", 1000},
	{"M", 1000000},
	{"MB", 1000000},
	{"G", 1000000000},
	{"GB", 1000000000},
	{"T", 1000000000000},
	{"TB", 1000000000000},
	{"Ki", 1024},
	{"KiB", 1024},
	{"Mi", 1048576},
	{"MiB", 1048576},
	{"Gi", 1073741824},
	{"GiB", 1073741824},
	{"Ti", 1099511627776},
	{"TiB", 1099511627776},
	{NULL, 0},
};

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return INT_MAX;
}

/* Leading digits; *ret_end points at the first character after them. */
static int scan_digits(const char *text, int base, const char **ret_end, uint64_t *ret_value)
{
	uint64_t value = 0;
	const char *p = text;

	for (; digit_value(*p) < base; p++)
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit_value(*p), &value))
			return -ERANGE;
	if (p == text)
		return -EINVAL;
	*ret_end = p;
	*ret_value = value;
	return 0;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *end;
	uint64_t value;
	int r;

	r = scan_digits(hex ? text + 2 : text, hex ? 16 : 10, &end, &value);
	if (r == -ERANGE && strspn(text, "0123456789abcdefABCDEFxX") != strlen(text))
		return -EINVAL;
	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_decimal(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value)
{
	return text[0] == '0' && text[1] ? -EINVAL : parse_u64(text, min, max, ret_value);
}

int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value)
{
	bool negative = text[0] == '-';
	uint64_t magnitude;
	int64_t value;
	int r;

	r = parse_u64(negative ? text + 1 : text, 0, (uint64_t)INT64_MAX + negative, &magnitude);
	if (r < 0)
		return r;
	value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	if (value < min || value > max)
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_double(const char *text, double min, double max, double *ret_value)
{
	char *end;
	double value;

	/* strtod would also accept blanks, hexadecimal, "inf" and "nan". */
	if (!isdigit((unsigned char)text[text[0] == '-']) || strspn(text, "0123456789.eE+-") != strlen(text))
		return -EINVAL;
	errno = 0;
	value = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || !(value >= min && value <= max))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_ratio(const char *text, double *ret_value)
{
	size_t n = strlen(text);
	char number[32];
	bool percent;
	double value;
	int r;

	if (n == 0 || n >= sizeof(number))
		return -EINVAL;
	percent = text[n - 1] == '%';
	memcpy(number, text, n + 1);
	number[n - percent] = '\0';
	r = parse_double(number, -1e18, 1e18, &value);
	if (r < 0)
		return r;
	*ret_value = percent ? value / 100 : value;
	return 0;
}

/* A decimal number with an optional fraction and one of the units; exact for whole numbers, rounded down otherwise. */
static int parse_scaled(const char *text, const struct unit *units, uint64_t bare_factor, uint64_t *ret_value)
{
	const char *end;
	const char *fraction = NULL;
	uint64_t whole, value, factor = bare_factor, part = 0, place = 1;
	size_t digits = 0;
	int r;

	r = scan_digits(text, 10, &end, &whole);
	if (r < 0)
		return r;
	if (*end == '.') {
		fraction = end + 1;
		digits = strspn(fraction, "0123456789");
		if (digits == 0)
			return -EINVAL;
		end = fraction + digits;
	}
	if (*end) {
		const struct unit *u = units;

		while (u->name && strcmp(u->name, end) != 0)
			u++;
		if (!u->name)
			return -EINVAL;
		factor = u->factor;
	}
	if (factor == 0 && (whole != 0 || fraction))
		return -EINVAL;
	if (__builtin_mul_overflow(whole, factor, &value))
		return -ERANGE;
	/* Digits beyond the 18th are below a millionth of a byte or nanosecond. */
	for (size_t i = 0; i < digits && i < 18; i++) {
		part = part * 10 + (uint64_t)(fraction[i] - '0');
		place *= 10;
	}
	part = (uint64_t)((unsigned __int128)part * factor / place);
	if (__builtin_add_overflow(value, part, &value))
		return -ERANGE;
	*ret_value = value;
	return 0;
}

int parse_duration_ns(const char *text, uint64_t *ret_ns)
{
	return parse_scaled(text, duration_units, 0, ret_ns);
}

int parse_seconds_ns(const char *text, uint64_t *ret_ns)
{
	return parse_scaled(text, duration_units, 1000000000, ret_ns);
}

int parse_size_bytes(const char *text, uint64_t *ret_bytes)
{
	uint64_t hex;

	if (text[0] == '0' && text[1] == 'x' && parse_u64(text, 0, UINT64_MAX, &hex) == 0) {
		*ret_bytes = hex;
		return 0;
	}
	return parse_scaled(text, size_units, 1, ret_bytes);
}

int parse_port(const char *text, uint16_t *ret_port)
{
	uint64_t value;
	int r;

	r = parse_decimal(text, 0, UINT16_MAX, &value);
	if (r < 0)
		return r;
	*ret_port = (uint16_t)value;
	return 0;
}

int parse_bool(const char *text, bool *ret_value)
{
	static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*ret_value = i & 1;
			return 0;
		}
	return -EINVAL;
}

/* Exactly n digits, then the character `after` (0: no more digits). */
static bool take_digits(const char **p, int n, char after, int *ret_value)
{
	int value = 0;

	for (int i = 0; i < n; i++, (*p)++) {
		if (!isdigit((unsigned char)**p))
			return false;
		value = value * 10 + (**p - '0');
	}
	*ret_value = value;
	if (!after)
		return true;
	return *(*p)++ == after;
}

/* Z, +hh:mm, -hh:mm or nothing (local time). */
static int parse_zone(const char *p, bool *ret_local, int *ret_offset_s)
{
	int hours, minutes, sign;

	*ret_local = *p == '\0';
	*ret_offset_s = 0;
	if (*p == '\0' || strcmp(p, "Z") == 0)
		return 0;
	sign = *p == '-' ? -1 : 1;
	if (*p != '+' && *p != '-')
		return -EINVAL;
	p++;
	if (!take_digits(&p, 2, ':', &hours) || !take_digits(&p, 2, 0, &minutes) || *p || hours > 14 || minutes > 59)
		return -EINVAL;
	*ret_offset_s = sign * (hours * 3600 + minutes * 60);
	return 0;
}

int parse_time_ns(const char *text, uint64_t *ret_ns)
{
	struct tm tm = {.tm_isdst = -1}, check;
	uint64_t fraction_ns = 0;
	const char *p = text;
	int offset_s;
	time_t seconds;
	bool local;

	if (parse_u64(text, 0, UINT64_MAX, ret_ns) == 0)
		return 0;
	if (!take_digits(&p, 4, '-', &tm.tm_year) || !take_digits(&p, 2, '-', &tm.tm_mon) ||
	    !take_digits(&p, 2, 0, &tm.tm_mday) || (*p != 'T' && *p != ' '))
		return -EINVAL;
	p++;
	if (!take_digits(&p, 2, ':', &tm.tm_hour) || !take_digits(&p, 2, 0, &tm.tm_min))
		return -EINVAL;
	if (*p == ':') {
		p++;
		if (!take_digits(&p, 2, 0, &tm.tm_sec))
			return -EINVAL;
		if (*p == '.') {
			uint64_t place = 100000000;

			if (!isdigit((unsigned char)*++p))
				return -EINVAL;
			for (; isdigit((unsigned char)*p); p++, place /= 10)
				fraction_ns += place * (uint64_t)(*p - '0');
		}
	}
	if (parse_zone(p, &local, &offset_s) < 0)
		return -EINVAL;
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	check = tm;
	seconds = local ? mktime(&check) : timegm(&check);
	/* Both normalise 31 February instead of refusing it. */
	if (check.tm_mday != tm.tm_mday || check.tm_mon != tm.tm_mon || check.tm_min != tm.tm_min || tm.tm_sec > 59)
		return -EINVAL;
	seconds -= offset_s;
	if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / 1000000000 - 1)
		return -ERANGE;
	*ret_ns = (uint64_t)seconds * 1000000000 + fraction_ns;
	return 0;
}
