/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "base/log.h"
#include "base/text.h"

static enum log_level current_level = LOG_LEVEL_STATUS;

void log_set_level(enum log_level level)
{
	current_level = level;
}

bool log_speaks(enum log_level level)
{
	return level <= current_level;
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
	/* One call, so that lines of several processes do not mix. */
	fprintf(stderr, "nest: %s\n", shown.len ? buf_text(&shown) : line);
}
