/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows a second into a recording, beside a plain SQLite insert loop of the same rows: same columns, same pragmas,
 * values bound by hand. The goal is 0.7 of the plain loop and 150,000 rows a second.
 */
#include <sqlite3.h>
#include <string.h>

#include "base/clock.h"
#include "base/vec.h"
#include "event/core/event.h"
#include "store/store.h"

#define ROWS   200000
#define ROUNDS 5
#define BATCH  4000

static char dir[] = "/tmp/nest-bench-XXXXXX";

static void fill(struct event_head *head, uint64_t i)
{
	*head = (struct event_head){.time_ns = UINT64_C(1800000000000000000) + i * 1000,
				    .cookie = 1000 + i % 5000,
				    .cgroup_id = 77,
				    .family = 4,
				    .lport = (uint16_t)(40000 + i % 20000),
				    .rport = 443,
				    .proto = 6,
				    .pid = 4711,
				    .tid = 4711,
				    .comm = "nginx",
				    .netns = 4026531840,
				    .cpu = (uint32_t)(i % 2)};
	head->laddr = addr_from_v4((uint8_t[]){10, 77, 1, 2});
	head->raddr = addr_from_v4((uint8_t[]){10, 77, 2, (uint8_t)i});
}

static double own_rate(unsigned round)
{
	_cleanup_free_ char *path = xasprintf("%s/own-%u", dir, round);
	struct shape shape = SHAPE_OF(&event_head_type);
	struct store *store = NULL;
	struct store_table *table;
	struct event_head head;
	struct why why = {};
	uint64_t begin;

	if (store_create(path, "bench", &store, &why) < 0 || store_table_open(store, "bench", &shape, &table) < 0)
		abort();
	begin = clock_monotonic_ns();
	for (uint64_t i = 0; i < ROWS; i++) {
		fill(&head, i);
		if (store_add(table, &RECORD_OF(&head)) < 0)
			abort();
	}
	if (store_commit(store) < 0)
		abort();
	begin = clock_monotonic_ns() - begin;
	if (store_close(store, &why) < 0)
		abort();
	(void)unlink(path);
	return ROWS * 1e9 / (double)begin;
}

static void bind_row(sqlite3_stmt *s, const struct event_head *head)
{
	static char laddr[ADDR_TEXT_MAX], raddr[ADDR_TEXT_MAX];

	sqlite3_bind_int64(s, 1, (sqlite3_int64)head->time_ns);
	sqlite3_bind_int64(s, 2, head->cpu);
	sqlite3_bind_int64(s, 3, head->pid);
	sqlite3_bind_int64(s, 4, head->tid);
	sqlite3_bind_text(s, 5, head->comm, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 6, head->uid);
	sqlite3_bind_int64(s, 7, (sqlite3_int64)head->cgroup_id);
	sqlite3_bind_int64(s, 8, head->netns);
	sqlite3_bind_text(s, 9, "ipv4", -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 10, "tcp", -1, SQLITE_STATIC);
	sqlite3_bind_text(s, 11, laddr, (int)addr_format(&head->laddr, laddr), SQLITE_STATIC);
	sqlite3_bind_int64(s, 12, head->lport);
	sqlite3_bind_text(s, 13, raddr, (int)addr_format(&head->raddr, raddr), SQLITE_STATIC);
	sqlite3_bind_int64(s, 14, head->rport);
	sqlite3_bind_int64(s, 15, (sqlite3_int64)head->cookie);
}

static double plain_rate(unsigned round)
{
	_cleanup_free_ char *path = xasprintf("%s/plain-%u", dir, round);
	sqlite3_stmt *insert;
	struct event_head head;
	uint64_t begin;
	sqlite3 *db;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(
		    db,
		    "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
		    "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 2000;"
		    "CREATE TABLE bench (time_ns INTEGER, cpu INTEGER, pid INTEGER, tid INTEGER, comm TEXT, uid "
		    "INTEGER,"
		    "cgroup_id INTEGER, netns INTEGER, family TEXT, proto TEXT, laddr TEXT, lport INTEGER, raddr TEXT,"
		    "rport INTEGER, cookie INTEGER)",
		    NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO bench VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &insert, NULL) !=
		    SQLITE_OK)
		abort();
	begin = clock_monotonic_ns();
	for (uint64_t i = 0; i < ROWS; i++) {
		if (i % BATCH == 0)
			sqlite3_exec(db, i ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL);
		fill(&head, i);
		bind_row(insert, &head);
		if (sqlite3_step(insert) != SQLITE_DONE)
			abort();
		sqlite3_reset(insert);
	}
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	begin = clock_monotonic_ns() - begin;
	sqlite3_finalize(insert);
	sqlite3_close(db);
	(void)unlink(path);
	return ROWS * 1e9 / (double)begin;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	double own[ROUNDS], plain[ROUNDS], ratio[ROUNDS];

	if (!mkdtemp(dir))
		return 1;
	/* In turns, so that both see the same machine. */
	for (unsigned i = 0; i < ROUNDS; i++) {
		plain[i] = plain_rate(i);
		own[i] = own_rate(i);
		ratio[i] = own[i] / plain[i];
	}
	(void)rmdir(dir);
	qsort(own, ROUNDS, sizeof(*own), by_value);
	qsort(plain, ROUNDS, sizeof(*plain), by_value);
	qsort(ratio, ROUNDS, sizeof(*ratio), by_value);
	printf("store: %.0f rows/s (best %.0f), plain SQLite %.0f (best %.0f), ratio %.2f (goal 0.7)\n",
	       own[ROUNDS / 2], own[ROUNDS - 1], plain[ROUNDS / 2], plain[ROUNDS - 1], ratio[ROUNDS / 2]);
	return 0;
}
