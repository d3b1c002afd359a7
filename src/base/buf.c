/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>

#include "base/alloc.h"
#include "base/buf.h"

void buf_done(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->cap);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->over = false;
	if (b->data)
		b->data[0] = '\0';
}

void buf_truncate(struct buf *b, size_t n)
{
	if (n >= b->len)
		return;
	b->len = n;
	b->data[n] = '\0';
}

static size_t buf_cap(const struct buf *b)
{
	return b->cap ? b->cap : BUF_CAP_DEFAULT;
}

bool buf_grow(struct buf *b, size_t n)
{
	size_t cap = buf_cap(b);
	size_t need;

	if (b->over || n > cap || b->len > cap - n) {
		b->over = true;
		return false;
	}
	need = b->len + n + 1;
	if (need > b->room) {
		b->room = max_of(need, min_of(b->room * 2 + 64, cap + 1));
		b->data = xrealloc(b->data, b->room);
		b->data[b->len] = '\0';
	}
	return true;
}

void buf_add(struct buf *b, const void *data, size_t n)
{
	if (!buf_grow(b, n))
		return;
	if (n)
		memcpy(b->data + b->len, data, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_add_fill(struct buf *b, char c, size_t n)
{
	if (!buf_grow(b, n))
		return;
	memset(b->data + b->len, c, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_add_format(struct buf *b, const char *format, ...)
{
	va_list args;
	int n;

	if (b->over)
		return;
	if (!buf_grow(b, 120))
		b->over = false; /* the actual text may be shorter */
	va_start(args, format);
	n = vsnprintf(b->data ? b->data + b->len : NULL, b->data ? b->room - b->len : 0, format, args);
	va_end(args);
	if (n < 0) {
		b->over = true;
		return;
	}
	if (b->data && (size_t)n < b->room - b->len) {
		b->len += (size_t)n;
		return;
	}
	if (b->data)
		b->data[b->len] = '\0';
	if (!buf_grow(b, (size_t)n))
		return;
	va_start(args, format);
	vsnprintf(b->data + b->len, b->room - b->len, format, args);
	va_end(args);
	b->len += (size_t)n;
}

const char *buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}

int buf_read_fd(struct buf *b, int fd)
{
	for (;;) {
		ssize_t n;

		/* A read at the cap tells whether the file just fits or is longer. */
		if (!buf_grow(b, 1)) {
			char extra;

			b->over = false;
			n = read(fd, &extra, 1);
			if (n == 0)
				return 0;
			b->over = true;
			return n < 0 ? -errno : -E2BIG;
		}
		if (b->room - b->len < 4096)
			(void)buf_grow(b, min_of(buf_cap(b) - b->len, (size_t)65536));
		n = read(fd, b->data + b->len, b->room - b->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		b->len += (size_t)n;
		b->data[b->len] = '\0';
	}
}

int buf_read_file(struct buf *b, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return buf_read_fd(b, fd);
}
