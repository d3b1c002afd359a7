/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/new_file.h"
#include "base/text.h"
#include "store/bundled.h"
#include "store/recording_inside.h"
#include "store/rows.h"
#include "store/sql.h"

/* Far above what nest writes. */
#define TABLES_MAX  1000
#define COLUMNS_MAX 1000
#define CELL_MAX    (16 << 20)
#define HEAP_MAX    ((sqlite3_int64)512 << 20)
/* SQLite instructions between two checks of the clock. */
#define PROGRESS_STEP 100000

int recording_fail(struct recording *recording, int sqlite_code, struct why *why)
{
	const char *message = sqlite3_errmsg(recording->db);
	_cleanup_buf_ struct buf shown = BUF_INIT(400);

	/* SQLite quotes parts of the file. */
	text_add_terminal(&shown, message, strnlen(message, 300));
	switch (sqlite_code & 0xff) {
	case SQLITE_NOTADB:
		return why_set(why, -EBADMSG, "%s is not a recording: not an SQLite file", recording->path);
	case SQLITE_CORRUPT:
		return why_set(why, -EBADMSG, "%s is damaged: %s", recording->path, buf_text(&shown));
	case SQLITE_INTERRUPT:
		return why_set(why, -ETIMEDOUT, "%s: read timed out", recording->path);
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
		return why_set(why, -EACCES, "cannot open %s: %s%s", recording->path, buf_text(&shown),
			       recording->has_log ? " (it was not closed and has a -wal file: copy both to a "
						    "writable directory)"
						  : "");
	case SQLITE_NOMEM:
	case SQLITE_TOOBIG:
		return why_set(why, -EBADMSG, "%s exceeds the limits of a recording: %s", recording->path,
			       buf_text(&shown));
	default:
		return why_set(why, -EIO, "%s: %s", recording->path, buf_text(&shown));
	}
}

/* --- defences --- */

static int on_progress(void *context)
{
	const struct recording *recording = context;

	return recording->deadline_ns && clock_monotonic_ns() > recording->deadline_ns;
}

void recording_limit_time(struct recording *recording, uint64_t ns)
{
	recording->deadline_ns = ns ? clock_monotonic_ns() + ns : 0;
}

/* Read only: no writes, no other files, no settings. */
static int authorize(void *context, int action, const char *a, const char *b _unused_, const char *database,
		     const char *inside _unused_)
{
	const struct recording *recording = context;

	if (recording->preparing)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_READ:
		return !database || strcmp(database, "main") == 0 || strcmp(database, "temp") == 0 ? SQLITE_OK
												   : SQLITE_DENY;
	case SQLITE_FUNCTION:
		return b && (strcmp(b, "load_extension") == 0 || strcmp(b, "readfile") == 0 ||
			     strcmp(b, "writefile") == 0 || strcmp(b, "fts3_tokenizer") == 0)
			       ? SQLITE_DENY
			       : SQLITE_OK;
	case SQLITE_PRAGMA:
		return a && strcmp(a, "table_info") == 0 ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

static void set_limits(sqlite3 *db)
{
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, CELL_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
	sqlite3_limit(db, SQLITE_LIMIT_COLUMN, COLUMNS_MAX);
	sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
	sqlite3_limit(db, SQLITE_LIMIT_COMPOUND_SELECT, 50);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
	sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
}

static int set_defences(struct recording *recording, struct why *why)
{
	sqlite3 *db = recording->db;
	int code = sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);

	if (code == SQLITE_OK)
		code = sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	/* Views of the file; views that nest creates in memory stay allowed. */
	if (code == SQLITE_OK)
		code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	set_limits(db);
	(void)sqlite3_hard_heap_limit64(HEAP_MAX);
	sqlite3_progress_handler(db, PROGRESS_STEP, on_progress, recording);
	if (code == SQLITE_OK)
		code = sqlite3_set_authorizer(db, authorize, recording);
	/* SQLite refuses corrupt pages when it reads them. */
	if (code == SQLITE_OK)
		code = sqlite3_exec(db,
				    "PRAGMA query_only = 1; PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0;"
				    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192;",
				    NULL, NULL, NULL);
	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

/* --- schema --- */

int recording_prepare(struct recording *recording, const char *sql, sqlite3_stmt **ret_statement, struct why *why)
{
	int code = sqlite3_prepare_v2(recording->db, sql, -1, ret_statement, NULL);

	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

static int read_pragma(struct recording *recording, const char *sql, int64_t *ret_value, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code, r = recording_prepare(recording, sql, &statement, why);

	if (r < 0)
		return r;
	code = sqlite3_step(statement);
	if (code != SQLITE_ROW)
		return recording_fail(recording, code, why);
	*ret_value = sqlite3_column_int64(statement, 0);
	return 0;
}

static int check_version(struct recording *recording, struct why *why)
{
	int64_t application, version;
	int r = read_pragma(recording, "PRAGMA application_id", &application, why);

	if (r < 0)
		return r;
	if (application != STORE_APPLICATION)
		return why_set(why, -EBADMSG, "%s is not a recording of nest", recording->path);
	r = read_pragma(recording, "PRAGMA user_version", &version, why);
	if (r < 0)
		return r;
	if (version < 1)
		return why_set(why, -EBADMSG, "%s has no schema version", recording->path);
	if (version > STORE_VERSION)
		return why_set(why, -ENOTSUP,
			       "%s was written by a later version of nest (schema version %lld, supported: %d)",
			       recording->path, (long long)version, STORE_VERSION);
	return 0;
}

static int read_columns(struct recording *recording, struct recorded_table *table, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);
	bool has_first = false, has_last = false;
	int code, r;

	buf_add_text(&sql, "PRAGMA main.table_xinfo(");
	sql_add_name(&sql, table->name);
	buf_add_text(&sql, ")");
	r = recording_prepare(recording, buf_text(&sql), &statement, why);
	if (r < 0)
		return r;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(statement, 1);

		if (sqlite3_column_int(statement, 6) != 0)
			return why_set(why, -EBADMSG, "%s: unexpected generated column in a table", recording->path);
		vec_push(&table->columns, xstrdup(name ?: ""));
		has_first = has_first || (name && strcmp(name, "first") == 0);
		has_last = has_last || (name && strcmp(name, "last") == 0);
	}
	table->states = has_first && has_last;
	return code == SQLITE_DONE ? 0 : recording_fail(recording, code, why);
}

/* Plain tables, and views, which are ignored. Anything else was not written by nest. */
static int read_schema(struct recording *recording, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code, r = recording_prepare(recording, "SELECT type, name, sql FROM main.sqlite_schema", &statement, why);

	if (r < 0)
		return r;
	while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(statement, 0),
			   *name = (const char *)sqlite3_column_text(statement, 1),
			   *sql = (const char *)sqlite3_column_text(statement, 2);

		if (recording->tables.count == TABLES_MAX)
			return why_set(why, -EBADMSG, "%s has too many tables", recording->path);
		/* Views are for other programs and disabled here. */
		if (type && strcmp(type, "view") == 0)
			continue;
		if (!type || !name || !sql || strcmp(type, "table") != 0 || strncasecmp(sql, "CREATE TABLE ", 13) != 0)
			return why_set(why, -EBADMSG, "%s: unexpected trigger, index or virtual table",
				       recording->path);
		vec_add(&recording->tables)->name = xstrdup(name);
	}
	if (code != SQLITE_DONE)
		return recording_fail(recording, code, why);
	vec_each(&recording->tables, table)
		if (r == 0)
			r = read_columns(recording, table, why);
	return r;
}

/* --- opening --- */

static bool is_plain_file(struct recording *recording, struct why *why, int *ret_result)
{
	struct stat info;

	if (stat(recording->path, &info) < 0)
		*ret_result = why_set(why, -errno, "cannot read %s: %s", recording->path, strerror(errno));
	else if (!S_ISREG(info.st_mode))
		*ret_result = why_set(why, -EBADMSG, "%s is not a regular file", recording->path);
	else if (info.st_size == 0)
		*ret_result = why_set(why, -EBADMSG, "%s is empty", recording->path);
	else if (access(recording->path, R_OK) < 0)
		*ret_result = why_set(why, -errno, "cannot read %s: %s", recording->path, strerror(errno));
	else
		return true;
	return false;
}

/* As a URI, so that a name may contain a question mark. Without a -wal file there is no writer: no lock needed. */
static char *uri_of(const struct recording *recording)
{
	_cleanup_buf_ struct buf uri = BUF_INIT(64 << 10);

	buf_add_text(&uri, "file:");
	for (const char *c = recording->path; *c; c++) {
		if (strchr("%?#", *c))
			buf_add_format(&uri, "%%%02x", (unsigned char)*c);
		else
			buf_add_char(&uri, *c);
	}
	buf_add_text(&uri, recording->has_log ? "?mode=ro" : "?mode=ro&immutable=1");
	return xstrdup(buf_text(&uri));
}

static bool find_log(const struct recording *recording)
{
	_cleanup_free_ char *log = xasprintf("%s-wal", recording->path);

	return access(log, F_OK) == 0;
}

static int read_about(struct recording *recording, struct why *why)
{
	_cleanup_(rows_closep) struct rows *hosts = NULL, *recordings = NULL;
	struct shape host = SHAPE_OF(&host_type), about = SHAPE_OF(&recording_type);
	int r = rows_open(recording, &(struct rows_request){.name = "host", .shape = &host}, &hosts, why);

	if (r == 0)
		r = rows_next(hosts, (void *[]){&recording->host}, why);
	if (r >= 0)
		r = rows_open(recording, &(struct rows_request){.name = "recording", .shape = &about}, &recordings,
			      why);
	if (r >= 0)
		r = rows_next(recordings, (void *[]){&recording->about}, why);
	return r < 0 ? r : 0;
}

static int open_path(struct recording *recording, struct why *why)
{
	_cleanup_free_ char *uri = NULL;
	int code, r = 0;

	if (!is_plain_file(recording, why, &r))
		return r;
	new_file_note_input_path(recording->path);
	recording->has_log = find_log(recording);
	uri = uri_of(recording);
	code = sqlite3_open_v2(uri, &recording->db,
			       SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
			       NULL);
	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

static int open_bundled(struct recording *recording, const struct bundled *bundled, struct why *why)
{
	int code, r = bundled_unpack(bundled, &recording->bytes);

	if (r < 0)
		return why_set(why, r, "cannot unpack %s", recording->path);
	code = sqlite3_open_v2(":memory:", &recording->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_deserialize(recording->db, "main", (uint8_t *)recording->bytes.data,
					   (sqlite3_int64)recording->bytes.len, (sqlite3_int64)recording->bytes.len,
					   SQLITE_DESERIALIZE_READONLY);
	return code == SQLITE_OK ? 0 : recording_fail(recording, code, why);
}

static int open_file(struct recording *recording, struct why *why)
{
	const struct bundled *bundled = NULL;
	int r;

	if (strncmp(recording->path, BUNDLED_PREFIX, strlen(BUNDLED_PREFIX)) == 0)
		bundled = bundled_find(recording->path + strlen(BUNDLED_PREFIX));
	recording->preparing = true;
	r = bundled ? open_bundled(recording, bundled, why) : open_path(recording, why);
	if (r < 0)
		return r;
	sqlite3_busy_timeout(recording->db, 2000);
	r = set_defences(recording, why);
	recording_limit_time(recording, 60 * NSEC_PER_SEC);
	if (r == 0)
		r = check_version(recording, why);
	if (r == 0)
		r = read_schema(recording, why);
	if (r == 0)
		r = read_about(recording, why);
	recording->preparing = false;
	recording_limit_time(recording, 0);
	return r;
}

int recording_open(const char *path, struct recording **ret_recording, struct why *why)
{
	struct recording *recording = xzalloc(sizeof(*recording));
	int r;

	recording->path = xstrdup(path);
	recording->bytes = BUF_INIT((size_t)64 << 20);
	r = open_file(recording, why);
	if (r < 0) {
		recording_close(recording);
		return r;
	}
	*ret_recording = recording;
	return 0;
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	vec_each(&recording->tables, table) {
		vec_each(&table->columns, column)
			free(*column);
		vec_done(&table->columns);
		free(table->name);
	}
	vec_done(&recording->tables);
	column_free_cells(&recording_type, &recording->about);
	column_free_cells(&host_type, &recording->host);
	sqlite3_close(recording->db);
	buf_done(&recording->bytes);
	free(recording->path);
	free(recording);
}

/* --- queries --- */

const char *recording_path(const struct recording *recording)
{
	return recording->path;
}

const struct host_record *recording_host(const struct recording *recording)
{
	return &recording->host;
}

uint64_t recording_begin_ns(const struct recording *recording)
{
	return recording->about.time_ns;
}

const char *recording_command(const struct recording *recording)
{
	return recording->about.command ?: "";
}

sqlite3 *recording_db(struct recording *recording)
{
	return recording->db;
}

const struct recorded_table *recording_find(const struct recording *recording, const char *name)
{
	_cleanup_free_ char *wanted = sql_table_name(name);

	vec_each(&recording->tables, table)
		if (strcmp(table->name, wanted) == 0)
			return table;
	return NULL;
}

bool recording_has(const struct recording *recording, const char *name)
{
	return recording_find(recording, name) != NULL;
}

bool recording_has_states(const struct recording *recording, const char *name)
{
	const struct recorded_table *table = recording_find(recording, name);

	return table && table->states;
}

size_t recording_table_count(const struct recording *recording)
{
	return recording->tables.count;
}

const struct recorded_table *recording_table(const struct recording *recording, size_t number)
{
	return &recording->tables.items[number];
}
