/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the writer. */
#pragma once

#include <sys/stat.h>

#include "base/map.h"
#include "store/about.h"
#include "store/column.h"
#include "store/lull.h"
#include "store/store.h"

struct states;

/* Columns that a table has before those of its fields. */
struct store_table {
	struct store *store;
	char *name;
	struct shape shape;
	bool is_states;        /* rows of snapshots, valid from one sample to another */
	struct states *states; /* of a state table; else NULL */
	VEC(struct column) columns;
	sqlite3_stmt *insert;
	sqlite3_stmt *replace; /* of a row by its number; NULL: not used so far */
	int time_column;       /* number of the column time_ns, or -1 */
};

/* The clock was set. */
struct clock_step {
	uint64_t line_ns; /* when, on the timeline of the recording */
	int64_t shift_ns; /* time of day minus timeline, from then on */
};

/* Bytes of a page of the file. */
#define STORE_PAGE 8192

struct store {
	sqlite3 *db;
	char *path;
	dev_t dev; /* of the file that was created; its name may come to mean another one */
	ino_t ino;
	off_t bytes;         /* it never shrinks */
	uint64_t checked_ns; /* last look at that */
	VEC(struct store_table *) tables;
	bool in_batch;
	uint64_t batch_begin_ns;
	uint64_t batch_rows;
	uint64_t last_sample; /* id */
	struct lull lull;
	int64_t origin_ns; /* of the timeline: the time of day minus the time since boot, at the start; 0: not set */
	VEC(struct clock_step) steps;
	struct map existing; /* name of a table of a recording that is continued -> its statement (char *) */
	bool trimming;
	uint64_t limit_bytes; /* of the file with its log; 0: none */
	uint64_t begin_ns;    /* time of day at the start */
	store_row_fn *row_fn; /* also gets the rows; NULL: nobody does */
	void *row_context;
	int error; /* sticky */
	struct why why;
};

/* Settings of the connection; and of the log, once the file is made. */
extern const char store_open_sql[], store_log_sql[];

/* Keeps the error, rolls the batch back, returns a negative errno. */
int store_fail(struct store *store, int sqlite_code);
/* Without a commit. */
void store_free(struct store *store);
int store_run(struct store *store, const char *sql) _must_check_;
int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement) _must_check_;
/* Deletes the oldest rows if the file is too large. */
int store_keep_size(struct store *store) _must_check_;
/* Steps a statement without result rows, and resets it. */
int store_step(struct store *store, sqlite3_stmt *statement) _must_check_;
/* Starts a batch if there is none. */
int store_begin(struct store *store) _must_check_;
/* states: a state table. */
int store_table_make(struct store *store, const char *name, const struct shape *shape, bool states,
		     struct store_table **ret_table) _must_check_;
/* Binds the fields' columns, starting at number. */
int store_bind(struct store_table *table, sqlite3_stmt *statement, const struct record *record,
	       int number) _must_check_;
