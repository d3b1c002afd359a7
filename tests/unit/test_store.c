/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings: rows read back unchanged, unchanged states are written once, hostile files do no harm. */
#include "store/rows.h"
#include "unit.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "sample.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "store/replay.h"
#include "store_room.h"
#include "view/json.h"

static void run_sql(const struct room *room, const char *sql)
{
	sqlite3 *db;
	char *message = NULL;

	REQUIRE(sqlite3_open(room->path, &db) == SQLITE_OK);
	if (!CHECK_EQ_INT(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK))
		unit_note("%s", message);
	sqlite3_free(message);
	sqlite3_close(db);
}

static uint64_t count_rows(const struct room *room)
{
	sqlite3 *db;
	sqlite3_stmt *tables, *rows;
	uint64_t count = 0;

	REQUIRE(sqlite3_open(room->path, &db) == SQLITE_OK);
	REQUIRE(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table'", -1, &tables, NULL) ==
		SQLITE_OK);
	while (sqlite3_step(tables) == SQLITE_ROW) {
		_cleanup_free_ char *sql = xasprintf("SELECT count(*) FROM \"%s\"", sqlite3_column_text(tables, 0));

		REQUIRE(sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK);
		REQUIRE(sqlite3_step(rows) == SQLITE_ROW);
		count += (uint64_t)sqlite3_column_int64(rows, 0);
		sqlite3_finalize(rows);
	}
	sqlite3_finalize(tables);
	sqlite3_close(db);
	return count;
}

/* --- events --- */

static char *as_json(const struct sample *sample)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);

	json_add_object(&text, &sample_type, sample);
	return xstrdup(buf_text(&text));
}

TEST(every_kind_comes_back)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample samples[4] = {sample_make(), sample_make(), sample_make(), {}}, got;
	struct store_table *table;
	struct store *store;
	struct why why = {};

	room_make(&room);
	/* All fields unknown; numbers at their limits; invalid UTF-8. */
	for (uint32_t i = 0; i < sample_type.field_count; i++)
		value_set_unknown(&sample_fields[i], &samples[1]);
	samples[2].handle = UINT64_C(0xfffffffffffffffe);
	samples[2].bytes = UINT64_C(0x8000000000000001);
	samples[2].delta = INT32_MIN + 1;
	samples[2].state = 77;
	samples[2].flags = 0x80000013;
	samples[2].share = -1e300;
	memcpy(samples[2].comm, "\xff\x1b[31m;'\"--full", 16);
	samples[2].lport = samples[2].rport = 65535;
	samples[3] = sample_make();
	samples[3].share = 1;
	store = room_create(&room);
	REQUIRE(store_table_open(store, "test.sample", &shape, &table) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
		CHECK_OK(store_add(table, &RECORD_OF(&samples[i])));
	CHECK_OK(store_close(store, &why));
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	REQUIRE(rows_open(recording, &(struct rows_request){.name = "test.sample", .shape = &shape}, &rows, &why) == 0);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		_cleanup_free_ char *before = NULL, *after = NULL;

		REQUIRE(rows_next(rows, (void *[]){&got}, &why) == 1);
		/* Lists are only for SQL. */
		CHECK(got.hist.items == NULL);
		samples[i].hist = got.hist;
		before = as_json(&samples[i]);
		after = as_json(&got);
		unit_note("sample %zu", i);
		CHECK_EQ_TEXT(after, before);
		CHECK_EQ_MEM(got.comm, samples[i].comm, sizeof(got.comm));
		rows_free_parts(&shape, (void *[]){&got});
	}
	CHECK_EQ_INT(rows_next(rows, (void *[]){&got}, &why), 0);
	CHECK_EQ_UINT(rows_refused(rows), 0);
}

TEST(an_existing_file_is_not_overwritten)
{
	_cleanup_room_ struct room room;
	struct store *store = NULL;
	struct why why = {};

	room_make(&room);
	CHECK_OK(store_close(room_create(&room), &why));
	CHECK_ERR(store_create(room.path, "test", &store, &why), -EEXIST);
	CHECK_HAS_TEXT(why.text, "already exists");
}

/* Reads the file, still empty, until a writer has changes for it and has waited for 100 ms. */
static _noreturn_ void read_until_written(const struct room *room, int ready)
{
	_cleanup_free_ char *journal = xasprintf("%s-journal", room->path);
	sqlite3 *db;

	if (sqlite3_open(room->path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, "BEGIN; SELECT count(*) FROM sqlite_schema", NULL, NULL, NULL) != SQLITE_OK ||
	    write(ready, "", 1) != 1)
		_exit(1);
	for (int i = 0; i < 1000 && access(journal, F_OK) < 0; i++)
		(void)usleep(5000);
	(void)usleep(100000);
	_exit(sqlite3_exec(db, "END", NULL, NULL, NULL) == SQLITE_OK ? 0 : 1);
}

TEST(a_reader_does_not_end_a_recording_that_begins)
{
	_cleanup_room_ struct room room;
	struct store *store = NULL;
	struct why why = {};
	int ready[2], status;
	char byte;
	pid_t pid;

	room_make(&room);
	REQUIRE(pipe(ready) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		read_until_written(&room, ready[1]);
	(void)close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	(void)close(ready[0]);
	if (CHECK_OK(store_create(room.path, "test", &store, &why)))
		CHECK_OK(store_close(store, &why));
	else
		unit_note("%s", why.text);
	REQUIRE(waitpid(pid, &status, 0) == pid);
	CHECK_EQ_INT(status, 0);
}

TEST(what_was_committed_survives_a_kill)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample got, sample = sample_make();
	struct store_table *table;
	struct why why = {};

	room_make(&room);
	CHECK_DIES(SIGKILL, {
		struct store *store = room_create(&room);

		REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
		REQUIRE(store_add(table, &RECORD_OF(&sample)) == 0 && store_commit(store) == 0);
		REQUIRE(store_add(table, &RECORD_OF(&sample)) == 0);
		kill(getpid(), SIGKILL);
	});
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	REQUIRE(rows_open(recording, &(struct rows_request){.name = "event", .shape = &shape}, &rows, &why) == 0);
	CHECK_EQ_INT(rows_next(rows, (void *[]){&got}, &why), 1);
	CHECK_EQ_UINT(got.bytes, sample.bytes);
	rows_free_parts(&shape, (void *[]){&got});
	CHECK_EQ_INT(rows_next(rows, (void *[]){&got}, &why), 0);
}

/* Writes numbered rows as fast as possible until it is killed. */
static _noreturn_ void write_until_killed(const struct room *room, int ready)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct store *store = NULL;
	struct store_table *table;
	struct why why = {};

	if (store_create(room->path, "test", &store, &why) < 0 ||
	    store_table_open(store, "event", &shape, &table) < 0 || store_commit(store) < 0 || write(ready, "", 1) != 1)
		_exit(1);
	for (sample.bytes = 0;; sample.bytes++) {
		sample.time_ns = clock_real_ns();
		if (store_add(table, &RECORD_OF(&sample)) < 0)
			_exit(2);
	}
}

static void kill_one(uint64_t *random)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	uint64_t expected = 0, last_ns = 0, killed_ns;
	struct why why = {};
	struct sample got;
	int ready[2], r;
	char byte;
	pid_t pid;

	room_make(&room);
	REQUIRE(pipe(ready) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		write_until_killed(&room, ready[1]);
	(void)close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	(void)close(ready[0]);
	last_ns = clock_real_ns();
	(void)usleep((useconds_t)(unit_random(random) % 40000));
	killed_ns = clock_real_ns();
	REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	REQUIRE(rows_open(recording, &(struct rows_request){.name = "event", .shape = &shape}, &rows, &why) == 0);
	while ((r = rows_next(rows, (void *[]){&got}, &why)) > 0) {
		if (got.bytes != expected)
			break;
		expected++;
		last_ns = got.time_ns;
		rows_free_parts(&shape, (void *[]){&got});
	}
	CHECK_EQ_INT(r, 0);
	CHECK(killed_ns < last_ns + NSEC_PER_SEC);
}

/* A row every 20 ms fills no batch: only the clock can commit it. The time of each goes into the pipe. */
static _noreturn_ void write_slowly(const struct room *room, int times)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct store *store = NULL;
	struct store_table *table;
	struct why why = {};

	if (store_create(room->path, "test", &store, &why) < 0 || store_table_open(store, "event", &shape, &table) < 0)
		_exit(1);
	for (;;) {
		sample.time_ns = clock_real_ns();
		if (store_add(table, &RECORD_OF(&sample)) < 0 || store_tick(store) < 0 ||
		    write(times, &sample.time_ns, sizeof(sample.time_ns)) != sizeof(sample.time_ns))
			_exit(2);
		(void)usleep(20000);
	}
}

/* Compared with the writer's own times: a machine that stops it for a while does no harm. */
TEST(a_kill_loses_at_most_a_second_of_few_rows)
{
	uint64_t stored_ns, time_ns, last_ns = 0, longest_ns = 0;
	_cleanup_room_ struct room room;
	unsigned rows = 0;
	int times[2];
	pid_t pid;

	room_make(&room);
	REQUIRE(pipe(times) == 0);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0)
		write_slowly(&room, times[1]);
	(void)close(times[1]);
	for (; rows < 120 && read(times[0], &time_ns, sizeof(time_ns)) == sizeof(time_ns); rows++) {
		longest_ns = rows ? max_of(longest_ns, time_ns - last_ns) : 0;
		last_ns = time_ns;
	}
	REQUIRE(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	(void)close(times[0]);
	CHECK_EQ_UINT(rows, 120);
	stored_ns = (uint64_t)room_number(&room, "SELECT max(time_ns) FROM event");
	CHECK(stored_ns + NSEC_PER_SEC + 2 * longest_ns > last_ns);
}

/* NEST_KILLS=1000 for the full number, 0.1 s each. */
TEST(a_kill_at_any_moment_loses_at_most_a_second)
{
	const char *wanted = getenv("NEST_KILLS");
	uint64_t kills = wanted ? strtoull(wanted, NULL, 10) : 30, random = 42;

	for (uint64_t i = 0; i < kills; i++) {
		unit_note("kill %" PRIu64, i);
		kill_one(&random);
	}
}

/* --- states --- */

static void add_counter(struct snapshot *snapshot, const char *name, uint64_t value)
{
	struct counter_record *counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));

	counter->counter = snapshot_text(snapshot, name, strlen(name));
	counter->value = value;
}

static void begin_snapshot(struct snapshot *snapshot, unsigned number)
{
	snapshot_clear(snapshot);
	snapshot->begin_time_ns = (UINT64_C(1800000000) + number) * NSEC_PER_SEC;
	snapshot->end_time_ns = snapshot->begin_time_ns + 5;
	snapshot->begin_boot_ns = snapshot->begin_time_ns - UINT64_C(1700000000) * NSEC_PER_SEC;
	snapshot->end_boot_ns = snapshot->begin_boot_ns + 5;
}

/* "a=1 b=2": the table as text. */
static char *counters_text(const struct snapshot *snapshot)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 16);

	snapshot_each(snapshot, counter_type, const struct counter_record, counter)
		buf_add_format(&text, "%s%.60s=%" PRIu64, text.len ? " " : "", counter->counter, counter->value);
	return xstrdup(buf_text(&text));
}

static void save_text(struct store *store, struct snapshot *snapshot, unsigned number, const char *text)
{
	_cleanup_free_ char *words = xstrdup(text);
	char *rest = words, *word;

	begin_snapshot(snapshot, number);
	while ((word = strsep(&rest, " "))) {
		const char *name = strsep(&word, "=");

		if (word)
			add_counter(snapshot, name, strtoull(word, NULL, 10));
	}
	CHECK_OK(store_add_snapshot(store, snapshot));
}

static const char *const histories[] = {
	"a=1 b=2 c=3",
	"a=1 b=2 c=3",
	"a=1 b=3 c=3",
	"c=3 a=1 b=3",         /* moved */
	"x=1 c=3 y=1 a=1 b=3", /* grown at both ends and inside */
	"",
	"a=1 a=1 a=1", /* the same three times */
	"a=1 a=1",
	"b=1 a=1 a=1 a=1",
};

static void check_replay(const struct room *room, const char *const *texts, size_t count)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct time_range all = {.to_ns = UINT64_MAX};
	struct why why = {};

	REQUIRE(recording_open(room->path, &recording, &why) == 0);
	REQUIRE(replay_open(recording, &all, NULL, &replay, &why) == 0);
	CHECK_EQ_UINT(replay_samples(replay), count);
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *text = NULL;

		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		text = counters_text(snapshot);
		unit_note("sample %zu", i);
		CHECK_EQ_TEXT(text, texts[i]);
	}
	CHECK_EQ_INT(replay_next(replay, snapshot, &why), 0);
	CHECK_EQ_UINT(replay_refused(replay), 0);
}

TEST(tables_come_back_in_their_order)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (size_t i = 0; i < ARRAY_SIZE(histories); i++)
		save_text(store, snapshot, (unsigned)i, histories[i]);
	CHECK_OK(store_close(store, &why));
	check_replay(&room, histories, ARRAY_SIZE(histories));
}

/* Many small changes at the same place use up the gap between neighbours. */
TEST(positions_are_dealt_out_anew_when_they_are_used_up)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	char *texts[40] = {};
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		/* Each new one directly after the first. */
		texts[i] = i ? xasprintf("first=1 n=%zu%s", i, texts[i - 1] + 7) : xstrdup("first=1 z=1");
		save_text(store, snapshot, (unsigned)i, texts[i]);
	}
	CHECK_OK(store_close(store, &why));
	check_replay(&room, (const char *const *)texts, ARRAY_SIZE(texts));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(texts[i]);
}

TEST(rows_that_hold_are_written_once)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	uint64_t first;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	save_text(store, snapshot, 0, "a=1 b=2 c=3 d=4");
	(void)store_commit(store);
	first = count_rows(&room);
	for (unsigned i = 1; i <= 100; i++)
		save_text(store, snapshot, i, "a=1 b=2 c=3 d=4");
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_UINT(count_rows(&room) - first, 100);
}

/* Setting the clock back must not reorder samples. */
TEST(a_clock_that_goes_back_is_survived)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const char *const texts[] = {"a=1", "a=2", "a=3"};
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		save_text(store, snapshot, (unsigned)(100 - 50 * i), texts[i]);
	CHECK_OK(store_close(store, &why));
	check_replay(&room, texts, ARRAY_SIZE(texts));
}

TEST(sockets_find_their_parts_again)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new(), *back = snapshot_new();
	struct time_range all = {.to_ns = UINT64_MAX};
	const struct socket_record *got;
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	begin_snapshot(snapshot, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));

		socket->cookie = 100 + i;
		socket->inode = 10 + i;
		socket->proto = 6;
	}
	for (unsigned i = 0; i < 2; i++) {
		struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));

		/* In another order than the sockets. */
		tcp->tcp_cookie = 102 - i;
		tcp->cwnd = i + 1;
	}
	for (unsigned i = 0; i < 3; i++)
		*(struct owner_record *)snapshot_table_add(snapshot_table(snapshot, &owner_type)) =
			(struct owner_record){.inode = 11, .pid = 9 - i, .fd = 3};
	CHECK_OK(store_add_snapshot(store, snapshot));
	CHECK_OK(store_close(store, &why));
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	REQUIRE(replay_open(recording, &all, NULL, &replay, &why) == 0);
	REQUIRE(replay_next(replay, back, &why) == 1);
	got = snapshot_first(back, &socket_type);
	REQUIRE(snapshot_table(back, &socket_type)->count == 3);
	CHECK(socket_tcp(back, &got[0]) == NULL);
	REQUIRE(socket_tcp(back, &got[1]) && socket_tcp(back, &got[2]));
	CHECK_EQ_UINT(socket_tcp(back, &got[1])->cwnd, 2);
	CHECK_EQ_UINT(socket_tcp(back, &got[2])->cwnd, 1);
	CHECK_EQ_UINT(got[0].owner, SOCKET_NONE);
	CHECK_EQ_UINT(got[1].owner, 2);
	CHECK_EQ_UINT(got[1].owners, 3);
}

TEST(a_moving_window_forgets_what_no_longer_holds)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const char *const kept[] = {"a=1 b=18", "a=1 b=19"};
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned i = 0; i < 20; i++) {
		_cleanup_free_ char *text = xasprintf("a=1 b=%u", i);

		save_text(store, snapshot, i, text);
	}
	CHECK_OK(store_trim(store, 0, (UINT64_C(1800000000) + 18) * NSEC_PER_SEC));
	CHECK_EQ_UINT(store_oldest_ns(store), (UINT64_C(1800000000) + 18) * NSEC_PER_SEC);
	CHECK_OK(store_close(store, &why));
	check_replay(&room, kept, ARRAY_SIZE(kept));
}

/* --- a full disk --- */

TEST(a_full_disk_keeps_what_was_there)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct rlimit limit = {1 << 20, 1 << 20};
	struct store_table *table;
	struct store *store;
	struct why why = {};
	int r = 0;

	room_make(&room);
	/* The kernel refuses to grow a file beyond this, with an error similar to a full disk's. */
	signal(SIGXFSZ, SIG_IGN);
	store = room_create(&room);
	REQUIRE(store_table_open(store, "event", &shape, &table) == 0 && store_commit(store) == 0);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	for (unsigned i = 0; r == 0 && i < 100000; i++)
		r = store_add(table, &RECORD_OF(&sample));
	CHECK(r < 0);
	CHECK(store_why(store)[0] != '\0');
	CHECK_ERR(store_add(table, &RECORD_OF(&sample)), r);
	CHECK_ERR(store_close(store, &why), r);
	CHECK_OK(recording_open(room.path, &recording, &why));
}

/* --- hostile files --- */

static void check_refused(const struct room *room, const char *why_part)
{
	struct recording *recording = NULL;
	struct why why = {};
	int r = recording_open(room->path, &recording, &why);

	CHECK(r < 0);
	CHECK_HAS_TEXT(why.text, why_part);
	if (r == 0)
		recording_close(recording);
}

static void write_file(const struct room *room, const char *bytes, size_t n)
{
	_cleanup_fclose_ FILE *file = fopen(room->path, "w");

	REQUIRE(file && fwrite(bytes, 1, n, file) == n);
}

TEST(foreign_files_are_refused)
{
	_cleanup_room_ struct room room;

	room_make(&room);
	check_refused(&room, "No such file");
	write_file(&room, "", 0);
	check_refused(&room, "is empty");
	write_file(
		&room,
		"this is no database, not at all, but it is long enough to be looked at as if it were one, is it not?",
		100);
	check_refused(&room, "not an SQLite file");
	(void)unlink(room.path);
	run_sql(&room, "CREATE TABLE t (a); INSERT INTO t VALUES (1);");
	check_refused(&room, "not a recording of nest");
}

TEST(what_a_file_brings_along_is_refused)
{
	static const struct {
		const char *sql, *why;
	} cases[] = {
		{"CREATE TRIGGER t AFTER INSERT ON mark BEGIN SELECT 1; END", "trigger"},
		{"CREATE INDEX i ON mark (time_ns)", "index"},
		{"CREATE VIRTUAL TABLE v USING fts5(a)", "virtual table"},
		{"CREATE TABLE g (a, b AS (a || zeroblob(1000000000)))", "generated column"},
		{"PRAGMA user_version = 4", "later version of nest"},
		{"PRAGMA user_version = 0", "no schema version"},
		{"PRAGMA application_id = 1", "not a recording of nest"},
		{"DROP VIEW v_host; DROP TABLE host", "no table host"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_room_ struct room room;
		struct why why = {};

		room_make(&room);
		unit_note("%s", cases[i].sql);
		CHECK_OK(store_close(room_create(&room), &why));
		run_sql(&room, cases[i].sql);
		check_refused(&room, cases[i].why);
	}
}

/* Each changes the file; valid rows are still read, invalid ones are skipped. */
TEST(hostile_cells_are_passed_over)
{
	static const char *const cases[] = {
		"UPDATE counter SET value = 'text'",
		"UPDATE counter SET value = x'0011223344'",
		"UPDATE counter SET value = 1.5",
		"UPDATE counter SET counter = 5 WHERE 1",
		"UPDATE counter SET counter = printf('%.*c', 100000, 'x')",
		"UPDATE counter SET pos = -9223372036854775808",
		"UPDATE sample SET id = -1",
		"UPDATE sample SET begin_time_ns = 'never'",
		"UPDATE counter SET netns = 99999999999",
		"INSERT INTO counter (first, last, pos) VALUES (9e18, -9e18, 5)",
		"ALTER TABLE counter DROP COLUMN netns",
		"DELETE FROM sample",
		"INSERT INTO sample SELECT * FROM sample",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_room_ struct room room;
		_cleanup_(recording_closep) struct recording *recording = NULL;
		_cleanup_(replay_closep) struct replay *replay = NULL;
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		struct time_range all = {.to_ns = UINT64_MAX};
		struct store *store;
		struct why why = {};

		room_make(&room);
		unit_note("%s", cases[i]);
		store = room_create(&room);
		save_text(store, snapshot, 1, "a=1 b=2");
		save_text(store, snapshot, 2, "a=1 b=3");
		CHECK_OK(store_close(store, &why));
		run_sql(&room, "DROP VIEW v_counter");
		run_sql(&room, cases[i]);
		if (!CHECK_OK(recording_open(room.path, &recording, &why)))
			unit_note("%s", why.text);
		if (!recording || replay_open(recording, &all, NULL, &replay, &why) < 0)
			continue;
		for (unsigned n = 0; n < 10 && replay_next(replay, snapshot, &why) > 0; n++)
			CHECK(snapshot_table(snapshot, &counter_type)->count <= 3);
	}
}

TEST(a_truncated_file_is_reported)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	struct why why = {};
	unsigned refused = 0;
	struct stat info;

	room_make(&room);
	store = room_create(&room);
	for (unsigned i = 0; i < 50; i++)
		save_text(store, snapshot, i, i % 2 ? "a=1 b=2 c=3" : "d=4 e=5");
	CHECK_OK(store_close(store, &why));
	REQUIRE(stat(room.path, &info) == 0);
	for (off_t size = info.st_size - 1000; size > 0; size -= 30000) {
		_cleanup_(recording_closep) struct recording *recording = NULL;
		_cleanup_(replay_closep) struct replay *replay = NULL;
		struct time_range all = {.to_ns = UINT64_MAX};
		int r;

		REQUIRE(truncate(room.path, size) == 0);
		r = recording_open(room.path, &recording, &why);
		if (r == 0)
			r = replay_open(recording, &all, NULL, &replay, &why);
		while (r == 0 && (r = replay_next(replay, snapshot, &why)) > 0)
			r = 0;
		refused += r < 0;
		CHECK(r >= 0 || why.text[0] != '\0');
	}
	CHECK(refused > 0);
}

/* --- times --- */

TEST(times_are_read_against_the_recording)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	uint64_t ns, begin;
	struct why why = {};
	struct store *store;

	setenv("TZ", "UTC", 1);
	room_make(&room);
	store = room_create(&room);
	/* Samples of the year 2027; the recording starts now. */
	save_text(store, snapshot, 0, "a=1");
	save_text(store, snapshot, 60, "a=1");
	CHECK_OK(store_close(store, &why));
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	begin = recording_begin_ns(recording);
	CHECK_OK(input_parse_time(recording, "+10s", &ns, &why));
	CHECK_EQ_UINT(ns, begin + 10 * NSEC_PER_SEC);
	CHECK_OK(input_parse_time(recording, "-10", &ns, &why));
	CHECK_EQ_UINT(ns, max_of((UINT64_C(1800000000) + 60) * NSEC_PER_SEC, begin) - 10 * NSEC_PER_SEC);
	CHECK_OK(input_parse_time(recording, "2027-01-15T08:00:30Z", &ns, &why));
	CHECK_EQ_UINT(ns, (UINT64_C(1800000000) + 30) * NSEC_PER_SEC);
	CHECK_OK(input_parse_time(recording, "02:13:30.5", &ns, &why));
	CHECK_EQ_UINT(ns / NSEC_PER_SEC % 86400, 2 * 3600 + 13 * 60 + 30);
	CHECK_EQ_UINT(ns % NSEC_PER_SEC, NSEC_PER_SEC / 2);
	CHECK(ns + 60 * NSEC_PER_SEC >= begin && ns < begin + 86400 * NSEC_PER_SEC);
	CHECK_ERR(input_parse_time(recording, "25:00", &ns, &why), -EINVAL);
	CHECK_ERR(input_parse_time(recording, "soon", &ns, &why), -EINVAL);
}
