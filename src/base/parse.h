/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers out of text. Each parser takes the whole text or refuses it: no leading blanks, no trailing letters, no sign
 * where none belongs, no silent overflow. -EINVAL: not understood; -ERANGE: understood, but outside the limits.
 */
#pragma once

#include "base/macros.h"

/* Decimal, or hexadecimal with 0x. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value) _must_check_;
/* Decimal only: ports, prefix lengths. */
int parse_decimal(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value) _must_check_;
int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value) _must_check_;
/* Plain decimal notation with an optional exponent; neither infinite nor NaN. */
int parse_double(const char *text, double min, double max, double *ret_value) _must_check_;
/* 0.05, 5%; shares of one. */
int parse_ratio(const char *text, double *ret_value) _must_check_;
/* 250ms, 1.5s, 10us, 2h; units ns us ms s m (or min) h d; a bare number only when it is 0. */
int parse_duration_ns(const char *text, uint64_t *ret_ns) _must_check_;
/* The same, but a bare number counts in seconds, as people write `-d 5`. */
int parse_seconds_ns(const char *text, uint64_t *ret_ns) _must_check_;
/* 4096, 64KiB, 1.5MB, 10k; KiB MiB GiB TiB count by 1024, kB MB GB TB by 1000, and so do k M G T. */
int parse_size_bytes(const char *text, uint64_t *ret_bytes) _must_check_;
int parse_port(const char *text, uint16_t *ret_port) _must_check_;
/* yes no true false on off 1 0 */
int parse_bool(const char *text, bool *ret_value) _must_check_;
/* 2026-11-15T02:13:00.5Z (or +01:00, or local without a zone), or nanoseconds since 1970. */
int parse_time_ns(const char *text, uint64_t *ret_ns) _must_check_;
