/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "snapshot/socket/join.h"
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
	struct holding next; /* data NULL: not read yet */
	bool ended;
};

struct replay {
	struct recording *recording;
	struct rows *samples;
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

static void fill_table(struct stream *stream, struct snapshot *snapshot)
{
	struct snapshot_table *table = snapshot_table(snapshot, stream->type);

	if (!table)
		return;
	table->wanted = true;
	vec_each(&stream->now, holding) {
		void *item = snapshot_table_add(table);

		if (!item)
			break;
		memcpy(item, holding->data, stream->type->size);
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

static bool is_usable(const struct sample_record *sample)
{
	return sample->id <= INT64_MAX && sample->begin_time_ns != UINT64_MAX && sample->begin_boot_ns != UINT64_MAX;
}

/* The next sample in the range. */
static int next_sample(struct replay *replay, struct sample_record *sample, struct why *why)
{
	int r;

	do {
		r = rows_next(replay->samples, (void *[]){sample}, why);
	} while (r > 0 && (!is_usable(sample) || sample->begin_time_ns < replay->range.from_ns ||
			   sample->begin_time_ns > replay->range.to_ns));
	return r;
}

int replay_next(struct replay *replay, struct snapshot *snapshot, struct why *why)
{
	struct sample_record sample;
	int r = next_sample(replay, &sample, why);

	if (r <= 0)
		return r;
	begin_snapshot(snapshot, &sample);
	vec_each(&replay->streams, stream) {
		r = advance_stream(stream, (int64_t)sample.id, why);
		if (r < 0)
			return r;
		fill_table(stream, snapshot);
	}
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
		return why_set(why, -ENOENT, "%s has no snapshots of the host: recorded by nest %s",
			       recording_path(recording), buf_text(&shown));
	return why_set(why, -ENOENT, "%s has no table %s: recorded by nest %s", recording_path(recording), name,
		       buf_text(&shown));
}

static int add_stream(struct replay *replay, const struct record_type *type, struct why *why)
{
	struct shape shape = SHAPE_OF(type);
	/* Clocks may be set while recording, so samples decide which rows are valid; what ended before is not read. */
	struct rows_request request = {
		.name = type->name, .shape = &shape, .from_ns = replay->first_id * NSEC_PER_MSEC};
	struct stream stream = {.type = type};
	int r;

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

static int open_samples(struct replay *replay, struct why *why)
{
	struct shape shape = SHAPE_OF(&recorded_sample_type);

	return rows_open(replay->recording, &(struct rows_request){.name = recorded_sample_type.name, .shape = &shape},
			 &replay->samples, why);
}

static int count_samples(struct replay *replay, struct why *why)
{
	struct sample_record sample;
	int r = open_samples(replay, why);

	if (r < 0)
		return r;
	while ((r = next_sample(replay, &sample, why)) > 0) {
		if (replay->times.count == 0 || sample.id < replay->first_id)
			replay->first_id = sample.id;
		vec_push(&replay->times, ((struct replay_time){sample.begin_boot_ns, pace_of(&sample)}));
	}
	rows_close(replay->samples);
	replay->samples = NULL;
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
		r = open_samples(replay, why);
	if (r == 0)
		r = add_streams(replay, types, why);
	if (r < 0)
		return r;
	*ret_replay = take_ptr(replay);
	return 0;
}

uint64_t replay_refused(const struct replay *replay)
{
	uint64_t sum = rows_refused(replay->samples);

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
	rows_close(replay->samples);
	free(replay);
}
