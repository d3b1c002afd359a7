/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers for numbers. Each accepts the whole text or refuses it: no leading blanks, no trailing letters, no unexpected
 * sign, no silent overflow. -EINVAL: syntax error; -ERANGE: outside the limits.
 */
#pragma once

#include "base/macros.h"

/* Decimal, or hexadecimal with 0x. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value) _must_check_;
/* Decimal only: ports, prefix lengths. */
int parse_decimal(const char *text, uint64_t min, uint64_t max, uint64_t *ret_value) _must_check_;
int parse_i64(const char *text, int64_t min, int64_t max, int64_t *ret_value) _must_check_;
/* Decimal notation with an optional exponent; no infinity, no NaN. */
int parse_double(const char *text, double min, double max, double *ret_value) _must_check_;
/* 0.05, 5%. */
int parse_ratio(const char *text, double *ret_value) _must_check_;
/* 250ms, 1.5s, 10us, 2h; units ns us ms s m (or min) h d; a bare number only when it is 0. */
int parse_duration_ns(const char *text, uint64_t *ret_ns) _must_check_;
/* The same, but a bare number is seconds (`-d 5`). */
int parse_seconds_ns(const char *text, uint64_t *ret_ns) _must_check_;
/* 4096, 64KiB, 1.5MB, 10k; KiB MiB GiB TiB are powers of 1024; kB MB GB TB and k M G T of 1000. */
int parse_size_bytes(const char *text, uint64_t *ret_bytes) _must_check_;
int parse_port(const char *text, uint16_t *ret_port) _must_check_;
/* yes no true false on off 1 0 */
int parse_bool(const char *text, bool *ret_value) _must_check_;
/* 2026-11-15T02:13:00.5Z (or +01:00, or local without a zone), or nanoseconds since 1970. */
int parse_time_ns(const char *text, uint64_t *ret_ns) _must_check_;
