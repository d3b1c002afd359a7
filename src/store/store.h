/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a recording: one SQLite file in WAL mode, a table for every record type with columns from its fields, rows in
 * batches of one transaction each. A process that is killed loses the batch under way and nothing else.
 *
 *	r = store_create(path, "diagnose", &store, &why);
 *	r = store_table_open(store, "tcp.retransmit", &shape, &table);
 *	r = store_add(table, &record);
 *	store_tick(store);          now and then, when nothing comes
 *	r = store_close(store, &why);
 *
 * After an error (a full disk) the batch under way is taken back, what was committed stays, and everything further is
 * refused with the same error.
 */
#pragma once

#include "base/why.h"
#include "diagnose/infer/diagnosis.h"
#include "record/value.h"
#include "snapshot/core/snapshot.h"

struct store;
struct store_table;

/* A new file; -EEXIST when there is one. */
int store_create(const char *path, const char *command, struct store **ret_store, struct why *why) _must_check_;
/* The table of that name, made if need be; the shape's types must outlive the store. */
int store_table_open(struct store *store, const char *name, const struct shape *shape,
		     struct store_table **ret_table) _must_check_;
int store_add(struct store_table *table, const struct record *record) _must_check_;
/* All tables of a snapshot; rows that did not change since the one before are not written again (states.h). */
int store_add_snapshot(struct store *store, const struct snapshot *snapshot) _must_check_;
/* The findings of a diagnosis, and the diagnosis itself without its modules. */
int store_add_findings(struct store *store, const struct diagnosis_record *diagnosis) _must_check_;
int store_add_mark(struct store *store, uint64_t time_ns, const char *label) _must_check_;
int store_add_loss(struct store *store, const char *source, uint64_t count) _must_check_;
/* Ends the batch under way. */
int store_commit(struct store *store);
/* Ends it if it is old enough. */
int store_tick(struct store *store);
/* Forgets what lies between the two times, except what still holds at one of them. */
int store_trim(struct store *store, uint64_t from_ns, uint64_t to_ns) _must_check_;
/* Size of the file as far as it is in use. */
uint64_t store_size(struct store *store);
/* Time of the oldest sample or row that may still be there; 0 when there is none. */
uint64_t store_oldest_ns(struct store *store);
/* Why writing stopped; "" while it goes on. */
const char *store_why(const struct store *store);
/* Commits and leaves one plain file behind; frees it whatever happens. */
int store_close(struct store *store, struct why *why);
