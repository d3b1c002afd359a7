/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/http_stream.h"

#include <inttypes.h>

#include "base/text.h"

#define OWN_MAX 8192

void http_stream_init(struct http_stream *stream, unsigned slots, size_t bytes_max)
{
	*stream = (struct http_stream){.slots = min_of(max_of(slots, 1U), (unsigned)HTTP_RING_MAX),
				       .bytes_max = bytes_max,
				       .first = 1,
				       .next = 1};
}

static void message_unuse(struct http_message *message)
{
	if (message && --message->users == 0)
		free(message);
}

static struct http_message **slot_of(const struct http_stream *stream, uint64_t number)
{
	return (struct http_message **)&stream->ring[number % stream->slots];
}

static void drop_first(struct http_stream *stream)
{
	struct http_message **slot = slot_of(stream, stream->first);

	stream->bytes -= (*slot)->len;
	message_unuse(take_ptr(*slot));
	stream->first++;
}

void http_stream_done(struct http_stream *stream)
{
	while (stream->first < stream->next)
		drop_first(stream);
	free(stream->end_text);
	vec_done(&stream->readers);
	*stream = (struct http_stream){};
}

static void notify(const struct http_stream *stream)
{
	if (stream->changed)
		stream->changed(stream->context);
}

/* A line end would end the message: JSON has none but in a text that is not JSON. */
static void add_data(struct buf *text, const char *json, size_t len)
{
	buf_add_text(text, "data: ");
	for (size_t i = 0; i < len; i++)
		buf_add_char(text, json[i] == '\n' || json[i] == '\r' ? ' ' : json[i]);
	buf_add_text(text, "\n\n");
}

void http_stream_add(struct http_stream *stream, const char *json, size_t len)
{
	_cleanup_buf_ struct buf text = BUF_INIT(len + 128);
	struct http_message *message;

	if (stream->ended)
		return;
	buf_add_format(&text, "id: %" PRIu64 "\n", stream->next);
	add_data(&text, json, len);
	message = xmalloc(sizeof(*message) + text.len);
	*message = (struct http_message){.number = stream->next, .users = 1, .len = text.len};
	memcpy(message->text, buf_text(&text), text.len);
	while (stream->first < stream->next &&
	       (stream->next - stream->first >= stream->slots || stream->bytes + text.len > stream->bytes_max))
		drop_first(stream);
	*slot_of(stream, stream->next) = message;
	stream->bytes += text.len;
	stream->next++;
	notify(stream);
}

void http_stream_end(struct http_stream *stream, const char *reason)
{
	_cleanup_buf_ struct buf text = BUF_INIT(OWN_MAX);

	if (stream->ended)
		return;
	buf_add_text(&text, "event: end\ndata: {\"reason\":");
	if (reason) {
		buf_add_char(&text, '"');
		text_add_json(&text, reason, strnlen(reason, 1000));
		buf_add_char(&text, '"');
	} else {
		buf_add_text(&text, "null");
	}
	buf_add_text(&text, "}\n\n");
	stream->end_text = xstrdup(buf_text(&text));
	stream->ended = true;
	notify(stream);
}

/* --- a reader --- */

void http_cursor_init(struct http_cursor *cursor, const struct http_stream *stream, unsigned past, uint64_t seen)
{
	uint64_t kept = stream->next - stream->first, next = stream->next - min_of(kept, (uint64_t)past);

	if (seen < stream->next)
		next = seen + 1;
	*cursor = (struct http_cursor){.next = next, .own = BUF_INIT(OWN_MAX)};
}

void http_cursor_done(struct http_cursor *cursor)
{
	message_unuse(take_ptr(cursor->at));
	buf_done(&cursor->own);
}

void http_cursor_add_comment(struct http_cursor *cursor)
{
	if (!cursor->at && cursor->own.len == 0)
		buf_add_text(&cursor->own, ": still here\n\n");
}

/* What comes next, where nothing is under way. */
static void advance(struct http_cursor *cursor, const struct http_stream *stream)
{
	cursor->offset = 0;
	if (cursor->next < stream->first) {
		uint64_t lost = stream->first - cursor->next;

		cursor->lost += lost;
		cursor->next = stream->first;
		buf_add_format(&cursor->own, "event: lost\ndata: {\"lost\":%" PRIu64 "}\n\n", lost);
	} else if (cursor->next < stream->next) {
		cursor->at = *slot_of(stream, cursor->next++);
		cursor->at->users++;
	} else if (stream->ended && !cursor->ended) {
		buf_add_text(&cursor->own, stream->end_text);
		cursor->ended = true;
	}
}

static size_t copy_some(struct http_cursor *cursor, const char *from, size_t len, char *out, size_t max)
{
	size_t n = min_of(len - cursor->offset, max);

	memcpy(out, from + cursor->offset, n);
	cursor->offset += n;
	return n;
}

size_t http_cursor_read(struct http_cursor *cursor, const struct http_stream *stream, char *out, size_t max)
{
	size_t done = 0;

	while (done < max) {
		if (!cursor->at && cursor->own.len == 0)
			advance(cursor, stream);
		if (cursor->at) {
			done += copy_some(cursor, cursor->at->text, cursor->at->len, out + done, max - done);
			if (cursor->offset == cursor->at->len)
				message_unuse(take_ptr(cursor->at));
		} else if (cursor->own.len > 0) {
			done += copy_some(cursor, buf_text(&cursor->own), cursor->own.len, out + done, max - done);
			if (cursor->offset == cursor->own.len)
				buf_clear(&cursor->own);
		} else {
			break;
		}
		if (!cursor->at && cursor->own.len == 0)
			cursor->offset = 0;
	}
	return done;
}

bool http_cursor_is_at_end(const struct http_cursor *cursor, const struct http_stream *stream)
{
	return stream->ended && cursor->ended && !cursor->at && cursor->own.len == 0 && cursor->next >= stream->next;
}
