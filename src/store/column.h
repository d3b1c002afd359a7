/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields as columns of a recording: one table knows the declared type, how a value is written and how a cell is read
 * back. Addresses, endpoints and names of enums are text, lists and stacks are JSON, times and durations are
 * nanoseconds, unknown is NULL. 64-bit numbers above the largest signed one keep their bits.
 */
#pragma once

#include <sqlite3.h>

#include "base/buf.h"
#include "base/vec.h"
#include "record/value.h"

/* Names of small enum values that were looked up and read back as the same value. */
#define COLUMN_NAMES 256

struct column {
	struct field_ref ref;
	struct buf text;    /* of the cell being written; NULL data for kinds that need none */
	const char **names; /* of an enum; COLUMN_NAMES entries, NULL until looked up */
};

/* INTEGER, REAL or TEXT. */
const char *column_sql_type(const struct field *field);
void column_init(struct column *column, struct field_ref ref);
void column_done(struct column *column);
/* Binds the column's value of the record; what it points at must stay until the statement was stepped. */
int column_bind(struct column *column, sqlite3_stmt *statement, int number, const struct record *record) _must_check_;

/*
 * A cell into the record (data is the part that the field is in). -EINVAL when it is not of the field's kind. Strings
 * and stacks are allocated: column_free_cells.
 */
int column_read(const struct field *field, sqlite3_stmt *statement, int number, void *data) _must_check_;
void column_free_cells(const struct record_type *type, void *data);

/* The expression that shows a column to a person, for views; false when the plain column does. */
bool column_add_readable(const struct field *field, const char *table, struct buf *sql);
