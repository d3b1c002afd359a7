/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diagnose/graph/usual.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/parse.h"

/* Half an octave each, from 1 us (or 1 KiB/s) to more than an hour. */
#define BUCKETS     64
#define OCTAVE      2
#define FIRST_POWER 10
/* So many sketches, of 6 KiB each. */
#define SKETCHES_MAX 1000
/* An hour with more observations than in ten days of one per second forgets half of them. */
#define COUNT_MAX 36000
/* An hour of the day with fewer is taken together with those around it, or with all. */
#define COUNT_ENOUGH 50

static const struct enum_name of_items[] = {
	{USUAL_HOST, "host", NULL},
	{USUAL_PATH, "path", "everything between this host and a remote address"},
	{USUAL_SERVICE, "service", "a port of a remote host, or one served here"},
	{USUAL_PROGRAM, "program", "processes of the same name"},
};
static struct enum_names of_names = {.items = of_items, .count = ARRAY_SIZE(of_items)};

static const struct enum_name figure_items[] = {
	{USUAL_RTT, "rtt", "RTT in nanoseconds"},
	{USUAL_ANSWER, "answer", "time from request to answer in nanoseconds"},
	{USUAL_RATE, "rate", "bytes per second, both directions"},
};
static struct enum_names figure_names = {.items = figure_items, .count = ARRAY_SIZE(figure_items)};

#define U struct usual_record
static const struct field usual_fields[] = {
	FIELD(U, netns, ID, "network namespace"),
	FIELD(U, of, ENUM, "host, path, service or program", .names = &of_names),
	FIELD(U, figure, ENUM, "rtt, answer or rate", .names = &figure_names),
	FIELD(U, name, TEXT, "remote address, address and port, port served here, or name of the program"),
	FIELD(U, hour, COUNT, "hour of the day, UTC"),
	FIELD(U, count, COUNT, "observations"),
	FIELD(U, p50, COUNT, "median, in nanoseconds or bytes per second"),
	FIELD(U, p95, COUNT, "95th percentile"),
	FIELD(U, begin_ns, TIME, "first observation"),
	FIELD(U, end_ns, TIME, "last observation"),
	FIELD(U, sketch, TEXT, "observations by half octaves from 1024 up, NUMBER:COUNT"),
};
#undef U
RECORD_TYPE(usual_type, "usual", struct usual_record, usual_fields,
	    "what is usual at an hour of the day: a sketch of RTTs, answer times or rates");

struct usual_sketch {
	uint64_t begin_ns, end_ns;
	uint32_t changed; /* hours, as bits */
	int64_t rows[USUAL_HOURS];
	uint32_t counts[USUAL_HOURS][BUCKETS];
};

void usual_init(struct usual *usual)
{
	usual->sketches = MAP_INIT(sizeof(struct usual_key), sizeof(struct usual_sketch *), 0);
}

void usual_done(struct usual *usual)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&usual->sketches, &at, &key, &value))
		free(*(struct usual_sketch **)value);
	map_done(&usual->sketches);
}

struct usual_key usual_key(uint32_t netns, enum usual_of of, enum usual_figure figure, const char *name)
{
	struct usual_key key;

	memset(&key, 0, sizeof(key));
	key.netns = netns;
	key.of = (uint8_t)of;
	key.figure = (uint8_t)figure;
	memcpy(key.name, name, strnlen(name, sizeof(key.name) - 1));
	return key;
}

unsigned usual_hour(uint64_t time_ns)
{
	return (unsigned)(time_ns / (3600 * NSEC_PER_SEC) % USUAL_HOURS);
}

static unsigned bucket_of(uint64_t value)
{
	double place = value ? (log2((double)value) - FIRST_POWER) * OCTAVE : 0;

	return (unsigned)fmin(fmax(place, 0), BUCKETS - 1);
}

/* The upper end: a quantile is at most this. */
static uint64_t end_of(unsigned bucket)
{
	return (uint64_t)exp2((double)(bucket + 1) / OCTAVE + FIRST_POWER);
}

/* --- learning --- */

static void drop_oldest(struct usual *usual)
{
	const void *key, *oldest_key = NULL;
	uint64_t oldest_ns = UINT64_MAX;
	void *value;
	size_t at = 0;

	while (map_next(&usual->sketches, &at, &key, &value)) {
		struct usual_sketch *sketch = *(struct usual_sketch **)value;

		if (sketch->end_ns >= oldest_ns)
			continue;
		oldest_ns = sketch->end_ns;
		oldest_key = key;
	}
	if (!oldest_key)
		return;
	free(*(struct usual_sketch **)map_get(&usual->sketches, oldest_key));
	(void)map_remove(&usual->sketches, oldest_key);
}

static struct usual_sketch *sketch_of(struct usual *usual, const struct usual_key *key)
{
	struct usual_sketch **slot = map_get(&usual->sketches, key);

	if (slot)
		return *slot;
	if (usual->sketches.count >= SKETCHES_MAX)
		drop_oldest(usual);
	slot = map_put(&usual->sketches, key, NULL);
	*slot = xzalloc(sizeof(**slot));
	return *slot;
}

static uint64_t count_hour(const uint32_t counts[BUCKETS])
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < BUCKETS; i++)
		sum += counts[i];
	return sum;
}

void usual_add(struct usual *usual, const struct usual_key *key, uint64_t time_ns, uint64_t value, unsigned times)
{
	struct usual_sketch *sketch = sketch_of(usual, key);
	unsigned hour = usual_hour(time_ns);
	uint32_t *counts = sketch->counts[hour];

	counts[bucket_of(value)] += times;
	if (count_hour(counts) > COUNT_MAX)
		for (unsigned i = 0; i < BUCKETS; i++)
			counts[i] /= 2;
	sketch->begin_ns = sketch->begin_ns ?: time_ns;
	sketch->end_ns = time_ns;
	sketch->changed |= 1u << hour;
}

/* --- asking --- */

static void add_hour(const struct usual_sketch *sketch, unsigned hour, uint32_t sum[BUCKETS])
{
	for (unsigned i = 0; i < BUCKETS; i++)
		sum[i] += sketch->counts[hour % USUAL_HOURS][i];
}

static uint64_t quantile(const uint32_t counts[BUCKETS], uint64_t count, double share)
{
	double wanted = share * (double)count, sum = 0;

	for (unsigned i = 0; i < BUCKETS; i++) {
		sum += counts[i];
		if (sum >= wanted)
			return end_of(i);
	}
	return end_of(BUCKETS - 1);
}

static struct usual_answer answer_of(const uint32_t counts[BUCKETS])
{
	uint64_t count = count_hour(counts);

	return (struct usual_answer){count, quantile(counts, count, 0.5), quantile(counts, count, 0.95)};
}

bool usual_get(const struct usual *usual, const struct usual_key *key, unsigned hour, struct usual_answer *ret_answer)
{
	struct usual_sketch *const *slot = map_get(&usual->sketches, key);
	uint32_t counts[BUCKETS] = {};

	if (!slot)
		return false;
	add_hour(*slot, hour, counts);
	if (count_hour(counts) < COUNT_ENOUGH) {
		add_hour(*slot, hour + 1, counts);
		add_hour(*slot, hour + USUAL_HOURS - 1, counts);
	}
	if (count_hour(counts) < COUNT_ENOUGH) {
		memset(counts, 0, sizeof(counts));
		for (unsigned i = 0; i < USUAL_HOURS; i++)
			add_hour(*slot, i, counts);
	}
	*ret_answer = answer_of(counts);
	return ret_answer->count > 0;
}

/* The host has one observation per second. */
uint64_t usual_seconds(const struct usual *usual, uint32_t netns)
{
	struct usual_key key = usual_key(netns, USUAL_HOST, USUAL_RATE, "");
	struct usual_sketch *const *slot = map_get(&usual->sketches, &key);
	uint64_t sum = 0;

	for (unsigned i = 0; slot && i < USUAL_HOURS; i++)
		sum += count_hour((*slot)->counts[i]);
	return sum;
}

/* --- keeping --- */

void usual_keep_netns(struct usual *usual, uint32_t netns)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&usual->sketches, &at, &key, &value)) {
		if (((const struct usual_key *)key)->netns == netns)
			continue;
		free(*(struct usual_sketch **)value);
		(void)map_remove(&usual->sketches, key);
	}
}

static void write_sketch(const uint32_t counts[BUCKETS], struct buf *text)
{
	buf_clear(text);
	for (unsigned i = 0; i < BUCKETS; i++)
		if (counts[i])
			buf_add_format(text, "%s%u:%u", text->len ? " " : "", i, counts[i]);
}

static int hand_out(const struct usual_key *key, struct usual_sketch *sketch, unsigned hour, struct buf *text,
		    usual_keep_fn *fn, void *context)
{
	struct usual_answer answer = answer_of(sketch->counts[hour]);
	struct usual_record record = {
		.netns = key->netns,
		.of = key->of,
		.figure = key->figure,
		.hour = (uint8_t)hour,
		.count = answer.count,
		.p50 = answer.p50,
		.p95 = answer.p95,
		.begin_ns = sketch->begin_ns,
		.end_ns = sketch->end_ns,
	};

	memcpy(record.name, key->name, sizeof(record.name));
	write_sketch(sketch->counts[hour], text);
	record.sketch = buf_text(text);
	return fn(context, &record, &sketch->rows[hour]);
}

int usual_each_changed(struct usual *usual, usual_keep_fn *fn, void *context)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	const void *key;
	void *value;
	size_t at = 0;
	int r = 0;

	while (r == 0 && map_next(&usual->sketches, &at, &key, &value)) {
		struct usual_sketch *sketch = *(struct usual_sketch **)value;

		for (unsigned hour = 0; r == 0 && hour < USUAL_HOURS; hour++)
			if (sketch->changed & 1u << hour)
				r = hand_out(key, sketch, hour, &text, fn, context);
		sketch->changed = 0;
	}
	return r;
}

/* "NUMBER:COUNT NUMBER:COUNT"; false: it is something else. */
static bool read_sketch(const char *text, uint32_t counts[BUCKETS])
{
	_cleanup_free_ char *copy = xstrdup(text);
	char *rest = copy;

	for (char *word; (word = strsep(&rest, " "));) {
		char *colon = strchr(word, ':');
		uint64_t bucket, count;

		if (!colon)
			return false;
		*colon = '\0';
		if (parse_decimal(word, 0, BUCKETS - 1, &bucket) < 0 ||
		    parse_decimal(colon + 1, 1, COUNT_MAX, &count) < 0)
			return false;
		counts[bucket] = (uint32_t)count;
	}
	return count_hour(counts) <= (uint64_t)2 * COUNT_MAX;
}

void usual_load(struct usual *usual, const struct usual_record *record)
{
	struct usual_key key;
	struct usual_sketch *sketch;
	uint32_t counts[BUCKETS] = {};

	if (record->hour >= USUAL_HOURS || record->of > USUAL_PROGRAM || record->figure > USUAL_RATE ||
	    !record->sketch || !memchr(record->name, '\0', sizeof(record->name)) ||
	    !read_sketch(record->sketch, counts))
		return;
	key = usual_key(record->netns, record->of, record->figure, record->name);
	sketch = sketch_of(usual, &key);
	memcpy(sketch->counts[record->hour], counts, sizeof(counts));
	/* It may go into another file. */
	sketch->changed |= 1u << record->hour;
	sketch->begin_ns = sketch->begin_ns ? min_of(sketch->begin_ns, record->begin_ns) : record->begin_ns;
	sketch->end_ns = max_of(sketch->end_ns, record->end_ns == UINT64_MAX ? 0 : record->end_ns);
}
