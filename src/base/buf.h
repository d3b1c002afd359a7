/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text or bytes that grow up to a cap given at creation. At the cap nothing more is added and `over` stays set, so a
 * writer checks once at the end instead of after each call. The content is always NUL-terminated.
 */
#pragma once

#include <string.h>

#include "base/macros.h"

struct buf {
	char *data;
	size_t len;
	size_t room;
	size_t cap;
	bool over;
};

#define BUF_CAP_DEFAULT ((size_t)16 << 20)

#define BUF_INIT(limit)                                                                                                \
	(struct buf)                                                                                                   \
	{                                                                                                              \
		.cap = (limit)                                                                                         \
	}

void buf_done(struct buf *b);
void buf_clear(struct buf *b);
/* Shortens the content to the first n bytes. */
void buf_truncate(struct buf *b, size_t n);
/* Makes room for n more bytes; false (and `over`) when that exceeds the cap. */
bool buf_grow(struct buf *b, size_t n);
void buf_add(struct buf *b, const void *data, size_t n);
void buf_add_text(struct buf *b, const char *text);
void buf_add_fill(struct buf *b, char c, size_t n);
void buf_add_format(struct buf *b, const char *format, ...) _printf_(2, 3);
/* The content as a C string, never NULL. */
const char *buf_text(const struct buf *b);
/* Reads all of fd; -E2BIG when it is longer than the cap. */
int buf_read_fd(struct buf *b, int fd) _must_check_;
int buf_read_file(struct buf *b, const char *path) _must_check_;

#define _cleanup_buf_ _cleanup_(buf_done)

static inline void buf_add_char(struct buf *b, char c)
{
	if (likely(b->len + 1 < b->room && !b->over) || buf_grow(b, 1)) {
		b->data[b->len++] = c;
		b->data[b->len] = '\0';
	}
}
