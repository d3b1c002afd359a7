/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable views of a recording's tables: in the file for the sqlite3 shell, made anew for nest sql. */
#pragma once

#include "base/vec.h"
#include "record/field.h"
#include "store/recording.h"

struct readable_column {
	const char *name;
	const struct field *field; /* NULL: a column that this program does not know */
};

struct readable_columns {
	VEC(struct readable_column) items;
};

/*
 * The statement that makes the view v_NAME: times, handles and flags as people read them; of states a row for every
 * sample that they hold in.
 */
void views_add_sql(struct buf *sql, const char *name, bool states, bool temporary,
		   const struct readable_columns *columns);
/* Makes all views of the recording, in memory. Those in the file are never used. */
int views_make(struct recording *recording, struct why *why) _must_check_;
/* The field behind a column of a table, or NULL. */
const struct field *views_find_field(const char *table, const char *column);
