/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable views of a recording's tables: in the file for the sqlite3 shell, recreated for nest sql. */
#pragma once

#include "base/vec.h"
#include "record/field.h"
#include "store/recording.h"

struct readable_column {
	const char *name;
	const struct field *field; /* NULL: a column unknown to this version */
};

struct readable_columns {
	VEC(struct readable_column) items;
};

/*
 * The statement that creates the view v_NAME: readable times, handles and flags; for a state table, one row per sample
 * and valid state.
 */
void views_add_sql(struct buf *sql, const char *name, bool states, bool temporary,
		   const struct readable_columns *columns);
/* Creates all views of the recording, in memory. Those in the file are never used. */
int views_make(struct recording *recording, struct why *why) _must_check_;
/* Views NAME and v_NAME of the rows of several tables with the same columns: of those that were recorded, if any. */
int views_join(struct recording *recording, const char *name, const char *const *tables, size_t count,
	       struct why *why) _must_check_;
/* The field of a column, or NULL. */
const struct field *views_find_field(const char *table, const char *column);
