/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Goes on with a recording after a restart: nothing but the last batch is lost, and the past stays in one file. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "store/recording.h"
#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"

/* Why a recording cannot be continued; NULL: it can. */
static const char *find_obstacle(const char *path, struct why *why)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct host_record here;

	if (recording_open(path, &recording, why) < 0)
		return why->text;
	host_record_fill(&here);
	if (strcmp(here.boot_id, recording_host(recording)->boot_id) != 0)
		return "it is of another host or boot";
	return NULL;
}

/* The file with its log and index becomes FILE.before. */
static int put_aside(const char *path, struct why *why)
{
	static const char *const ends[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		_cleanup_free_ char *from = xasprintf("%s%s", path, ends[i]);
		_cleanup_free_ char *to = xasprintf("%s.before%s", path, ends[i]);

		(void)unlink(to);
		if (rename(from, to) < 0 && errno != ENOENT)
			return why_set(why, -errno, "cannot rename %s to %s: %s", from, to, strerror(errno));
	}
	return 0;
}

static int read_tables(struct store *store)
{
	sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT name, sql FROM sqlite_master WHERE type = 'table'", &statement);

	while (r == 0 && sqlite3_step(statement) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);
		const char *sql = (const char *)sqlite3_column_text(statement, 1);
		bool is_new;
		char **slot = name && sql ? map_put(&store->existing, name, &is_new) : NULL;

		if (slot && is_new)
			*slot = xstrdup(sql);
	}
	sqlite3_finalize(statement);
	return r;
}

/* What was valid when the writer ended was valid up to its last sample. */
static int end_states(struct store *store)
{
	const void *key;
	void *value;
	size_t at = 0;
	int r = store_begin(store);

	while (r == 0 && map_next(&store->existing, &at, &key, &value)) {
		_cleanup_buf_ struct buf sql = BUF_INIT(4096);

		if (!strstr(*(char **)value, "(first INTEGER NOT NULL, last INTEGER NOT NULL, pos"))
			continue;
		buf_add_text(&sql, "UPDATE ");
		sql_add_name(&sql, key);
		buf_add_format(&sql, " SET last = %llu WHERE last = %lld", (unsigned long long)store->last_sample,
			       (long long)STATE_OPEN);
		r = store_run(store, buf_text(&sql));
	}
	return r == 0 ? store_commit(store) : r;
}

/* Ids of samples and the moving window go on where they were. */
static int read_timeline(struct store *store)
{
	sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, "SELECT id, begin_boot_ns FROM sample ORDER BY id DESC LIMIT 1", &statement);

	if (r == 0 && sqlite3_step(statement) == SQLITE_ROW) {
		store->last_sample = (uint64_t)sqlite3_column_int64(statement, 0);
		store->origin_ns = (int64_t)(store->last_sample * NSEC_PER_MSEC) - sqlite3_column_int64(statement, 1);
	}
	sqlite3_finalize(statement);
	return r;
}

/* Tables that everything else relies on; those of rows open when the first of them comes. */
static int open_tables(struct store *store)
{
	const struct record_type *const known[] = {&column_type,   &recording_type, &host_type, &recorded_sample_type,
						   &attached_type, &loss_type,      &mark_type};
	struct store_table *table;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(known); i++)
		r = store_table_open(store, known[i]->name, &SHAPE_OF(known[i]), &table);
	return r == 0 ? store_commit(store) : r;
}

static int go_on(const char *path, struct store **ret_store, struct why *why)
{
	struct store *store = xzalloc(sizeof(*store));
	struct stat info;
	int code, r = 0;

	store->path = xstrdup(path);
	/* Of the rows that come: numbers of rows that were deleted may come again. */
	store->begin_ns = clock_real_ns();
	store->existing = MAP_INIT(0, sizeof(char *), 10000);
	if (stat(path, &info) == 0) {
		store->dev = info.st_dev;
		store->ino = info.st_ino;
		store->bytes = info.st_size;
	}
	code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			       NULL);
	if (code != SQLITE_OK)
		r = store_fail(store, code);
	if (r == 0)
		r = store_run(store, store_open_sql);
	if (r == 0)
		r = store_run(store, store_log_sql);
	if (r == 0)
		r = read_tables(store);
	if (r == 0)
		r = read_timeline(store);
	if (r == 0)
		r = end_states(store);
	if (r == 0)
		r = open_tables(store);
	if (r < 0) {
		(void)why_set(why, r, "%s", store->why.text);
		store_free(store);
		return r;
	}
	*ret_store = store;
	return 0;
}

static bool is_empty(const char *path)
{
	struct stat info;

	return stat(path, &info) < 0 || info.st_size == 0;
}

int store_resume(const char *path, const char *command, struct store **ret_store, bool *ret_resumed, struct why *why)
{
	struct why reason = {};
	int r = 0;

	*ret_resumed = false;
	if (!is_empty(path)) {
		if (!find_obstacle(path, &reason) && go_on(path, ret_store, &reason) == 0) {
			*ret_resumed = true;
			return 0;
		}
		r = put_aside(path, why);
	}
	return r == 0 ? store_create(path, command, ret_store, why) : r;
}
