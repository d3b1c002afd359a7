/* SPDX-License-Identifier: GPL-2.0-or-later */
/* -f FILE --from TIME --to TIME. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "store/input.h"
#include "store/rows.h"

const struct option_spec input_option_table[] = {
	OPTION(struct input_options, file, TEXT, "file", 'f', "FILE", "read this recording instead of the live host",
	       .second = offsetof(struct input_options, other), .file = FILE_INPUT),
	OPTION(struct input_options, from, TEXT, "from", 0, "TIME",
	       "start at this time of the recording (02:13, 2026-11-15T02:13:00, +10s after its start)"),
	OPTION(struct input_options, to, TEXT, "to", 0, "TIME",
	       "end at this time of the recording (-1m: before its end)"),
	OPTION_END,
};

/* The last sample, or the start if there is none. */
static int find_end(struct recording *recording, uint64_t *ret_ns, struct why *why)
{
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&recorded_sample_type);
	struct sample_record sample;
	int r = rows_open(recording, &(struct rows_request){.name = recorded_sample_type.name, .shape = &shape}, &rows,
			  why);

	*ret_ns = recording_begin_ns(recording);
	while (r == 0 && (r = rows_next(rows, (void *[]){&sample}, why)) > 0) {
		if (sample.begin_time_ns != UINT64_MAX)
			*ret_ns = max_of(*ret_ns, sample.begin_time_ns);
		r = 0;
	}
	return r;
}

/* 02:13, 02:13:30, 02:13:30.5: on the day the recording started, or the next day when before the start. */
static int parse_clock(struct recording *recording, const char *text, uint64_t *ret_ns)
{
	uint64_t begin = recording_begin_ns(recording), hours, minutes, fraction_ns = 0;
	time_t seconds = (time_t)(begin / NSEC_PER_SEC);
	size_t n = strcspn(text, ":");
	char head[3] = "", middle[3] = "";
	struct tm local;

	if (n < 1 || n > 2 || text[n] != ':' || strlen(text + n) < 3 || !localtime_r(&seconds, &local))
		return -EINVAL;
	memcpy(head, text, n);
	memcpy(middle, text + n + 1, 2);
	text += n + 3;
	if (parse_u64(head, 0, 23, &hours) < 0 || parse_u64(middle, 0, 59, &minutes) < 0)
		return -EINVAL;
	/* Seconds with a fraction parse as a duration without a unit. */
	if (*text && (*text != ':' || parse_seconds_ns(text + 1, &fraction_ns) < 0 || fraction_ns > 60 * NSEC_PER_SEC))
		return -EINVAL;
	local.tm_hour = (int)hours;
	local.tm_min = (int)minutes;
	local.tm_sec = 0;
	local.tm_isdst = -1;
	seconds = mktime(&local);
	if (seconds < 0)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * NSEC_PER_SEC + fraction_ns;
	/* One minute of tolerance: people round down. */
	if (*ret_ns + 60 * NSEC_PER_SEC < begin)
		*ret_ns += 24 * 3600 * NSEC_PER_SEC;
	return 0;
}

int input_parse_time(struct recording *recording, const char *text, uint64_t *ret_ns, struct why *why)
{
	uint64_t offset, end;
	int r;

	if (*text == '+' && parse_seconds_ns(text + 1, &offset) == 0) {
		*ret_ns = recording_begin_ns(recording) + offset;
		return 0;
	}
	if (*text == '-' && parse_seconds_ns(text + 1, &offset) == 0) {
		r = find_end(recording, &end, why);
		*ret_ns = end > offset ? end - offset : 0;
		return r;
	}
	if (parse_clock(recording, text, ret_ns) == 0 || parse_time_ns(text, ret_ns) == 0)
		return 0;
	return why_set(why, -EINVAL, "invalid time '%.60s': expected 02:13:30, 2026-11-15T02:13:30, +10s or -1m", text);
}

static int parse_option(const char *option, const char *text, struct recording *recording, uint64_t *ret_ns,
			struct why *why)
{
	struct why own = {};
	int r = input_parse_time(recording, text, ret_ns, &own);

	return r < 0 ? why_set(why, r, "%s: %s", option, own.text) : r;
}

int input_open(const struct input_options *options, struct recording **ret_recording, struct time_range *ret_range,
	       struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	int r = recording_open(options->file, &recording, why);

	*ret_range = (struct time_range){.to_ns = UINT64_MAX};
	if (r == 0 && options->from)
		r = parse_option(options->from_option ?: "--from", options->from, recording, &ret_range->from_ns, why);
	if (r == 0 && options->to)
		r = parse_option(options->to_option ?: "--to", options->to, recording, &ret_range->to_ns, why);
	if (r == 0 && ret_range->from_ns > ret_range->to_ns)
		r = why_set(why, -EINVAL, "--from is after --to");
	if (r == 0)
		*ret_recording = take_ptr(recording);
	return r;
}
