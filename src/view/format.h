/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values for humans: one unit, three significant digits, never an exponent; unknown is "-". Escaped for a terminal. All
 * figures go through here: tables, sentences, plots, pages.
 */
#pragma once

#include "base/buf.h"
#include "record/value.h"

void format_add_value(struct buf *out, const struct field *field, const struct value *value);

/* 1.57 ms */
void format_add_duration(struct buf *out, int64_t ns);
/* In one unit, without a fraction: 6 h. */
void format_add_span(struct buf *out, uint64_t seconds);
/* 1500 B, 3.10 MB */
void format_add_bytes(struct buf *out, int64_t bytes);
/* 6.30 MB/s */
void format_add_rate(struct buf *out, double bytes_per_second);
/* 9999, 12.3k */
void format_add_count(struct buf *out, int64_t count);
/* The same with decimals. */
void format_add_number(struct buf *out, double value);
/* A share (0 to 1) as 0.5 %, 87 % */
void format_add_share(struct buf *out, double share);
/* 1 event, 2 events */
void format_add_plural(struct buf *out, uint64_t count, const char *noun);
/*
 * Of a sentence that goes on after the number 1, in the plural: adds the words up to the noun, and a verb after it, in
 * the singular. Returns what is left of the sentence.
 */
const char *format_add_singular(struct buf *out, const char *sentence);
/* 02:13:07.123456 and 02:13:07, local time */
void format_add_time(struct buf *out, uint64_t ns);
void format_add_clock(struct buf *out, uint64_t ns);
/* A column's heading: the name in capitals, without the unit, which the values have. */
void format_add_heading(struct buf *out, const struct field *field);
/* The kind of the field's values: duration, size, share ... */
const char *format_kind_name(const struct field *field);

/* Numbers for programs; each returns the end of its output. */
char *format_put_uint(char *at, uint64_t value);
char *format_put_int(char *at, int64_t value);
/* The shortest text that reads back as the same number; at most 32 bytes. Finite values only. */
char *format_put_real(char *at, double value);
void format_add_flags(struct buf *out, const struct field *field, uint64_t bits);
