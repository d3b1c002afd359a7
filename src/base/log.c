/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "base/log.h"
#include "base/out.h"
#include "base/text.h"

static enum log_level current_level = LOG_LEVEL_STATUS;
static void (*divert)(void *context, const char *message);
static void *divert_context;

void log_divert(void (*take)(void *context, const char *message), void *context)
{
	divert = take;
	divert_context = context;
}

void log_set_level(enum log_level level)
{
	current_level = level;
}

bool log_speaks(enum log_level level)
{
	return level <= current_level;
}

#define PREFIX "nest: "

/*
 * A terminal would break the line inside a word. Messages of several lines (an expression and a mark below it) stay as
 * they are. One call, so that lines of several processes do not mix.
 */
static void write_line(const char *text)
{
	struct out out;

	out_init(&out, STDERR_FILENO);
	if (out.width && !strchr(text, '\n')) {
		buf_add_text(&out.pending, PREFIX);
		out_add_folded(&out, text, strlen(PREFIX), "      ");
		buf_add_char(&out.pending, '\n');
	}
	if (out_done(&out) < 0 || !out.wrote)
		fprintf(stderr, PREFIX "%s\n", text);
}

void log_write(enum log_level level, const char *format, ...)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(16 << 10);
	char line[2048];
	va_list args;
	int n;

	if (!log_speaks(level))
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (n < 0)
		return;
	/* File names and other words from outside; not when memory is short, nor in the lines of libbpf's log. */
	if (level != LOG_LEVEL_QUIET && level != LOG_LEVEL_DEBUG)
		text_add_message(&shown, line, strlen(line));
	if (divert && level != LOG_LEVEL_QUIET)
		divert(divert_context, shown.len ? buf_text(&shown) : line);
	else if (shown.len)
		write_line(buf_text(&shown));
	else
		fprintf(stderr, PREFIX "%s\n", line);
}
