/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The moving window of a recording: deletes what is older, or more than its size allows. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/sql.h"
#include "store/store_inside.h"

/* The clock was set if it moved this far against the time since boot. */
#define STEP_NS ((int64_t)NSEC_PER_SEC / 2)
/* Share of a limit that is left to the log beside the file, and the most that it needs. */
#define LOG_SHARE 3
#define LOG_MAX   ((uint64_t)32 << 20)
/* The log starts over when it has this share of that: a batch and what deleting takes come on top. */
#define LOG_FULL 4
/* Stays whatever its size: what is being written. */
#define KEEP_NS (NSEC_PER_SEC / 2)

/* --- time --- */

/* Where the clock was set meanwhile: the time of day minus the timeline, at that point of the line. */
static int64_t shift_at(const struct store *store, uint64_t line_ns)
{
	int64_t shift = 0;

	vec_each(&store->steps, step)
		if (step->line_ns <= line_ns)
			shift = step->shift_ns;
	return shift;
}

/* Of a time of day: before the first step that explains it. */
static int64_t shift_of(const struct store *store, int64_t real_ns)
{
	int64_t shift = 0;

	vec_each(&store->steps, step) {
		if (real_ns - shift < (int64_t)step->line_ns)
			break;
		shift = step->shift_ns;
	}
	return shift;
}

uint64_t store_now_ns(struct store *store)
{
	int64_t boot = (int64_t)clock_ns(CLOCK_BOOTTIME), real = (int64_t)clock_real_ns(), shift, last;
	uint64_t line;

	if (!store->origin_ns)
		store->origin_ns = real - boot;
	line = (uint64_t)(boot + store->origin_ns);
	shift = real - (int64_t)line;
	last = shift_at(store, line);
	if (shift > last + STEP_NS || shift < last - STEP_NS)
		vec_push(&store->steps, (struct clock_step){line, shift});
	return line;
}

/* --- rows --- */

static int read_number(struct store *store, const char *sql, int64_t *ret_number)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, sql, &statement), code;

	if (r < 0)
		return r;
	code = sqlite3_step(statement);
	if (code != SQLITE_ROW)
		return code == SQLITE_DONE ? -ENOENT : store_fail(store, code);
	if (sqlite3_column_type(statement, 0) == SQLITE_NULL)
		return -ENOENT;
	*ret_number = sqlite3_column_int64(statement, 0);
	return 0;
}

static int trim_table(struct store_table *table, uint64_t from_ns, uint64_t to_ns)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	bool is_sample = strcmp(table->name, recorded_sample_type.name) == 0, shifted;
	int r;

	if (!table->states && !is_sample && table->time_column < 0)
		return 0;
	/* Holds the start of the recording: keep it. */
	if (strcmp(table->name, recording_type.name) == 0)
		return 0;
	buf_add_text(&sql, "DELETE FROM ");
	sql_add_name(&sql, table->name);
	buf_add_text(&sql, table->states ? " WHERE first > ?1 / 1000000 AND last < ?2 / 1000000"
			   : is_sample   ? " WHERE id > ?1 / 1000000 AND id < ?2 / 1000000"
					 : " WHERE time_ns > ?1 AND time_ns < ?2");
	r = store_prepare(table->store, buf_text(&sql), &statement);
	if (r < 0)
		return r;
	/* Events have the time of day. */
	shifted = !table->states && !is_sample;
	(void)sqlite3_bind_int64(statement, 1,
				 (sqlite3_int64)from_ns + (shifted ? shift_at(table->store, from_ns) : 0));
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)to_ns + (shifted ? shift_at(table->store, to_ns) : 0));
	return store_step(table->store, statement);
}

/* A stretch at rest is known from both of its ends: where the line is inside, it goes back to the first one. */
static uint64_t before_lull(struct store *store, uint64_t to_ns)
{
	unsigned long long id = to_ns / NSEC_PER_MSEC;
	_cleanup_free_ char *sql = xasprintf("SELECT left_out_since FROM sample WHERE id >= %llu AND "
					     "left_out_since < %llu ORDER BY id LIMIT 1",
					     id, id);
	int64_t since;

	return read_number(store, sql, &since) == 0 && since > 0 ? (uint64_t)since * NSEC_PER_MSEC : to_ns;
}

int store_trim(struct store *store, uint64_t from_ns, uint64_t to_ns)
{
	int r = store_begin(store);

	if (store->last_sample * NSEC_PER_MSEC > to_ns)
		store->lull.window_ns = store->last_sample * NSEC_PER_MSEC - to_ns;
	if (r == 0)
		to_ns = before_lull(store, to_ns);
	for (size_t i = 0; r == 0 && i < store->tables.count; i++)
		r = trim_table(store->tables.items[i], from_ns, to_ns);
	store->trimming = true;
	r = r == 0 ? store_commit(store) : r;
	store->trimming = false;
	return r;
}

int store_each_mark(struct store *store, const char *prefix, void (*fn)(void *context, uint64_t time_ns), void *context)
{
	static const char sql[] = "SELECT time_ns FROM mark WHERE substr(label, 1, length(?1)) = ?1 ORDER BY rowid";
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = store_prepare(store, sql, &statement);

	if (r < 0)
		return r;
	(void)sqlite3_bind_text(statement, 1, prefix, -1, SQLITE_STATIC);
	while (sqlite3_step(statement) == SQLITE_ROW)
		fn(context, (uint64_t)sqlite3_column_int64(statement, 0));
	return 0;
}

uint64_t store_oldest_ns(struct store *store)
{
	uint64_t oldest = UINT64_MAX;

	vec_each(&store->tables, table) {
		_cleanup_buf_ struct buf sql = BUF_INIT(4096);
		bool is_sample = strcmp((*table)->name, recorded_sample_type.name) == 0;
		int64_t number;

		if ((*table)->states || (!is_sample && (*table)->time_column < 0) ||
		    strcmp((*table)->name, recording_type.name) == 0)
			continue;
		/* Rows are nearly sorted by time: take the first. */
		buf_add_format(&sql, "SELECT %s FROM ", is_sample ? "id * 1000000" : "time_ns");
		sql_add_name(&sql, (*table)->name);
		buf_add_text(&sql, " ORDER BY rowid LIMIT 1");
		if (read_number(store, buf_text(&sql), &number) < 0 || number <= 0)
			continue;
		number -= is_sample ? 0 : shift_of(store, number);
		oldest = min_of(oldest, (uint64_t)number);
	}
	return oldest == UINT64_MAX ? 0 : oldest;
}

/* --- size --- */

uint64_t store_size(struct store *store)
{
	int64_t pages = 0, unused = 0, size = 0;

	if (read_number(store, "PRAGMA page_count", &pages) < 0 ||
	    read_number(store, "PRAGMA freelist_count", &unused) < 0 ||
	    read_number(store, "PRAGMA page_size", &size) < 0)
		return 0;
	return (uint64_t)((pages - unused) * size);
}

static uint64_t log_bytes(const struct store *store)
{
	return min_of(store->limit_bytes / LOG_SHARE, LOG_MAX);
}

int store_limit_size(struct store *store, uint64_t bytes)
{
	_cleanup_free_ char *sql = NULL;
	uint64_t full;

	store->limit_bytes = bytes;
	if (!bytes)
		return 0;
	/* The log also shrinks to this. */
	full = max_of(log_bytes(store) / LOG_FULL, UINT64_C(8) * STORE_PAGE);
	sql = xasprintf("PRAGMA wal_autocheckpoint = %llu; PRAGMA journal_size_limit = %llu",
			(unsigned long long)(full / STORE_PAGE), (unsigned long long)full);
	return store_run(store, sql);
}

/* Deletes a little first, then more. Pages that become free are used again, so the file does not grow. */
int store_keep_size(struct store *store)
{
	static const unsigned parts[] = {20, 20, 10, 10, 4, 2, 1};
	uint64_t now_ns, oldest_ns;
	int r = 0;

	if (!store->limit_bytes)
		return 0;
	now_ns = store_now_ns(store);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		if (store_size(store) + log_bytes(store) < store->limit_bytes)
			return 0;
		oldest_ns = store_oldest_ns(store);
		if (oldest_ns == 0 || oldest_ns + KEEP_NS >= now_ns)
			break;
		r = store_trim(store, 0, oldest_ns + (now_ns - KEEP_NS - oldest_ns) / parts[i] + 1);
	}
	return r;
}
