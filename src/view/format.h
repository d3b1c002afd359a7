/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values for humans: scaled, with units, three significant digits; unknown is "-". Escaped for a terminal. */
#pragma once

#include "base/buf.h"
#include "record/value.h"

void format_add_value(struct buf *out, const struct field *field, const struct value *value);

/* 1.23ms */
void format_add_duration(struct buf *out, int64_t ns);
/* 3.10MB */
void format_add_bytes(struct buf *out, int64_t bytes);
/* 99999, then 123k */
void format_add_count(struct buf *out, int64_t count);
/* 02:13:07.123456, local time */
void format_add_time(struct buf *out, uint64_t ns);

/* Numbers for programs; each returns the end of its output. */
char *format_put_uint(char *at, uint64_t value);
char *format_put_int(char *at, int64_t value);
/* The shortest text that reads back as the same number; at most 32 bytes. Finite values only. */
char *format_put_real(char *at, double value);
void format_add_flags(struct buf *out, const struct field *field, uint64_t bits);
