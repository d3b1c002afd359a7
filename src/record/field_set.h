/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes values to records, checked against the field: for readers of untrusted files. */
#pragma once

#include "record/value.h"

/* For fields stored as a number; -ERANGE when it does not fit. */
int field_set_integer(const struct field *field, void *data, __int128 value) _must_check_;
/*
 * For text, and kinds written as text: names of enums and flags, addresses, hexadecimal numbers. The text ends with a
 * NUL after len bytes. A string is allocated: record_free_strings.
 */
int field_set_text(const struct field *field, void *data, const char *text, size_t len) _must_check_;
void record_free_strings(const struct record_type *type, void *data);
