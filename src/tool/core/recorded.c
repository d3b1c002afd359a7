/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/text.h"
#include "store/rows.h"
#include "tool/core/recorded.h"

/* One table and its next row. */
struct stream {
	struct shape shape;
	struct rows *rows;
	void *parts[EVENT_PARTS];
	bool has_row;
};

struct recorded {
	struct recording *recording;
	VEC(struct stream) streams;
	uint64_t lost;
};

static int advance(struct stream *stream, struct why *why)
{
	int r;

	if (stream->has_row)
		rows_free_parts(&stream->shape, stream->parts);
	r = rows_next(stream->rows, stream->parts, why);
	stream->has_row = r > 0;
	return min_of(r, 0);
}

static int open_stream(struct recorded *recorded, const struct event *event, const struct time_range *range,
		       struct why *why)
{
	struct stream *stream = vec_add(&recorded->streams);
	struct rows_request request = {.name = event->name, .shape = &stream->shape, .from_ns = range->from_ns};
	int r;

	stream->shape = event_shape(event);
	request.to_ns = range->to_ns == UINT64_MAX ? 0 : range->to_ns;
	for (unsigned i = 0; i < EVENT_PARTS; i++)
		stream->parts[i] = xzalloc(stream->shape.types[i]->size);
	if (!recording_has(recorded->recording, event->name)) {
		_cleanup_buf_ struct buf command = BUF_INIT(300);
		const char *text = recording_command(recorded->recording);

		text_add_terminal(&command, text, strnlen(text, 200));
		return why_set(why, -ENOENT, "%s has no %s: it was recorded by nest %s",
			       recording_path(recorded->recording), event->name, buf_text(&command));
	}
	r = rows_open(recorded->recording, &request, &stream->rows, why);
	return r == 0 ? advance(stream, why) : r;
}

int recorded_open(struct recording *recording, const struct time_range *range, const struct event_request *requests,
		  unsigned count, struct recorded **ret_recorded, struct why *why)
{
	_cleanup_(recorded_closep) struct recorded *recorded = xzalloc(sizeof(*recorded));
	int r = 0;

	recorded->recording = recording;
	vec_reserve(&recorded->streams, count);
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = open_stream(recorded, requests[i].event, range, why);
	for (unsigned i = 0; r == 0 && i < count; i++)
		r = recording_lost(recording, requests[i].event->name, &recorded->lost, why);
	if (r == 0)
		*ret_recorded = take_ptr(recorded);
	return r;
}

void recorded_close(struct recorded *recorded)
{
	if (!recorded)
		return;
	vec_each(&recorded->streams, stream) {
		if (stream->has_row)
			rows_free_parts(&stream->shape, stream->parts);
		rows_close(stream->rows);
		for (unsigned i = 0; i < EVENT_PARTS; i++)
			free(stream->parts[i]);
	}
	vec_done(&recorded->streams);
	free(recorded);
}

static uint64_t time_of(const struct stream *stream)
{
	return ((const struct event_head *)stream->parts[EVENT_PART_HEAD])->time_ns;
}

static struct stream *find_next(const struct recorded *recorded)
{
	struct stream *next = NULL;

	vec_each(&recorded->streams, stream)
		if (stream->has_row && (!next || time_of(stream) < time_of(next)))
			next = stream;
	return next;
}

uint64_t recorded_next_ns(const struct recorded *recorded)
{
	const struct stream *next = find_next(recorded);

	return next ? time_of(next) : UINT64_MAX;
}

int recorded_pass(struct recorded *recorded, const struct event_sink *sink, struct why *why)
{
	struct stream *next = find_next(recorded);
	struct record record = {};
	int r;

	if (!next)
		return 0;
	memcpy(record.parts, next->parts, sizeof(next->parts));
	sink->event(sink->context, (unsigned)(next - recorded->streams.items), &record);
	r = advance(next, why);
	return r < 0 ? r : 1;
}

uint64_t recorded_lost(struct recorded *recorded)
{
	uint64_t sum = recorded->lost;

	vec_each(&recorded->streams, stream)
		sum += rows_refused(stream->rows);
	return sum;
}
