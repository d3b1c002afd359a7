/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "snapshot/socket/join.h"
#include "store/lull.h"
#include "store/moment.h"
#include "store/replay.h"
#include "store/rows.h"

/* Rows of one table valid at the same time; a live snapshot has the same limit. */
#define ROWS_MAX ((size_t)4 << 20)

struct holding {
	struct state_span span;
	void *data;
};

/* One table: the rows valid now, and the next row. */
struct stream {
	const struct record_type *type;
	struct rows *rows;
	VEC(struct holding) now;
	bool drifts;
	struct buf before;   /* copies of the rows at the first sample of a stretch at rest, of a type that drifts */
	struct holding next; /* data NULL: not read yet */
	bool ended;
};

struct replay {
	struct recording *recording;
	struct samples samples;
	uint64_t lull; /* the sample that the stretch at rest ends with, of which the rows are there; 0: none */
	struct time_range range;
	VEC(struct stream) streams;
	VEC(struct replay_time) times; /* of all samples in the range */
	uint64_t first_id;             /* of the first of them */
};

/* --- one table --- */

static void free_row(const struct record_type *type, void *data)
{
	if (data)
		rows_free_parts(&SHAPE_OF(type), (void *[]){data});
	free(data);
}

static void close_stream(struct stream *stream)
{
	vec_each(&stream->now, holding)
		free_row(stream->type, holding->data);
	vec_done(&stream->now);
	buf_done(&stream->before);
	free_row(stream->type, stream->next.data);
	rows_close(stream->rows);
}

static int read_ahead(struct stream *stream, struct why *why)
{
	void *data = xzalloc(stream->type->size);
	int r = rows_next(stream->rows, (void *[]){data}, why);

	if (r <= 0) {
		free(data);
		stream->ended = true;
		return r;
	}
	stream->next = (struct holding){*rows_span(stream->rows), data};
	return 0;
}

static int by_pos(const void *a, const void *b)
{
	const struct state_span *x = &((const struct holding *)a)->span, *y = &((const struct holding *)b)->span;

	if (x->pos != y->pos)
		return x->pos < y->pos ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void drop_old(struct stream *stream, int64_t sample)
{
	size_t kept = 0;

	vec_each(&stream->now, holding) {
		if (holding->span.last >= sample)
			stream->now.items[kept++] = *holding;
		else
			free_row(stream->type, holding->data);
	}
	stream->now.count = kept;
}

static int advance_stream(struct stream *stream, int64_t sample, struct why *why)
{
	size_t before;
	int r = 0;

	drop_old(stream, sample);
	before = stream->now.count;
	for (;;) {
		if (!stream->next.data && !stream->ended)
			r = read_ahead(stream, why);
		if (r < 0)
			return r;
		if (!stream->next.data || stream->next.span.first > sample)
			break;
		if (stream->next.span.last < sample || stream->now.count >= ROWS_MAX)
			free_row(stream->type, stream->next.data);
		else
			vec_push(&stream->now, stream->next);
		stream->next.data = NULL;
	}
	if (stream->now.count > before)
		vec_sort(&stream->now, by_pos);
	return 0;
}

/* --- a snapshot --- */

/* The rows as they are, for those between. */
static void keep_before(struct stream *stream)
{
	buf_clear(&stream->before);
	vec_each(&stream->now, holding)
		buf_add(&stream->before, holding->data, stream->type->size);
}

/* share: where the sample stands in a stretch at rest; 1: at its end, or in none. */
static void fill_table(struct stream *stream, struct snapshot *snapshot, double share)
{
	struct snapshot_table *table = snapshot_table(snapshot, stream->type);
	/* At rest the same rows are at both ends. */
	bool between = share < 1 && stream->drifts && stream->before.len == stream->now.count * stream->type->size;
	size_t at = 0;

	if (!table)
		return;
	table->wanted = true;
	vec_each(&stream->now, holding) {
		void *item = snapshot_table_add(table);

		if (!item)
			break;
		memcpy(item, holding->data, stream->type->size);
		if (between)
			lull_between(stream->type, stream->before.data + at, holding->data, share, item);
		at += stream->type->size;
		rows_set_durations(stream->rows, (void *[]){item}, moment_reference(snapshot));
	}
}

static uint64_t pace_of(const struct sample_record *sample)
{
	return sample->pace_ns == UINT64_MAX ? 0 : sample->pace_ns;
}

static void begin_snapshot(struct snapshot *snapshot, const struct sample_record *sample)
{
	snapshot_clear(snapshot);
	for (size_t i = 0; i < snapshot->table_count; i++)
		snapshot->tables[i].wanted = false;
	snapshot->begin_time_ns = sample->begin_time_ns;
	snapshot->end_time_ns = sample->end_time_ns;
	snapshot->begin_boot_ns = sample->begin_boot_ns;
	snapshot->end_boot_ns = sample->end_boot_ns;
	/* Older recordings do not have it. */
	snapshot->sockets_boot_ns = sample->sockets_boot_ns == UINT64_MAX ? 0 : sample->sockets_boot_ns;
	snapshot->pace_ns = pace_of(sample);
	/* Losses of the recording are losses of the replay, whatever the table. */
	if (sample->refused != UINT64_MAX)
		snapshot->tables[0].refused = sample->refused;
}

/* The next sample in the range. */
static int next_sample(struct replay *replay, struct sample_record *sample, struct why *why)
{
	int r;

	do {
		r = samples_next(&replay->samples, sample, why);
	} while (r > 0 &&
		 (sample->begin_time_ns < replay->range.from_ns || sample->begin_time_ns > replay->range.to_ns));
	return r;
}

static int advance_streams(struct replay *replay, uint64_t sample, struct why *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < replay->streams.count; i++)
		r = advance_stream(&replay->streams.items[i], (int64_t)sample, why);
	return r;
}

/* Of a sample that was left out: the rows at both ends of the stretch. */
static int enter_lull(struct replay *replay, struct why *why)
{
	const struct samples *samples = &replay->samples;
	int r;

	if (replay->lull == samples->stored.id)
		return 0;
	r = advance_streams(replay, samples->before.id, why);
	if (r < 0)
		return r;
	replay->lull = samples->stored.id;
	vec_each(&replay->streams, stream)
		if (stream->drifts)
			keep_before(stream);
	return advance_streams(replay, samples->stored.id, why);
}

int replay_next(struct replay *replay, struct snapshot *snapshot, struct why *why)
{
	struct sample_record sample;
	int r = next_sample(replay, &sample, why);
	double share;

	if (r <= 0)
		return r;
	share = samples_share(&replay->samples);
	r = share < 1 ? enter_lull(replay, why) : advance_streams(replay, sample.id, why);
	if (r < 0)
		return r;
	begin_snapshot(snapshot, &sample);
	vec_each(&replay->streams, stream)
		fill_table(stream, snapshot, share);
	snapshot_join(snapshot);
	return 1;
}

/* --- opening --- */

static int fail_missing(const struct recording *recording, const char *name, struct why *why)
{
	const char *command = recording_command(recording);
	_cleanup_buf_ struct buf shown = BUF_INIT(300);

	text_add_terminal(&shown, command, strnlen(command, 200));
	/* Every snapshot of the whole host has this table, whatever could be read. */
	if (strcmp(name, "gap") == 0)
		return why_set(why, -ENOENT, "%s has no snapshots of the host: nest %s recorded none",
			       recording_path(recording), buf_text(&shown));
	return why_set(why, -ENOENT, "%s has no table %s: nest %s did not record it", recording_path(recording), name,
		       buf_text(&shown));
}

static int add_stream(struct replay *replay, const struct record_type *type, struct why *why)
{
	struct shape shape = SHAPE_OF(type);
	/* Clocks may be set while recording, so samples decide which rows are valid; what ended before is not read. */
	struct rows_request request = {
		.name = type->name, .shape = &shape, .from_ns = replay->first_id * NSEC_PER_MSEC};
	struct stream stream = {.type = type, .drifts = lull_drifts(type)};
	int r;

	stream.before = BUF_INIT(ROWS_MAX * type->size);
	vec_each(&replay->streams, other)
		if (other->type == type)
			return 0;
	if (!recording_has_states(replay->recording, type->name))
		return fail_missing(replay->recording, type->name, why);
	r = rows_open(replay->recording, &request, &stream.rows, why);
	if (r == 0)
		vec_push(&replay->streams, stream);
	return r;
}

static int add_streams(struct replay *replay, const struct record_type *const *types, struct why *why)
{
	_cleanup_snapshot_ struct snapshot *all = types ? NULL : snapshot_new();
	int r = 0;

	for (; r == 0 && types && *types; types++)
		r = add_stream(replay, *types, why);
	for (size_t i = 0; r == 0 && all && i < all->table_count; i++)
		if (recording_has_states(replay->recording, all->tables[i].type->name))
			r = add_stream(replay, all->tables[i].type, why);
	/* Always replayed: what was sampled, and its gaps. */
	if (r == 0)
		r = add_stream(replay, &gap_type, why);
	return r == 0 ? add_stream(replay, &netns_type, why) : r;
}

static int count_samples(struct replay *replay, struct why *why)
{
	struct sample_record sample;
	int r = samples_open(&replay->samples, replay->recording, why);

	while (r >= 0 && (r = next_sample(replay, &sample, why)) > 0) {
		/* A stretch at rest is read from its first sample on. */
		uint64_t id = samples_share(&replay->samples) < 1 ? replay->samples.before.id : sample.id;

		if (replay->times.count == 0 || id < replay->first_id)
			replay->first_id = id;
		vec_push(&replay->times, ((struct replay_time){sample.begin_boot_ns, pace_of(&sample)}));
	}
	samples_close(&replay->samples);
	return r;
}

uint64_t replay_samples(const struct replay *replay)
{
	return replay->times.count;
}

struct replay_time replay_time(const struct replay *replay, uint64_t number)
{
	return replay->times.items[number];
}

int replay_open(struct recording *recording, const struct time_range *range, const struct record_type *const *types,
		struct replay **ret_replay, struct why *why)
{
	_cleanup_(replay_closep) struct replay *replay = xzalloc(sizeof(*replay));
	int r;

	replay->recording = recording;
	replay->range = *range;
	r = count_samples(replay, why);
	if (r == 0)
		r = samples_open(&replay->samples, recording, why);
	if (r == 0)
		r = add_streams(replay, types, why);
	if (r < 0)
		return r;
	*ret_replay = take_ptr(replay);
	return 0;
}

uint64_t replay_refused(const struct replay *replay)
{
	uint64_t sum = replay->samples.refused;

	vec_each(&replay->streams, stream)
		sum += rows_refused(stream->rows);
	return sum;
}

void replay_close(struct replay *replay)
{
	if (!replay)
		return;
	vec_each(&replay->streams, stream)
		close_stream(stream);
	vec_done(&replay->streams);
	vec_done(&replay->times);
	samples_close(&replay->samples);
	free(replay);
}
