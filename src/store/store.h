/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a recording: one SQLite file in WAL mode, one table per record type with columns from its fields, rows in
 * batches of one transaction each. A killed process loses only the current batch.
 *
 *	r = store_create(path, "diagnose", &store, &why);
 *	r = store_table_open(store, "tcp.retransmit", &shape, &table);
 *	r = store_add(table, &record);
 *	store_tick(store);          regularly while no rows arrive
 *	r = store_close(store, &why);
 *
 * After an error (a full disk) the current batch is rolled back, committed rows stay, and every later call returns the
 * same error.
 */
#pragma once

#include "base/why.h"
#include "diagnose/infer/diagnosis.h"
#include "record/value.h"
#include "snapshot/core/snapshot.h"

struct store;
struct store_table;

/* Creates a new file; -EEXIST when it exists. */
int store_create(const char *path, const char *command, struct store **ret_store, struct why *why) _must_check_;
/*
 * Goes on with a recording of this host and boot by this version; any other one, or a damaged one, becomes FILE.before
 * (replaced), and a new file begins. ret_resumed: it was continued.
 */
int store_resume(const char *path, const char *command, struct store **ret_store, bool *ret_resumed,
		 struct why *why) _must_check_;
/* The table of that name, created on demand; the shape's types must outlive the store. */
int store_table_open(struct store *store, const char *name, const struct shape *shape,
		     struct store_table **ret_table) _must_check_;
int store_add(struct store_table *table, const struct record *record) _must_check_;
/* Of a table whose rows change. *row 0: adds it and sets its number; else it takes the place of that row. */
int store_put(struct store_table *table, const struct record *record, int64_t *row) _must_check_;
/* Deletes all rows. */
int store_table_clear(struct store_table *table) _must_check_;
/*
 * From now on fn also gets every row that store_add writes, with its number in the table; not the rows of snapshots.
 * NULL: no longer.
 */
typedef void store_row_fn(void *context, const char *table, uint64_t row, const struct shape *shape,
			  const struct record *record);
void store_on_row(struct store *store, store_row_fn *fn, void *context);
/* When the recording began. */
uint64_t store_begin_ns(const struct store *store);
/*
 * All tables of a snapshot; unchanged rows are not written again. Their durations are set to what a replay will give
 * (moment.h).
 */
int store_add_snapshot(struct store *store, struct snapshot *snapshot) _must_check_;
/* A diagnosis with its findings, without its modules. */
int store_add_findings(struct store *store, const struct diagnosis_record *diagnosis) _must_check_;
int store_add_mark(struct store *store, uint64_t time_ns, const char *label) _must_check_;
int store_add_loss(struct store *store, const char *source, uint64_t count) _must_check_;
/* Commits the current batch. */
int store_commit(struct store *store);
/* Commits the current batch if it is old enough. */
int store_tick(struct store *store);
/*
 * The timeline of a recording: the time of day at its start, and from there as the time since boot goes on. Ids of
 * samples are on it, and so is the moving window, so that nothing is lost when the clock is set.
 */
uint64_t store_now_ns(struct store *store);
/* Deletes rows between the two times of the line, except those valid at one of them. */
int store_trim(struct store *store, uint64_t from_ns, uint64_t to_ns) _must_check_;
/* Calls back with the time of every mark whose label begins so, in the order they were made. */
int store_each_mark(struct store *store, const char *prefix, void (*fn)(void *context, uint64_t time_ns),
		    void *context) _must_check_;
/* Time of the oldest sample or row, on the line; 0 when there is none. */
uint64_t store_oldest_ns(struct store *store);
/* From now on the oldest rows are deleted so that the file with its log stays below this. */
int store_limit_size(struct store *store, uint64_t bytes) _must_check_;
/* Used size of the file. */
uint64_t store_size(struct store *store);
/* Why writing stopped; "" while it works. */
const char *store_why(const struct store *store);
/* Commits and leaves one plain file; always frees the store. */
int store_close(struct store *store, struct why *why);
