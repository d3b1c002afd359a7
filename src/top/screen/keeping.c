/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/keeping.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"

int keeping_open(struct keeping *keeping, struct why *why)
{
	const char *base = getenv("TMPDIR");

	keeping->dir = xasprintf("%s/nest-top-XXXXXX", base && *base == '/' ? base : "/tmp");
	if (!mkdtemp(keeping->dir)) {
		int error = errno;

		free(take_ptr(keeping->dir));
		return why_set(why, -error, "cannot make a temporary directory: %s (--keep 0 does without)",
			       strerror(error));
	}
	keeping->file = xasprintf("%s/last.nest", keeping->dir);
	return 0;
}

int keeping_trim(struct store *store, uint64_t age_ns)
{
	uint64_t now_ns = clock_real_ns();

	return now_ns > age_ns ? store_trim(store, 0, now_ns - age_ns) : 0;
}

static int copy_database(const char *from, const char *path, struct why *why)
{
	sqlite3_stmt *statement = NULL;
	sqlite3 *db = NULL;
	int code = sqlite3_open_v2(from, &db, SQLITE_OPEN_READWRITE, NULL), r = 0;

	if (code == SQLITE_OK)
		code = sqlite3_prepare_v2(db, "VACUUM INTO ?1", -1, &statement, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_step(statement);
	if (code != SQLITE_DONE)
		r = why_set(why, -EIO, "cannot write %.200s: %s", path, sqlite3_errmsg(db));
	(void)sqlite3_finalize(statement);
	(void)sqlite3_close(db);
	return r;
}

int keeping_copy(const struct keeping *keeping, struct store *store, const char *path, struct why *why)
{
	_cleanup_close_ int fd = -1;
	int r = store_commit(store);

	if (r < 0)
		return why_set(why, r, "%s", store_why(store));
	/* Made here, and empty, so that nobody else can put something in its place; only the owner may read it. */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return why_set(why, -errno, "cannot write %.200s: %s", path, strerror(errno));
	r = copy_database(keeping->file, path, why);
	if (r < 0)
		(void)unlink(path);
	return r;
}

void keeping_close(struct keeping *keeping)
{
	static const char *const endings[] = {"", "-wal", "-shm", "-journal"};

	for (size_t i = 0; keeping->file && i < ARRAY_SIZE(endings); i++) {
		_cleanup_free_ char *path = xasprintf("%s%s", keeping->file, endings[i]);

		(void)unlink(path);
	}
	if (keeping->dir)
		(void)rmdir(keeping->dir);
	free(take_ptr(keeping->file));
	free(take_ptr(keeping->dir));
}
