/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary directory with a recording, removed with the test. */
#pragma once

#include <sqlite3.h>
#include <sys/stat.h>

#include "store/store.h"
#include "unit.h"

struct room {
	char dir[64];
	char path[128];
};

static inline void room_done(struct room *room)
{
	_cleanup_free_ char *wal = xasprintf("%s-wal", room->path), *shm = xasprintf("%s-shm", room->path);

	(void)unlink(room->path);
	(void)unlink(wal);
	(void)unlink(shm);
	(void)rmdir(room->dir);
}

#define _cleanup_room_ _cleanup_(room_done)

static inline void room_make(struct room *room)
{
	snprintf(room->dir, sizeof(room->dir), "/tmp/nest-store-XXXXXX");
	REQUIRE(mkdtemp(room->dir));
	snprintf(room->path, sizeof(room->path), "%s/r.nest", room->dir);
}

static inline struct store *room_create(const struct room *room)
{
	struct store *store = NULL;
	struct why why = {};

	if (!CHECK_OK(store_create(room->path, "test", &store, &why)))
		unit_note("%s", why.text);
	REQUIRE(store);
	return store;
}

/* The first cell of the first row, as a number. */
static inline int64_t file_number(const char *path, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *statement;
	int64_t number;

	REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
	REQUIRE(sqlite3_prepare_v2(db, sql, -1, &statement, NULL) == SQLITE_OK);
	REQUIRE(sqlite3_step(statement) == SQLITE_ROW);
	number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return number;
}

static inline int64_t room_number(const struct room *room, const char *sql)
{
	return file_number(room->path, sql);
}

/* File and log together. */
static inline uint64_t room_bytes(const struct room *room)
{
	_cleanup_free_ char *wal = xasprintf("%s-wal", room->path);
	struct stat file = {}, log = {};

	(void)stat(room->path, &file);
	(void)stat(wal, &log);
	return (uint64_t)file.st_size + (uint64_t)log.st_size;
}
