/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/lull.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "store/input.h"

/* A lull begins after so much rest: what stopped a moment ago may be what the next windows find. */
#define SETTLE_NS (5 * NSEC_PER_SEC)
/* Longest stretch between two samples that are stored: what drifted is known as its mean over it. */
#define STRETCH_NS (30 * NSEC_PER_SEC)
/* And its share of a moving window, which begins with a whole one. */
#define STRETCH_SHARE 10
/* Samples that are further apart are not evenly spaced; nor those twice as far as they are meant to be. */
#define APART_MAX_NS (NSEC_PER_SEC * 9 / 10)
/* The clock was set, not slewed, when it moved further against the time since boot. */
#define STEP_NS ((int64_t)(20 * NSEC_PER_MSEC))
/* What a diagnosis found is recorded in full, and for so long after. */
#define FOUND_MS 3000
/* In one stretch, and in a whole recording: 46 days at five samples per second. A file may claim anything. */
#define LEFT_OUT_MAX 1000
#define MADE_MAX     20000000

/* --- writing --- */

static int64_t clock_offset(const struct sample_record *sample)
{
	return (int64_t)(sample->begin_time_ns - sample->begin_boot_ns);
}

static bool is_even(const struct lull *lull, const struct sample_record *sample)
{
	int64_t step = clock_offset(sample) - clock_offset(&lull->first);
	uint64_t pace_ns = sample->pace_ns == UINT64_MAX ? 0 : sample->pace_ns;

	return sample->begin_boot_ns > lull->last.begin_boot_ns &&
	       sample->begin_boot_ns - lull->last.begin_boot_ns < max_of(APART_MAX_NS, 2 * pace_ns) && step < STEP_NS &&
	       step > -STEP_NS && sample->pace_ns == lull->last.pace_ns && !sample->refused && !lull->last.refused &&
	       !sample->sockets_boot_ns == !lull->last.sockets_boot_ns;
}

static bool is_found(const struct lull *lull, const struct sample_record *sample)
{
	return lull->found && sample->id <= lull->found + FOUND_MS;
}

static uint64_t longest_stretch(const struct lull *lull)
{
	return lull->window_ns ? min_of(STRETCH_NS, lull->window_ns / STRETCH_SHARE) : STRETCH_NS;
}

bool lull_step(struct lull *lull, struct sample_record *sample, bool at_rest)
{
	bool merged;

	if (!lull->resting)
		lull->first = lull->last;
	if (!at_rest || !lull->last.id || !is_even(lull, sample) || is_found(lull, sample))
		lull->moved_ns = sample->begin_boot_ns;
	at_rest = sample->begin_boot_ns >= lull->moved_ns + SETTLE_NS;
	merged = at_rest && lull->resting && lull->last.left_out < LEFT_OUT_MAX &&
		 sample->begin_boot_ns - lull->first.begin_boot_ns <= longest_stretch(lull);
	if (merged) {
		sample->left_out = lull->last.left_out + 1;
		sample->left_out_since = lull->first.id;
	} else {
		lull->first = lull->last;
		lull->row = 0;
	}
	lull->resting = at_rest;
	lull->last = *sample;
	return merged;
}

/* --- reading --- */

int samples_open(struct samples *samples, struct recording *recording, struct why *why)
{
	struct shape shape = SHAPE_OF(&recorded_sample_type);

	*samples = (struct samples){};
	return rows_open(recording, &(struct rows_request){.name = recorded_sample_type.name, .shape = &shape},
			 &samples->rows, why);
}

static bool is_usable(const struct sample_record *sample)
{
	return sample->id && sample->id <= INT64_MAX && sample->begin_time_ns != UINT64_MAX &&
	       sample->begin_boot_ns != UINT64_MAX;
}

/* The number of samples between the two: none where the first one was deleted. */
static uint64_t between(const struct sample_record *before, const struct sample_record *after)
{
	if (!before->id || before->id != after->left_out_since || !after->left_out || after->left_out > LEFT_OUT_MAX)
		return 0;
	return after->id > before->id + after->left_out && after->begin_boot_ns > before->begin_boot_ns &&
			       after->begin_time_ns > before->begin_time_ns
		       ? after->left_out
		       : 0;
}

static uint64_t mix(uint64_t before, uint64_t after, double share)
{
	return after >= before ? before + (uint64_t)((double)(after - before) * share)
			       : before - (uint64_t)((double)(before - after) * share);
}

/* A sample that was left out: as far from the stored one in all of its times. */
static void make_between(const struct samples *samples, struct sample_record *sample)
{
	const struct sample_record *before = &samples->before, *after = &samples->stored;
	double share = samples_share(samples);

	*sample = *after;
	sample->left_out = sample->left_out_since = 0;
	sample->id = mix(before->id, after->id, share);
	sample->begin_boot_ns = mix(before->begin_boot_ns, after->begin_boot_ns, share);
	sample->begin_time_ns = mix(before->begin_time_ns, after->begin_time_ns, share);
	sample->end_boot_ns += sample->begin_boot_ns - after->begin_boot_ns;
	sample->end_time_ns += sample->begin_time_ns - after->begin_time_ns;
	if (sample->sockets_boot_ns)
		sample->sockets_boot_ns += sample->begin_boot_ns - after->begin_boot_ns;
}

int samples_next(struct samples *samples, struct sample_record *ret_sample, struct why *why)
{
	struct sample_record read;
	int r;

	if (samples->number < samples->count) {
		if (++samples->number < samples->count)
			make_between(samples, ret_sample);
		else
			*ret_sample = samples->stored;
		return 1;
	}
	do {
		r = rows_next(samples->rows, (void *[]){&read}, why);
	} while (r > 0 && !is_usable(&read));
	samples->refused = rows_refused(samples->rows);
	if (r <= 0)
		return r;
	samples->before = samples->stored;
	samples->stored = read;
	samples->count = between(&samples->before, &read) + 1;
	samples->made += samples->count;
	if (samples->made > MADE_MAX)
		samples->count = 1;
	samples->number = 0;
	return samples_next(samples, ret_sample, why);
}

double samples_share(const struct samples *samples)
{
	return samples->number < samples->count ? (double)samples->number / (double)samples->count : 1;
}

void samples_close(struct samples *samples)
{
	rows_close(samples->rows);
	samples->rows = NULL;
}

int samples_bounds(struct recording *recording, const struct time_range *range, uint64_t *ret_begin_ns,
		   uint64_t *ret_end_ns, struct why *why)
{
	uint64_t begin_ns = 0, end_ns = 0;
	struct sample_record sample;
	struct samples samples;
	int r = samples_open(&samples, recording, why);

	while (r >= 0 && (r = samples_next(&samples, &sample, why)) > 0) {
		uint64_t at_ns = sample.begin_time_ns;

		if (at_ns < range->from_ns || at_ns > range->to_ns)
			continue;
		begin_ns = begin_ns ? min_of(begin_ns, at_ns) : at_ns;
		end_ns = max_of(end_ns, at_ns);
	}
	samples_close(&samples);
	if (r < 0)
		return r;
	if (!begin_ns)
		return why_set(why, -ENODATA, "no sample in that time range");
	*ret_begin_ns = begin_ns;
	*ret_end_ns = end_ns;
	return 0;
}

/* --- fields that drift --- */

bool lull_drifts(const struct record_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].drift > 0)
			return true;
	return false;
}

static void set_number(const struct field *field, void *data, uint64_t number)
{
	uint32_t small = (uint32_t)number;

	if (field->size == sizeof(number))
		memcpy((char *)data + field->offset, &number, sizeof(number));
	else if (field->size == sizeof(small))
		memcpy((char *)data + field->offset, &small, sizeof(small));
}

void lull_between(const struct record_type *type, const void *before, const void *after, double share, void *data)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct field *field = &type->fields[i];
		struct value from, to;
		double real;

		if (!(field->drift > 0))
			continue;
		to = value_get(field, after);
		if (to.class != VALUE_UINT && to.class != VALUE_REAL)
			continue;
		from = value_get(field, before);
		if (from.class != to.class)
			continue;
		if (to.class == VALUE_UINT) {
			set_number(field, data, mix(from.uint, to.uint, share));
		} else {
			real = from.real + (to.real - from.real) * share;
			memcpy((char *)data + field->offset, &real, sizeof(real));
		}
	}
}
