/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads recordings as untrusted files: opened read-only, views, triggers and functions of the file's schema never run,
 * sizes and time are bounded, every cell is checked against its field.
 */
#pragma once

#include <sqlite3.h>

#include "base/vec.h"
#include "base/why.h"
#include "record/value.h"
#include "store/about.h"

struct recording;

/* -EINVAL when it is not a recording or damaged, -ENOTSUP for a later schema version; other errors as of open(2). */
int recording_open(const char *path, struct recording **ret_recording, struct why *why) _must_check_;
void recording_close(struct recording *recording);
static inline void recording_closep(struct recording **recording)
{
	recording_close(*recording);
}

const char *recording_path(const struct recording *recording);
const struct host_record *recording_host(const struct recording *recording);
/* Start of the recording. */
uint64_t recording_begin_ns(const struct recording *recording);
const char *recording_command(const struct recording *recording);
/* For SQL queries, with the same restrictions. */
sqlite3 *recording_db(struct recording *recording);
/* Timeout of a query; 0: none. */
void recording_limit_time(struct recording *recording, uint64_t ns);
/* Turns an SQLite error into a negative errno and a reason. */
int recording_fail(struct recording *recording, int sqlite_code, struct why *why);

/* Whether the file has such a table (by its type's name, or the table's), and whether it is a state table. */
bool recording_has(const struct recording *recording, const char *name);
bool recording_has_states(const struct recording *recording, const char *name);

/* -ENODEV when interfaces were recorded, but none of this name; NULL: any. */
int recording_check_interface(struct recording *recording, const char *dev, struct why *why) _must_check_;

struct recorded_table {
	char *name;
	bool states;
	VEC(char *) columns;
};

/* All tables of the file, including the metadata. */
size_t recording_table_count(const struct recording *recording);
const struct recorded_table *recording_table(const struct recording *recording, size_t number);

/* Adds the number of records of a source (event or table) lost while recording. */
int recording_lost(struct recording *recording, const char *source, uint64_t *lost, struct why *why) _must_check_;
