/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and numbers from lines of NUL-terminated /proc text. None of these reads beyond the end of the line. */
#pragma once

#include "base/macros.h"

/* Next word of the line; false: end of line. */
bool scan_word(const char **text, const char **ret_word, size_t *ret_len);
/* Next word as a number; false: end of line, or not a number (then skipped). */
bool scan_u64(const char **text, uint64_t *ret_value);
/* The same, in hexadecimal without a prefix. */
bool scan_hex(const char **text, uint64_t *ret_value);
/* Signed. */
bool scan_i64(const char **text, int64_t *ret_value);
bool scan_skip(const char **text, unsigned words);
/* Number after a key at the start of a line ("nr_throttled 5"), with or without a colon; false: no such line. */
bool scan_keyed(const char *text, const char *key, uint64_t *ret_value);
/* Moves to the next line; false: none. */
bool scan_next_line(const char **text);
