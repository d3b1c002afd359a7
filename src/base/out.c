/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/out.h"
#include "base/parse.h"
#include "base/text.h"

#define OUT_BATCH ((size_t)64 << 10)

static void find_size(struct out *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {};
	uint64_t value;

	if (ioctl(out->fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){};
	out->height = size.ws_row;
	out->width = size.ws_col ?: columns && parse_u64(columns, 20, 10000, &value) == 0 ? (unsigned)value : 80;
}

/* A program that shows the output on a screen of its own, as nest top does, says how wide it is. */
static void find_shown_width(struct out *out)
{
	const char *columns = getenv("NEST_WIDTH");
	uint64_t value;

	if (columns && out->fd <= STDERR_FILENO && parse_u64(columns, 20, 10000, &value) == 0)
		out->width = (unsigned)value;
}

void out_init(struct out *out, int fd)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	*out = (struct out){.fd = fd, .is_terminal = isatty(fd) == 1, .pending = BUF_INIT((size_t)256 << 20)};
	out->movable = out->is_terminal && term && strcmp(term, "dumb") != 0;
	out->color = out->movable && !(no_color && *no_color);
	out->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	if (out->is_terminal)
		find_size(out);
	else
		find_shown_width(out);
}

int out_open(struct out *out, const char *path)
{
	struct new_file file;
	int r;

	if (!path || strcmp(path, "-") == 0) {
		out_init(out, STDOUT_FILENO);
		return 0;
	}
	r = new_file_open(&file, path);
	if (r < 0)
		return r;
	out_init(out, file.fd);
	out->owns_fd = true;
	out->file = file;
	return 0;
}

void out_end_line(struct out *out)
{
	buf_add_char(&out->pending, '\n');
	if (out->pending.len >= OUT_BATCH && !out->kept)
		(void)out_flush(out);
}

static void drop_old_content(struct out *out)
{
	if (out->file.stale && ftruncate(out->fd, 0) < 0 && !out->error)
		out->error = -errno;
	out->file.stale = false;
}

int out_flush(struct out *out)
{
	const char *data = buf_text(&out->pending);
	size_t left;

	if (out->pending.len > 0)
		drop_old_content(out);
	left = out->error ? 0 : out->pending.len;
	while (left > 0) {
		ssize_t n = write(out->fd, data, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd ready = {.fd = out->fd, .events = POLLOUT};

			(void)poll(&ready, 1, -1);
			continue;
		}
		if (n < 0) {
			out->error = -errno;
			break;
		}
		out->wrote = true;
		data += n;
		left -= (size_t)n;
	}
	if (out->pending.over && !out->error)
		out->error = -E2BIG;
	buf_clear(&out->pending);
	return out->error;
}

static void exchange(struct buf *a, struct buf *b)
{
	struct buf kept = *a;

	*a = *b;
	*b = kept;
}

void out_begin_screen(struct out *out)
{
	(void)out_flush(out);
	find_size(out);
	out->kept = true;
}

void out_end_screen(struct out *out)
{
	_cleanup_buf_ struct buf picture = BUF_INIT(out->pending.cap);
	const char *line = buf_text(&out->pending);
	size_t lines = 0, shown;

	for (const char *p = line; (p = strchr(p, '\n')); p++)
		lines++;
	/* The cursor is below the last line. */
	shown = out->height > 2 && lines >= out->height ? out->height - 2 : lines;
	/* From the upper left corner; clears the rest of each line and the lines below. */
	buf_add_text(&picture, "\033[H");
	for (size_t i = 0; i < shown; i++) {
		size_t n = strcspn(line, "\n");

		buf_add(&picture, line, n);
		buf_add_text(&picture, "\033[K\n");
		line += n + 1;
	}
	if (shown < lines)
		buf_add_format(&picture, "(%zu more line%s: a taller terminal, or a pipe)\033[K\n", lines - shown,
			       text_plural(lines - shown));
	buf_add_text(&picture, "\033[J");
	exchange(&out->pending, &picture);
	out->kept = false;
}

void out_pass(struct out *out, struct buf *text)
{
	if (out->kept) {
		buf_add(&out->pending, buf_text(text), text->len);
		buf_clear(text);
		return;
	}
	(void)out_flush(out);
	exchange(&out->pending, text);
	(void)out_flush(out);
	exchange(&out->pending, text);
}

int out_publish(struct out *out)
{
	if (out->owns_fd && out->wrote && !out->error)
		out->error = new_file_publish(&out->file);
	return out->error;
}

static int close_out(struct out *out)
{
	int r = 0;

	/* close may be the first call to report a full disk. */
	if (out->owns_fd)
		r = new_file_done(&out->file);
	out->owns_fd = false;
	buf_done(&out->pending);
	return r;
}

int out_done(struct out *out)
{
	int r, closed;

	drop_old_content(out);
	r = out_flush(out);
	if (r == 0 && out->owns_fd)
		r = new_file_publish(&out->file);
	closed = close_out(out);
	return r < 0 ? r : closed;
}

void out_drop(struct out *out)
{
	buf_clear(&out->pending);
	(void)close_out(out);
}

void out_add_folded(struct out *out, const char *text, size_t at, const char *prefix)
{
	size_t indent = text_columns(prefix, strlen(prefix));
	size_t room = out->width > indent + 20 ? out->width : 0;
	size_t start = at, blanks = 0;

	while (*text) {
		size_t n = strcspn(text, " ");
		size_t columns = text_columns(text, n);

		if (room && at > start && at + blanks + columns > room) {
			buf_add_char(&out->pending, '\n');
			buf_add_text(&out->pending, prefix);
			at = start = indent;
		} else {
			buf_add_fill(&out->pending, ' ', blanks);
			at += blanks;
		}
		buf_add(&out->pending, text, n);
		at += columns;
		text += n;
		blanks = strspn(text, " ");
		text += blanks;
	}
}

const char *out_style_on(const struct out *out, enum out_style style)
{
	static const char *const sequences[] = {
		[OUT_PLAIN] = "",         [OUT_BOLD] = "\033[1m",    [OUT_DIM] = "\033[2m",   [OUT_RED] = "\033[31m",
		[OUT_GREEN] = "\033[32m", [OUT_YELLOW] = "\033[33m", [OUT_CYAN] = "\033[36m",
	};

	return out->color ? sequences[style] : "";
}

const char *out_style_off(const struct out *out, enum out_style style)
{
	return out->color && style != OUT_PLAIN ? "\033[0m" : "";
}
