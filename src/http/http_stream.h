/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Server-sent events: a stream is a ring of messages that all its readers share, bounded in number and bytes; a reader
 * is a position in it. A reader that falls behind loses messages, and the next thing it gets is how many: memory does
 * not grow with readers that do not read.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

/* A message as it is sent. Shared by the ring and by readers that are in the middle of it. */
struct http_message {
	uint64_t number; /* from 1 */
	unsigned users;
	size_t len;
	char text[];
};

#define HTTP_RING_MAX 1024

struct http_stream {
	unsigned slots;   /* messages that are kept; at most HTTP_RING_MAX */
	size_t bytes_max; /* of all of them; the last one is always kept */
	size_t bytes;
	uint64_t first, next; /* numbers of the oldest message that is kept, and of the next one */
	bool ended;
	char *end_text; /* the last thing that every reader gets */
	struct http_message *ring[HTTP_RING_MAX];
	/* Called when there is something to read. */
	void (*changed)(void *context);
	void *context;
	VEC(struct http_reader *) readers; /* of the server */
};

void http_stream_init(struct http_stream *stream, unsigned slots, size_t bytes_max);
/* Readers must be gone. */
void http_stream_done(struct http_stream *stream);
/* The data is one line of JSON. */
void http_stream_add(struct http_stream *stream, const char *json, size_t len);
/* No more will come; readers get the rest, then `event: end`. reason may be NULL. */
void http_stream_end(struct http_stream *stream, const char *reason);

/* A reader's position. */
struct http_cursor {
	uint64_t next;           /* number of the next message */
	uint64_t lost;           /* in total */
	struct http_message *at; /* the one that is being read; NULL: between two */
	size_t offset;
	struct buf own; /* a message for this reader alone: what was lost, a comment */
	bool ended;
};

/* Begins with the last `past` messages, or after the one that a reader has seen last (UINT64_MAX: none). */
void http_cursor_init(struct http_cursor *cursor, const struct http_stream *stream, unsigned past, uint64_t seen);
void http_cursor_done(struct http_cursor *cursor);
/* A comment, which keeps a connection open, where nothing else is to be read. */
void http_cursor_add_comment(struct http_cursor *cursor);
/* Up to max bytes of what is to be read; 0: nothing now. */
size_t http_cursor_read(struct http_cursor *cursor, const struct http_stream *stream, char *out, size_t max);
/* Everything was read, and no more will come. */
bool http_cursor_is_at_end(const struct http_cursor *cursor, const struct http_stream *stream);
