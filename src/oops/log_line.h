/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kernel logs as people keep them: dmesg with and without times, /dev/kmsg, syslog, journal export, pstore, a serial
 * console with noise. Here they become plain lines of the kernel. Any bytes are accepted.
 */
#pragma once

#include "base/macros.h"

/* Longer lines are cut: only lists of modules come near. */
#define LOG_LINE_MAX 4096

struct log_line {
	uint32_t number;    /* in the file, from 1 */
	uint64_t uptime_ns; /* UINT64_MAX: unknown */
	uint64_t time_ns;   /* CLOCK_REALTIME; UINT64_MAX: unknown */
	char caller[16];    /* "T600", "C1" where the kernel prints it (CONFIG_PRINTK_CALLER); else empty */
	char text[LOG_LINE_MAX];
};

/* Removes everything around what the kernel printed. */
void log_line_clean(const char *raw, size_t len, struct log_line *line);

typedef void log_line_fn(const struct log_line *line, void *context);
/* Calls fn for each line of a log of any of these formats. Returns the number of lines. */
uint32_t log_line_each(const char *text, size_t len, log_line_fn *fn, void *context);
