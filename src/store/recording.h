/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reading a recording as what it is, a file from anywhere: opened read-only, nothing that the file brings along is run
 * (views, triggers, functions in its schema), sizes and time are bounded, every cell is checked against its field.
 */
#pragma once

#include <sqlite3.h>

#include "base/vec.h"
#include "base/why.h"
#include "record/value.h"
#include "store/about.h"

struct recording;

/* -EINVAL when it is no recording or damaged, -ENOTSUP when a later version wrote it; other errors as of open(2). */
int recording_open(const char *path, struct recording **ret_recording, struct why *why) _must_check_;
void recording_close(struct recording *recording);
static inline void recording_closep(struct recording **recording)
{
	recording_close(*recording);
}

const char *recording_path(const struct recording *recording);
const struct host_record *recording_host(const struct recording *recording);
/* When it was begun. */
uint64_t recording_begin_ns(const struct recording *recording);
const char *recording_command(const struct recording *recording);
/* For those who ask in SQL; the same defences hold. */
sqlite3 *recording_db(struct recording *recording);
/* Runs are ended after this time; 0: no limit. */
void recording_limit_time(struct recording *recording, uint64_t ns);
/* Makes an error of SQLite one of ours, with a sentence. */
int recording_fail(struct recording *recording, int sqlite_code, struct why *why);

/* Whether the file has such a table (its type's name, or the table's), and whether it is one of states. */
bool recording_has(const struct recording *recording, const char *name);
bool recording_has_states(const struct recording *recording, const char *name);

struct recorded_table {
	char *name;
	bool states;
	VEC(char *) columns;
};

/* All tables that were recorded, those about the recording itself included. */
size_t recording_table_count(const struct recording *recording);
const struct recorded_table *recording_table(const struct recording *recording, size_t number);

/* How many records of that source (an event's name, a table's) were lost while recording; added to what is there. */
int recording_lost(struct recording *recording, const char *source, uint64_t *lost, struct why *why) _must_check_;
