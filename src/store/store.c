/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "store/states.h"
#include "store/store_inside.h"

/* A batch ends after this time or this many rows, whichever comes first. */
#define BATCH_NS   (500 * NSEC_PER_SEC / 1000)
#define BATCH_ROWS 4000
/* With a limit of size: a batch takes this share of it, at this many bytes per row. */
#define BATCH_SHARE 32
#define ROW_BYTES   256
/* How often the file is looked at. */
#define CHECK_NS NSEC_PER_SEC
/* Rows between two reads of the clock. */
#define CLOCK_ROWS 64

const char store_log_sql[] = "PRAGMA journal_mode = WAL;"
			     "PRAGMA wal_autocheckpoint = 2000;";
const char store_open_sql[] = "PRAGMA page_size = 8192;"
			      /* Somebody may read the file at the moment when its log begins. */
			      "PRAGMA busy_timeout = 2000;"
			      "PRAGMA synchronous = NORMAL;"
			      /* What is deleted need not be overwritten: the file is as private as its rows. */
			      "PRAGMA secure_delete = OFF;"
			      "PRAGMA temp_store = MEMORY;"
			      /* Rows are added, hardly ever read: more pages in memory would save no time. */
			      "PRAGMA cache_size = -4096;";

/* --- errors --- */

static int errno_of(sqlite3 *db, int sqlite_code)
{
	/* The log's index beside the file also needs room. */
	if ((sqlite_code & 0xff) == SQLITE_IOERR && sqlite3_system_errno(db) == ENOSPC)
		return -ENOSPC;
	switch (sqlite_code & 0xff) {
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_READONLY:
	case SQLITE_PERM:
		return -EACCES;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	default:
		return -EIO;
	}
}

/* SQLite does not hand on why a write failed. */
static bool is_size_limited(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

int store_fail(struct store *store, int sqlite_code)
{
	if (store->error == 0) {
		store->error = errno_of(store->db, sqlite_code);
		if (store->error == -ENOSPC)
			(void)why_set(&store->why, 0, "%s: no space left%s", store->path,
				      store->bytes > 0 ? "; the recording so far is kept" : "");
		else
			(void)why_set(&store->why, 0, "%s: %s%s", store->path, sqlite3_errmsg(store->db),
				      store->error == -EIO && is_size_limited() ? " (file size is limited: ulimit -f)"
										: "");
		/* Without memory there is not even a connection. */
		if (store->db && !sqlite3_get_autocommit(store->db))
			(void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
		store->in_batch = false;
	}
	return store->error;
}

int store_run(struct store *store, const char *sql)
{
	int code = store->error ? SQLITE_OK : sqlite3_exec(store->db, sql, NULL, NULL, NULL);

	return code == SQLITE_OK ? store->error : store_fail(store, code);
}

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret_statement)
{
	int code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret_statement, NULL);

	return code == SQLITE_OK ? 0 : store_fail(store, code);
}

int store_step(struct store *store, sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	(void)sqlite3_reset(statement);
	return code == SQLITE_DONE || code == SQLITE_ROW ? 0 : store_fail(store, code);
}

const char *store_why(const struct store *store)
{
	return store->why.text;
}

/* --- batches --- */

int store_begin(struct store *store)
{
	int r;

	if (store->error || store->in_batch)
		return store->error;
	r = store_run(store, "BEGIN IMMEDIATE");
	if (r < 0)
		return r;
	store->in_batch = true;
	store->batch_begin_ns = clock_monotonic_ns();
	store->batch_rows = 0;
	return 0;
}

/* Few rows at a time where the file must stay small. */
static uint64_t rows_in_batch(const struct store *store)
{
	uint64_t rows = store->limit_bytes / BATCH_SHARE / ROW_BYTES;

	return store->limit_bytes ? max_of(min_of(rows, (uint64_t)BATCH_ROWS), (uint64_t)CLOCK_ROWS) : BATCH_ROWS;
}

int store_commit(struct store *store)
{
	int r;

	if (store->error || !store->in_batch)
		return store->error;
	r = store_run(store, "COMMIT");
	store->in_batch = false;
	return r == 0 && !store->trimming ? store_keep_size(store) : r;
}

static bool is_same_file(const char *path, dev_t dev, ino_t ino, off_t least)
{
	struct stat info;

	return stat(path, &info) == 0 && info.st_dev == dev && info.st_ino == ino && info.st_size >= least;
}

static void note_size(struct store *store)
{
	struct stat info;

	if (stat(store->path, &info) == 0)
		store->bytes = info.st_size;
}

/* Rows written to a file without a name are lost, and SQLite does not notice. */
static int check_file(struct store *store)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (store->error || now_ns - store->checked_ns < CHECK_NS)
		return store->error;
	store->checked_ns = now_ns;
	if (!is_same_file(store->path, store->dev, store->ino, store->bytes)) {
		store->error = -EIO;
		return why_set(&store->why, -EIO, "%s was deleted, replaced or truncated by another program",
			       store->path);
	}
	note_size(store);
	return 0;
}

int store_tick(struct store *store)
{
	int r = check_file(store);

	if (r < 0)
		return r;
	if (store->in_batch &&
	    (store->batch_rows >= rows_in_batch(store) || clock_monotonic_ns() - store->batch_begin_ns >= BATCH_NS))
		return store_commit(store);
	return store->error;
}

int store_bind(struct store_table *table, sqlite3_stmt *statement, const struct record *record, int number)
{
	vec_each(&table->columns, column) {
		int code = column_bind(column, statement, number++, record);

		if (code != SQLITE_OK)
			return store_fail(table->store, code);
	}
	return 0;
}

int store_add(struct store_table *table, const struct record *record)
{
	struct store *store = table->store;
	int r = store_begin(store);

	if (r == 0)
		r = store_bind(table, table->insert, record, 1);
	if (r == 0)
		r = store_step(store, table->insert);
	if (r < 0)
		return r;
	if (store->row_fn)
		store->row_fn(store->row_context, table->name, (uint64_t)sqlite3_last_insert_rowid(store->db),
			      &table->shape, record);
	store->batch_rows++;
	if (store->batch_rows >= rows_in_batch(store))
		return store_commit(store);
	return store->batch_rows % CLOCK_ROWS == 0 ? store_tick(store) : 0;
}

void store_on_row(struct store *store, store_row_fn *fn, void *context)
{
	store->row_fn = fn;
	store->row_context = context;
}

uint64_t store_begin_ns(const struct store *store)
{
	return store->begin_ns;
}

/* --- metadata --- */

static int add_one(struct store *store, const struct record_type *type, const void *data)
{
	struct store_table *table;
	int r = store_table_open(store, type->name, &SHAPE_OF(type), &table);

	return r < 0 ? r : store_add(table, &RECORD_OF(data));
}

int store_add_mark(struct store *store, uint64_t time_ns, const char *label)
{
	return add_one(store, &mark_type, &(struct mark_record){.time_ns = time_ns, .label = label});
}

int store_add_loss(struct store *store, const char *source, uint64_t count)
{
	return add_one(store, &loss_type,
		       &(struct loss_record){.time_ns = clock_real_ns(), .source = source, .count = count});
}

static int describe(struct store *store, const char *command)
{
	struct recording_record recording = {
		.version = STORE_VERSION, .nest = NEST_VERSION, .time_ns = clock_real_ns(), .command = command};
	const struct record_type *empty[] = {&recorded_sample_type, &attached_type, &loss_type, &mark_type};
	struct store_table *table;
	struct host_record host;
	int r = add_one(store, &recording_type, &recording);

	store->begin_ns = recording.time_ns;
	host_record_fill(&host);
	if (r == 0)
		r = add_one(store, &host_type, &host);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(empty); i++)
		r = store_table_open(store, empty[i]->name, &SHAPE_OF(empty[i]), &table);
	return r == 0 ? store_commit(store) : r;
}

/* --- opening and closing --- */

static void free_table(struct store_table *table)
{
	states_free(table->states);
	vec_each(&table->columns, column)
		column_done(column);
	vec_done(&table->columns);
	sqlite3_finalize(table->insert);
	sqlite3_finalize(table->replace);
	free(table->name);
	free(table);
}

static void free_existing(struct store *store)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&store->existing, &at, &key, &value))
		free(*(char **)value);
	map_done(&store->existing);
}

void store_free(struct store *store)
{
	vec_each(&store->tables, table)
		free_table(*table);
	vec_done(&store->tables);
	vec_done(&store->steps);
	free_existing(store);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}

/* SQLite would take the -wal file of an older recording for the new one's. */
static bool has_log(const char *path)
{
	_cleanup_free_ char *log = xasprintf("%s-wal", path);

	return access(log, F_OK) == 0;
}

static int fail_with_log(const char *path, struct why *why)
{
	return why_set(why, -EEXIST, "%s-wal exists, left over from another recording; remove it", path);
}

/*
 * A recorder that was killed while it created the file must come back by itself: its file is empty, and nobody else's
 * content is lost. Whatever is more than that is a recording, or something else.
 */
static int claim_path(const char *path, struct stat *ret_info, struct why *why)
{
	bool log = has_log(path);
	_cleanup_close_ int fd = -1;

	fd = open(path, O_RDWR | (log ? 0 : O_CREAT) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (fd < 0 && errno == ELOOP)
		return why_set(why, -EEXIST, "%s is a symbolic link; recordings do not follow links", path);
	if (fd < 0 && log && errno == ENOENT)
		return fail_with_log(path, why);
	if (fd < 0 || fstat(fd, ret_info) < 0)
		return why_set(why, -errno, "cannot write %s: %s", path, strerror(errno));
	if (!S_ISREG(ret_info->st_mode) || ret_info->st_size > 0 || ret_info->st_uid != geteuid())
		return why_set(why, -EEXIST, "%s already exists; recordings are not overwritten", path);
	if (log)
		return fail_with_log(path, why);
	if (fchmod(fd, 0600) < 0)
		return why_set(why, -errno, "cannot write %s: %s", path, strerror(errno));
	return 0;
}

/* The file is made in one transaction, before there is a log: killed in between, it stays empty. */
static int make_file(struct store *store, const char *command)
{
	char sql[128];
	int r;

	snprintf(sql, sizeof(sql), "PRAGMA application_id = %d; PRAGMA user_version = %d;", STORE_APPLICATION,
		 STORE_VERSION);
	r = store_run(store, store_open_sql);
	if (r == 0)
		r = store_begin(store);
	if (r == 0)
		r = store_run(store, sql);
	if (r == 0)
		r = describe(store, command);
	return r == 0 ? store_run(store, store_log_sql) : r;
}

int store_create(const char *path, const char *command, struct store **ret_store, struct why *why)
{
	struct store *store;
	struct stat info = {};
	int code, r = claim_path(path, &info, why);

	if (r < 0)
		return r;
	store = xzalloc(sizeof(*store));
	store->path = xstrdup(path);
	store->dev = info.st_dev;
	store->ino = info.st_ino;
	code = sqlite3_open_v2(path, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
			       NULL);
	if (code != SQLITE_OK)
		(void)store_fail(store, code);
	r = make_file(store, command);
	if (r < 0) {
		(void)why_set(why, r, "%s", store->why.text);
		store_free(store);
		(void)unlink(path);
		return r;
	}
	note_size(store);
	*ret_store = store;
	return 0;
}

int store_close(struct store *store, struct why *why)
{
	int r;

	if (!store)
		return 0;
	store->checked_ns = 0;
	r = store_commit(store);
	if (r == 0)
		r = check_file(store);
	vec_each(&store->tables, table) {
		sqlite3_finalize(take_ptr((*table)->insert));
		sqlite3_finalize(take_ptr((*table)->replace));
		states_free((*table)->states);
		(*table)->states = NULL;
	}
	/* Leaves one plain file; a -wal file that cannot be merged stays and is also read. */
	(void)sqlite3_exec(store->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
	if (r < 0)
		(void)why_set(why, r, "%s", store->why.text);
	store_free(store);
	return r;
}
