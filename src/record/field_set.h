/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values put into records, checked against the field: for readers of files, which may hold anything. */
#pragma once

#include "record/value.h"

/* Of a field that is stored as a number; -ERANGE when it does not fit. */
int field_set_integer(const struct field *field, void *data, __int128 value) _must_check_;
/*
 * Text, or what the field's kind writes as text: names of enums and flags, addresses, hexadecimal numbers. The text
 * ends with a NUL after len bytes. A string is allocated: record_free_strings.
 */
int field_set_text(const struct field *field, void *data, const char *text, size_t len) _must_check_;
void record_free_strings(const struct record_type *type, void *data);
