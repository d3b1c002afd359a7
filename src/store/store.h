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
/* The table of that name, created on demand; the shape's types must outlive the store. */
int store_table_open(struct store *store, const char *name, const struct shape *shape,
		     struct store_table **ret_table) _must_check_;
int store_add(struct store_table *table, const struct record *record) _must_check_;
/* All tables of a snapshot; unchanged rows are not written again (states.h). */
int store_add_snapshot(struct store *store, const struct snapshot *snapshot) _must_check_;
/* A diagnosis with its findings, without its modules. */
int store_add_findings(struct store *store, const struct diagnosis_record *diagnosis) _must_check_;
int store_add_mark(struct store *store, uint64_t time_ns, const char *label) _must_check_;
int store_add_loss(struct store *store, const char *source, uint64_t count) _must_check_;
/* Commits the current batch. */
int store_commit(struct store *store);
/* Commits the current batch if it is old enough. */
int store_tick(struct store *store);
/* Deletes rows between the two times, except those valid at one of them. */
int store_trim(struct store *store, uint64_t from_ns, uint64_t to_ns) _must_check_;
/* Used size of the file. */
uint64_t store_size(struct store *store);
/* Time of the oldest sample or row; 0 when there is none. */
uint64_t store_oldest_ns(struct store *store);
/* Why writing stopped; "" while it works. */
const char *store_why(const struct store *store);
/* Commits and leaves one plain file; always frees the store. */
int store_close(struct store *store, struct why *why);
