/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads records from the JSON of view/json.c: for doctor -f and for tests. */
#pragma once

#include "base/why.h"
#include "record/field_set.h"

/*
 * Reads one line into a struct of the type (type->size bytes). Members that are absent or null become unknown, unknown
 * names are skipped (a later version may have written them), a value of the wrong kind is -EINVAL.
 * Strings are allocated: record_free_strings. Types with lists or stacks are -ENOTSUP.
 */
int record_read_json_line(const struct record_type *type, const char *line, size_t len, void *data,
			  struct why *why) _must_check_;
