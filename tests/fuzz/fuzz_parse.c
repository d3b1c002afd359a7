/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers, durations, sizes, times: what is taken means the same when it is written out and read again. */
#include <math.h>
#include <time.h>

#include "base/parse.h"
#include "fuzz.h"

static void check_result(int r)
{
	fuzz_require(r == 0 || r == -EINVAL || r == -ERANGE);
}

static void check_whole(const char *text)
{
	uint64_t value, again, limited;
	int64_t sint;
	uint16_t port;
	char shown[32];
	int r = parse_u64(text, 0, UINT64_MAX, &value);

	check_result(r);
	if (r < 0) {
		fuzz_require(parse_port(text, &port) < 0);
		return;
	}
	snprintf(shown, sizeof(shown), "%" PRIu64, value);
	fuzz_require(parse_u64(shown, 0, UINT64_MAX, &again) == 0 && again == value);
	snprintf(shown, sizeof(shown), "0x%" PRIx64, value);
	fuzz_require(parse_u64(shown, value, value, &again) == 0 && again == value);
	fuzz_require((parse_u64(text, 10, 20, &limited) == 0) == (value >= 10 && value <= 20));
	/* Ports are decimal, and without zeros in front. */
	snprintf(shown, sizeof(shown), "%" PRIu64, value);
	fuzz_require((parse_port(text, &port) == 0) == (value <= UINT16_MAX && strcmp(text, shown) == 0));
	fuzz_require((parse_i64(text, INT64_MIN, INT64_MAX, &sint) == 0) == (value <= INT64_MAX));
}

static void check_signed(const char *text)
{
	int64_t value, again;
	char shown[32];

	if (parse_i64(text, INT64_MIN, INT64_MAX, &value) < 0)
		return;
	snprintf(shown, sizeof(shown), "%" PRId64, value);
	fuzz_require(parse_i64(shown, INT64_MIN, INT64_MAX, &again) == 0 && again == value);
}

static void check_real(const char *text)
{
	double value, again, ratio;
	char shown[40];
	int r = parse_double(text, -1e300, 1e300, &value);

	check_result(r);
	if (r == 0) {
		fuzz_require(isfinite(value));
		snprintf(shown, sizeof(shown), "%.17g", value);
		fuzz_require(parse_double(shown, -1e300, 1e300, &again) == 0 && again == value);
	}
	r = parse_ratio(text, &ratio);
	check_result(r);
	fuzz_require(r < 0 || isfinite(ratio));
}

static void check_duration(const char *text)
{
	uint64_t ns, seconds, again;
	char shown[32];
	int r = parse_duration_ns(text, &ns);
	int rs = parse_seconds_ns(text, &seconds);

	check_result(r);
	check_result(rs);
	if (r < 0)
		return;
	/* Seconds take all that durations take, and mean the same. */
	fuzz_require(rs == 0 && seconds == ns);
	snprintf(shown, sizeof(shown), "%" PRIu64 "ns", ns);
	fuzz_require(parse_duration_ns(shown, &again) == 0 && again == ns);
	snprintf(shown, sizeof(shown), "%" PRIu64 ".%09" PRIu64 "s", ns / 1000000000, ns % 1000000000);
	fuzz_require(parse_duration_ns(shown, &again) == 0 && again == ns);
}

static void check_size(const char *text)
{
	uint64_t bytes, again;
	char shown[32];
	int r = parse_size_bytes(text, &bytes);

	check_result(r);
	if (r < 0)
		return;
	snprintf(shown, sizeof(shown), "%" PRIu64, bytes);
	fuzz_require(parse_size_bytes(shown, &again) == 0 && again == bytes);
	snprintf(shown, sizeof(shown), "%" PRIu64 "B", bytes);
	fuzz_require(parse_size_bytes(shown, &again) == 0 && again == bytes);
	if (bytes < UINT64_C(1) << 40) {
		/* Thousandths are exact in ten binary places' worth of decimals. */
		snprintf(shown, sizeof(shown), "%" PRIu64 ".%010" PRIu64 "KiB", bytes / 1024, bytes % 1024 * 9765625);
		fuzz_require(parse_size_bytes(shown, &again) == 0 && again == bytes);
	}
}

static void check_time(const char *text)
{
	uint64_t ns, again;
	char day[40], shown[64];
	struct tm tm;
	time_t seconds;
	int r = parse_time_ns(text, &ns);

	check_result(r);
	if (r < 0)
		return;
	seconds = (time_t)(ns / 1000000000);
	fuzz_require(gmtime_r(&seconds, &tm));
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(shown, sizeof(shown), "%s.%09" PRIu64 "Z", day, ns % 1000000000);
	r = parse_time_ns(shown, &again);
	/* The last second that fits is not taken in this form. */
	fuzz_require((r == 0 && again == ns) || (r == -ERANGE && ns / 1000000000 >= UINT64_MAX / 1000000000 - 1));
}

/* No parser takes text with anything around it. */
static void check_strict(const char *text)
{
	size_t n = strlen(text);
	uint64_t value;
	double real;
	bool flag;

	if (n > 0 && text[0] != ' ' && text[n - 1] != ' ' && text[n - 1] != '\n')
		return;
	fuzz_require(parse_u64(text, 0, UINT64_MAX, &value) < 0);
	fuzz_require(parse_double(text, -1e300, 1e300, &real) < 0);
	fuzz_require(parse_ratio(text, &real) < 0);
	fuzz_require(parse_duration_ns(text, &value) < 0);
	fuzz_require(parse_seconds_ns(text, &value) < 0);
	fuzz_require(parse_size_bytes(text, &value) < 0);
	fuzz_require(parse_time_ns(text, &value) < 0);
	fuzz_require(parse_bool(text, &flag) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = fuzz_text(data, size);

	check_whole(text);
	check_signed(text);
	check_real(text);
	check_duration(text);
	check_size(text);
	check_time(text);
	check_strict(text);
	return 0;
}
