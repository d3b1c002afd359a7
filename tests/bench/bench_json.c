/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON lines of a 12-field record: the writer beside jansson on the same records; the goal is 2 million a second. */
#include <errno.h>
#include <jansson.h>

#include "../unit/sample.h"
#include "base/clock.h"
#include "view/output.h"

#define FIELDS  12
#define RECORDS 200000

static struct sample sample_at(size_t i)
{
	struct sample s = sample_make();

	s.time_ns += i * 1000003;
	s.pid += (uint32_t)(i % 1000);
	s.bytes = i * 17;
	s.lat_ns = i * 13 % 10000000;
	if (addr_parse("10.77.2.9", &s.raddr) < 0)
		abort();
	return s;
}

static double own_rate(const struct sample *samples)
{
	char *names[FIELDS];
	struct output_options options = {.json = true, .file = "/dev/null", .show = {.items = names, .count = FIELDS}};
	struct shape shape = SHAPE_OF(&sample_type);
	struct output *output;
	uint64_t start = clock_monotonic_ns();
	struct why why;

	for (size_t i = 0; i < FIELDS; i++)
		names[i] = (char *)sample_fields[i].name;
	if (output_open(&options, &shape, &output, &why) < 0)
		exit(1);
	for (size_t i = 0; i < RECORDS; i++) {
		struct record record = RECORD_OF(&samples[i]);

		(void)output_record(output, &record);
	}
	if (output_close(output) < 0)
		exit(1);
	return RECORDS / ((double)(clock_monotonic_ns() - start) / 1e9);
}

static json_t *jansson_value(const struct field *field, const struct sample *s)
{
	struct value v = value_get(field, s);
	char text[ADDR_TEXT_MAX];

	switch (v.class) {
	case VALUE_UINT:
		if (field->kind == KIND_ENUM)
			return json_string(enum_name_find(field->names, v.uint));
		if (field->kind == KIND_FLAGS)
			return json_string("SYN|ACK");
		return json_integer((json_int_t)v.uint);
	case VALUE_REAL:
		return json_real(v.real);
	case VALUE_TEXT:
		return json_stringn(v.text, v.len);
	case VALUE_ADDR:
		addr_format(v.addr, text);
		return json_string(text);
	default:
		return json_null();
	}
}

static double jansson_rate(const struct sample *samples, size_t count)
{
	_cleanup_fclose_ FILE *out = fopen("/dev/null", "we");
	uint64_t start = clock_monotonic_ns();

	if (!out)
		exit(1);
	for (size_t i = 0; i < count; i++) {
		json_t *object = json_object();

		for (size_t k = 0; k < FIELDS; k++)
			json_object_set_new(object, sample_fields[k].name,
					    jansson_value(&sample_fields[k], &samples[i]));
		json_dumpf(object, out, JSON_COMPACT);
		fputc('\n', out);
		json_decref(object);
	}
	return (double)count / ((double)(clock_monotonic_ns() - start) / 1e9);
}

int main(void)
{
	struct sample *samples = xrealloc_array(NULL, RECORDS, sizeof(*samples));
	double own = 0, jansson = 0;

	for (size_t i = 0; i < RECORDS; i++)
		samples[i] = sample_at(i);
	/* Taken in turns, the best of each: the machine may be busy. */
	for (int round = 0; round < 5; round++) {
		own = max_of(own, own_rate(samples));
		jansson = max_of(jansson, jansson_rate(samples, RECORDS / 10));
	}
	free(samples);
	printf("JSON lines, 12 fields, one core (goal: 2 M records/s)\n  %6.2f M/s  nest\n  %6.2f M/s  jansson (nest "
	       "is %.1f times as fast)\n",
	       own / 1e6, jansson / 1e6, own / jansson);
	return 0;
}
