/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>

#include "base/log.h"

static enum log_level current_level = LOG_LEVEL_INFO;

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
	/* One call, so that lines of several processes do not mix. */
	fprintf(stderr, "nest: %s\n", line);
}
