/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the writer. */
#pragma once

#include "base/map.h"
#include "store/about.h"
#include "store/column.h"
#include "store/store.h"

struct states;

/* Columns that a table has before those of its fields. */
struct store_table {
	struct store *store;
	char *name;
	struct shape shape;
	struct states *states; /* of a state table; else NULL */
	VEC(struct column) columns;
	sqlite3_stmt *insert;
	int time_column; /* number of the column time_ns, or -1 */
};

struct store {
	sqlite3 *db;
	char *path;
	VEC(struct store_table *) tables;
	bool in_batch;
	uint64_t batch_begin_ns;
	uint64_t batch_rows;
	uint64_t last_sample; /* id */
	int error;            /* sticky */
	struct why why;
};

/* Keeps the error, rolls the batch back, returns a negative errno. */
int store_fail(struct store *store, int sqlite_code);
int store_run(struct store *store, const char *sql) _must_check_;
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement) _must_check_;
/* Steps a statement without result rows, and resets it. */
int store_step(struct store *store, sqlite3_stmt *statement) _must_check_;
/* Starts a batch if there is none. */
int store_begin(struct store *store) _must_check_;
/* states: a state table. */
int store_table_make(struct store *store, const char *name, const struct shape *shape, bool states,
		     struct store_table **ret_table) _must_check_;
/* Binds the fields' columns, starting at number. */
int store_bind(struct store_table *table, const struct record *record, int number) _must_check_;
