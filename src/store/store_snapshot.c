/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes snapshots to a recording, and deletes rows older than the moving window. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "store/sql.h"
#include "store/states.h"
#include "store/store_inside.h"

static struct store_table *find_states(const struct store *store, const struct record_type *type)
{
	vec_each(&store->tables, table)
		if ((*table)->states && (*table)->shape.types[0] == type)
			return *table;
	return NULL;
}

/* Gaps and namespaces are in every snapshot; other tables only if requested. */
static bool is_kept(const struct snapshot_table *now)
{
	return now->wanted || now->count > 0 || now->type == &gap_type || now->type == &netns_type;
}

static int add_states(struct store *store, const struct snapshot_table *now, uint64_t sample)
{
	struct store_table *table = find_states(store, now->type);
	int r = 0;

	if (!table && !is_kept(now))
		return 0;
	if (!table)
		r = store_table_make(store, now->type->name, &SHAPE_OF(now->type), true, &table);
	return r == 0 ? states_add(table->states, now, sample) : r;
}

/* Unique and increasing, even when the clock is set back. */
static uint64_t sample_id(const struct store *store, const struct snapshot *snapshot)
{
	return max_of(snapshot->begin_time_ns / NSEC_PER_MSEC, store->last_sample + 1);
}

int store_add_snapshot(struct store *store, const struct snapshot *snapshot)
{
	struct sample_record sample = {.id = sample_id(store, snapshot),
				       .begin_time_ns = snapshot->begin_time_ns,
				       .end_time_ns = snapshot->end_time_ns,
				       .begin_boot_ns = snapshot->begin_boot_ns,
				       .end_boot_ns = snapshot->end_boot_ns,
				       .sockets_boot_ns = snapshot->sockets_boot_ns,
				       .refused = snapshot_refused(snapshot)};
	struct store_table *table;
	int r = store_begin(store);

	for (size_t i = 0; r == 0 && i < snapshot->table_count; i++)
		r = add_states(store, &snapshot->tables[i], sample.id);
	if (r == 0)
		r = store_table_open(store, recorded_sample_type.name, &SHAPE_OF(&recorded_sample_type), &table);
	if (r == 0)
		r = store_add(table, &RECORD_OF(&sample));
	store->last_sample = sample.id;
	return r == 0 ? store_tick(store) : r;
}

/* --- findings --- */

int store_add_findings(struct store *store, const struct diagnosis_record *diagnosis)
{
	struct shape shape = {.count = 2, .types = {&moment_type, &finding_type}};
	const struct finding_record *findings = diagnosis->findings.items;
	struct moment_record moment = {.time_ns = diagnosis->start_ns + diagnosis->window_ms * NSEC_PER_MSEC};
	struct verdict_record verdict = {.time_ns = moment.time_ns,
					 .netns = diagnosis->netns,
					 .start_ns = diagnosis->start_ns,
					 .findings = diagnosis->findings.count,
					 .healthy = diagnosis->healthy,
					 .lost = diagnosis->lost};
	struct store_table *table;
	int r = store_table_open(store, verdict_type.name, &SHAPE_OF(&verdict_type), &table);

	if (r == 0)
		r = store_add(table, &RECORD_OF(&verdict));
	if (r == 0)
		r = store_table_open(store, finding_type.name, &shape, &table);
	for (uint32_t i = 0; r == 0 && i < diagnosis->findings.count; i++)
		r = store_add(table, &(struct record){.parts = {&moment, &findings[i]}});
	return r;
}

/* --- the moving window --- */

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
	bool is_sample = strcmp(table->name, recorded_sample_type.name) == 0;
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
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)from_ns);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)to_ns);
	return store_step(table->store, statement);
}

int store_trim(struct store *store, uint64_t from_ns, uint64_t to_ns)
{
	int r = store_begin(store);

	for (size_t i = 0; r == 0 && i < store->tables.count; i++)
		r = trim_table(store->tables.items[i], from_ns, to_ns);
	return r == 0 ? store_commit(store) : r;
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
		if (read_number(store, buf_text(&sql), &number) == 0 && number > 0)
			oldest = min_of(oldest, (uint64_t)number);
	}
	return oldest == UINT64_MAX ? 0 : oldest;
}

uint64_t store_size(struct store *store)
{
	int64_t pages = 0, unused = 0, size = 0;

	if (read_number(store, "PRAGMA page_count", &pages) < 0 ||
	    read_number(store, "PRAGMA freelist_count", &unused) < 0 ||
	    read_number(store, "PRAGMA page_size", &size) < 0)
		return 0;
	return (uint64_t)((pages - unused) * size);
}
