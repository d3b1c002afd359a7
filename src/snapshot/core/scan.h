/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and numbers out of the lines of a text of /proc. Texts end with NUL; none of these goes beyond a line's end. */
#pragma once

#include "base/macros.h"

/* The next word of the line; false at its end. */
bool scan_word(const char **text, const char **ret_word, size_t *ret_len);
/* The next word as a number; false at the end of the line, or when it is none (it is passed over then). */
bool scan_u64(const char **text, uint64_t *ret_value);
/* The same, in hexadecimal without a prefix. */
bool scan_hex(const char **text, uint64_t *ret_value);
/* A number that may be negative. */
bool scan_i64(const char **text, int64_t *ret_value);
bool scan_skip(const char **text, unsigned words);
/* The number behind a word that begins a line ("nr_throttled 5"), with or without a colon; false without that line. */
bool scan_keyed(const char *text, const char *key, uint64_t *ret_value);
/* Goes to the beginning of the next line; false when there is none. */
bool scan_next_line(const char **text);
