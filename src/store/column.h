/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fields as columns of a recording: one table holds the declared type and the functions that write a value and read a
 * cell. Addresses, endpoints and names of enums are text, lists and stacks are JSON, times and durations are
 * nanoseconds, unknown is NULL. 64-bit numbers above the largest signed one keep their bits.
 */
#pragma once

#include <sqlite3.h>

#include "base/buf.h"
#include "base/vec.h"
#include "record/value.h"

/* Cached names of small enum values that map back to the same value. */
#define COLUMN_NAMES 256

struct column {
	struct field_ref ref;
	struct buf text;    /* the cell being written; data NULL for kinds that need no text */
	const char **names; /* of an enum; COLUMN_NAMES entries, NULL until looked up */
};

/* INTEGER, REAL or TEXT. */
const char *column_sql_type(const struct field *field);
void column_init(struct column *column, struct field_ref ref);
void column_done(struct column *column);
/* Binds the column's value of the record, which must stay valid until the statement is stepped. */
int column_bind(struct column *column, sqlite3_stmt *statement, int number, const struct record *record) _must_check_;

/*
 * Reads a cell into the record (data is the part with the field). -EINVAL when it is not of the field's kind. Strings
 * and stacks are allocated: column_free_cells.
 */
int column_read(const struct field *field, sqlite3_stmt *statement, int number, void *data) _must_check_;
void column_free_cells(const struct record_type *type, void *data);

/* The SQL expression that makes a column readable, for views; false when the plain column is. */
bool column_add_readable(const struct field *field, const char *table, struct buf *sql);
