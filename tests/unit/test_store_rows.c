/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading parts of a recording: ranges of time, losses, interfaces, moments; limits of files; odd names of files. */
#include "sample.h"
#include "store_room.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/counter.h"
#include "store/column.h"
#include "store/input.h"
#include "store/lull.h"
#include "store/moment.h"
#include "store/replay.h"
#include "store/rows.h"

#define BEGIN_NS UINT64_C(1800000000000000000)

static struct recording *open_room(const struct room *room)
{
	struct recording *recording = NULL;
	struct why why = {};

	if (!CHECK_OK(recording_open(room->path, &recording, &why)))
		unit_note("%s", why.text);
	REQUIRE(recording);
	return recording;
}

/* Five events, a second apart; the sixth has no time. */
static void write_events(const struct room *room)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct store *store = room_create(room);
	struct store_table *table;
	struct why why = {};

	REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
	for (unsigned i = 0; i < 6; i++) {
		sample.time_ns = i < 5 ? BEGIN_NS + i * NSEC_PER_SEC : UINT64_MAX;
		value_set_unknown(&sample_type.fields[0], &sample);
		if (i < 5)
			sample.time_ns = BEGIN_NS + i * NSEC_PER_SEC;
		sample.bytes = i;
		REQUIRE(store_add(table, &RECORD_OF(&sample)) == 0);
	}
	REQUIRE(store_close(store, &why) == 0);
}

/* "1 2 5": the numbers of the rows in a range. */
static const char *rows_between(struct recording *recording, uint64_t from_ns, uint64_t to_ns)
{
	static char text[64];
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct rows_request request = {.name = "event", .shape = &shape, .from_ns = from_ns, .to_ns = to_ns};
	struct why why = {};
	struct sample got;

	text[0] = '\0';
	REQUIRE(rows_open(recording, &request, &rows, &why) == 0);
	while (rows_next(rows, (void *[]){&got}, &why) > 0) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%" PRIu64, text[0] ? " " : "", got.bytes);
		rows_free_parts(&shape, (void *[]){&got});
	}
	return text;
}

TEST(a_range_includes_both_ends_and_what_has_no_time)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_room_ struct room room;

	room_make(&room);
	write_events(&room);
	recording = open_room(&room);
	CHECK_EQ_TEXT(rows_between(recording, 0, 0), "0 1 2 3 4 5");
	CHECK_EQ_TEXT(rows_between(recording, BEGIN_NS + NSEC_PER_SEC, BEGIN_NS + 3 * NSEC_PER_SEC), "1 2 3 5");
	CHECK_EQ_TEXT(rows_between(recording, BEGIN_NS + NSEC_PER_SEC + 1, BEGIN_NS + 3 * NSEC_PER_SEC - 1), "2 5");
	CHECK_EQ_TEXT(rows_between(recording, BEGIN_NS + 4 * NSEC_PER_SEC, 0), "4 5");
	/* Beyond what SQLite can compare. */
	CHECK_EQ_TEXT(rows_between(recording, 0, UINT64_MAX), "0 1 2 3 4 5");
	CHECK_EQ_TEXT(rows_between(recording, UINT64_MAX, UINT64_MAX), "5");
}

static void add_link(struct snapshot *snapshot, const char *dev)
{
	struct link_record *link = snapshot_table_add(snapshot_table(snapshot, &link_type));

	link->ifindex = 2;
	snprintf(link->dev, sizeof(link->dev), "%s", dev);
}

/* Samples at 1, 2, 3, 4 s; a counter that counts them; losses of two sources; one interface if wanted. */
static void write_samples(const struct room *room, const char *dev)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store = room_create(room);
	struct why why = {};

	for (unsigned i = 1; i <= 4; i++) {
		struct counter_record *counter;

		snapshot_clear(snapshot);
		snapshot->begin_time_ns = snapshot->end_time_ns = BEGIN_NS + i * NSEC_PER_SEC;
		snapshot->begin_boot_ns = snapshot->end_boot_ns = i * NSEC_PER_SEC;
		counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));
		counter->counter = "TcpInSegs";
		counter->value = i;
		if (dev)
			add_link(snapshot, dev);
		REQUIRE(store_add_snapshot(store, snapshot) == 0);
	}
	REQUIRE(store_add_loss(store, "tcp.close", 3) == 0 && store_add_loss(store, "skb.drop", 100) == 0 &&
		store_add_loss(store, "tcp.close", 4) == 0);
	REQUIRE(store_close(store, &why) == 0);
}

TEST(losses_are_added_up_by_their_source)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_room_ struct room room;
	uint64_t lost = 1000;
	struct why why = {};

	room_make(&room);
	write_samples(&room, NULL);
	recording = open_room(&room);
	CHECK_OK(recording_lost(recording, "tcp.close", &lost, &why));
	CHECK_EQ_UINT(lost, 1007);
	CHECK_OK(recording_lost(recording, "skb.drop", &lost, &why));
	CHECK_EQ_UINT(lost, 1107);
	CHECK_OK(recording_lost(recording, "tcp", &lost, &why));
	CHECK_EQ_UINT(lost, 1107);
}

TEST(an_interface_that_was_not_recorded_is_named)
{
	_cleanup_(recording_closep) struct recording *with = NULL, *without = NULL;
	_cleanup_room_ struct room room, other;
	struct why why = {};

	room_make(&room);
	room_make(&other);
	write_samples(&room, "eth0");
	write_samples(&other, NULL);
	with = open_room(&room);
	without = open_room(&other);
	CHECK_OK(recording_check_interface(with, "eth0", &why));
	CHECK_OK(recording_check_interface(with, NULL, &why));
	CHECK_ERR(recording_check_interface(with, "eth1", &why), -ENODEV);
	CHECK_HAS_TEXT(why.text, "'eth1'");
	CHECK_ERR(recording_check_interface(with, "eth", &why), -ENODEV);
	CHECK_OK(recording_check_interface(without, "eth1", &why));
}

/* "1-3": seconds of the first and the last sample in a range of seconds; "-": none. */
static const char *bounds(struct recording *recording, uint64_t from_s, uint64_t to_s)
{
	static char text[64];
	struct time_range range = {BEGIN_NS + from_s * NSEC_PER_SEC, BEGIN_NS + to_s * NSEC_PER_SEC};
	uint64_t begin_ns = 0, end_ns = 0;
	struct why why = {};
	int r = samples_bounds(recording, &range, &begin_ns, &end_ns, &why);

	CHECK(r == 0 || r == -ENODATA);
	snprintf(text, sizeof(text), r == 0 ? "%" PRIu64 "-%" PRIu64 : "-", (begin_ns - BEGIN_NS) / NSEC_PER_SEC,
		 (end_ns - BEGIN_NS) / NSEC_PER_SEC);
	return text;
}

/* "1 2": the counter in each sample of the range. */
static const char *replayed(struct recording *recording, uint64_t from_s, uint64_t to_s)
{
	static char text[64];
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct time_range range = {BEGIN_NS + from_s * NSEC_PER_SEC, BEGIN_NS + to_s * NSEC_PER_SEC};
	struct why why = {};
	unsigned samples = 0;

	text[0] = '\0';
	REQUIRE(replay_open(recording, &range, NULL, &replay, &why) == 0);
	while (replay_next(replay, snapshot, &why) > 0) {
		samples++;
		snapshot_each(snapshot, counter_type, const struct counter_record, counter)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%" PRIu64, text[0] ? " " : "",
				 counter->value);
	}
	CHECK_EQ_UINT(replay_samples(replay), samples);
	CHECK_EQ_UINT(replay_refused(replay), 0);
	return text;
}

TEST(samples_of_a_range)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_room_ struct room room;

	room_make(&room);
	write_samples(&room, NULL);
	recording = open_room(&room);
	CHECK_EQ_TEXT(bounds(recording, 0, 9), "1-4");
	CHECK_EQ_TEXT(bounds(recording, 2, 3), "2-3");
	CHECK_EQ_TEXT(bounds(recording, 3, 3), "3-3");
	CHECK_EQ_TEXT(bounds(recording, 5, 9), "-");
	CHECK_EQ_TEXT(replayed(recording, 0, 9), "1 2 3 4");
	CHECK_EQ_TEXT(replayed(recording, 2, 3), "2 3");
	CHECK_EQ_TEXT(replayed(recording, 4, 4), "4");
	CHECK_EQ_TEXT(replayed(recording, 5, 9), "");
}

/* Interfaces of each sample in their order, a letter each. */
static const char *orders(struct recording *recording)
{
	static char text[128];
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct time_range range = {0, UINT64_MAX};
	struct why why = {};

	text[0] = '\0';
	REQUIRE(replay_open(recording, &range, NULL, &replay, &why) == 0);
	while (replay_next(replay, snapshot, &why) > 0) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", text[0] ? " " : "");
		snapshot_each(snapshot, link_type, const struct link_record, link)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", link->dev);
	}
	return text;
}

/* Rows that stay are written once; those that come between them find their place. */
TEST(the_order_of_rows)
{
	static const char *const samples[] = {"ac", "abc", "axbyc", "axbycz", "zc", "cz", "bcz", "bmncz"};
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_room_ struct room room;
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned i = 0; i < ARRAY_SIZE(samples); i++) {
		snapshot_clear(snapshot);
		snapshot->begin_time_ns = snapshot->end_time_ns = BEGIN_NS + (i + 1) * NSEC_PER_SEC;
		snapshot->begin_boot_ns = snapshot->end_boot_ns = (i + 1) * NSEC_PER_SEC;
		for (const char *dev = samples[i]; *dev; dev++)
			add_link(snapshot, (char[]){*dev, '\0'});
		REQUIRE(store_add_snapshot(store, snapshot) == 0);
	}
	REQUIRE(store_close(store, &why) == 0);
	recording = open_room(&room);
	CHECK_EQ_TEXT(orders(recording), "ac abc axbyc axbycz zc cz bcz bmncz");
	/* a, c, b, x, y, z; z before c; z behind it again; b again; m and n at once. */
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM link"), 11);
}

/* However often a row comes in between the same two, each sample has its order. */
TEST(many_rows_at_the_same_place)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct time_range range = {0, UINT64_MAX};
	_cleanup_room_ struct room room;
	struct store *store;
	struct why why = {};
	unsigned samples = 0;

	room_make(&room);
	store = room_create(&room);
	for (unsigned i = 0; i < 80; i++) {
		snapshot_clear(snapshot);
		snapshot->begin_time_ns = snapshot->end_time_ns = BEGIN_NS + (i + 1) * NSEC_PER_SEC;
		snapshot->begin_boot_ns = snapshot->end_boot_ns = (i + 1) * NSEC_PER_SEC;
		add_link(snapshot, "first");
		for (unsigned n = 1; n <= i; n++) {
			char dev[16];

			snprintf(dev, sizeof(dev), "d%u", n);
			add_link(snapshot, dev);
		}
		add_link(snapshot, "last");
		REQUIRE(store_add_snapshot(store, snapshot) == 0);
	}
	REQUIRE(store_close(store, &why) == 0);
	recording = open_room(&room);
	REQUIRE(replay_open(recording, &range, NULL, &replay, &why) == 0);
	for (; replay_next(replay, snapshot, &why) > 0; samples++) {
		const struct link_record *links = snapshot_first(snapshot, &link_type);

		REQUIRE(snapshot_table(snapshot, &link_type)->count == samples + 2);
		CHECK_EQ_TEXT(links[0].dev, "first");
		CHECK_EQ_TEXT(links[samples + 1].dev, "last");
		for (unsigned n = 1; n <= samples; n++)
			CHECK_EQ_UINT(strtoul(links[n].dev + 1, NULL, 10), n);
	}
	CHECK_EQ_UINT(samples, 80);
}

/* Which fields a view shows as a text beside their number. */
TEST(readable_columns)
{
	static struct enum_names none;
	struct field field = {.name = "f"};
	_cleanup_buf_ struct buf sql = BUF_INIT(4096);

	field.kind = KIND_COUNT;
	CHECK(!column_add_readable(&field, "t", &sql));
	field.kind = KIND_FLAGS;
	field.names = &none;
	CHECK(!column_add_readable(&field, "t", &sql));
	CHECK_EQ_TEXT(buf_text(&sql), "");
	field.kind = KIND_TIME;
	CHECK(column_add_readable(&field, "t", &sql));
	CHECK_HAS_TEXT(buf_text(&sql), "IS NOT NULL");
}

/* --- moments --- */

struct timed {
	uint64_t since_ns, until_ns, without;
};

static const struct field timed_fields[] = {
	FIELD(struct timed, since_ns, DURATION, "since", .moment = MOMENT_SINCE),
	FIELD(struct timed, until_ns, DURATION, "until", .moment = MOMENT_UNTIL),
	FIELD(struct timed, without, DURATION, "without a unit in its name", .moment = MOMENT_SINCE),
};

TEST(durations_and_moments)
{
	const struct field *since = &timed_fields[0], *until = &timed_fields[1];
	_cleanup_free_ char *column = moment_column(since), *odd = moment_column(&timed_fields[2]);
	struct timed timed = {.since_ns = 300, .until_ns = 200, .without = 1};
	int64_t moment = 0;

	CHECK_EQ_TEXT(column, "since_boot_ns");
	CHECK_EQ_TEXT(odd, "without_boot_ns");
	CHECK(moment_get(since, &timed, 1000, &moment));
	CHECK_EQ_INT(moment, 700);
	CHECK(moment_get(until, &timed, 1000, &moment));
	CHECK_EQ_INT(moment, 1200);
	/* 73 years are kept, more is no duration. */
	timed.since_ns = INT64_MAX / 4;
	CHECK(moment_get(since, &timed, 1000, &moment));
	CHECK_EQ_INT(moment, 1000 - INT64_MAX / 4);
	timed.since_ns++;
	CHECK(!moment_get(since, &timed, 1000, &moment));
	value_set_unknown(since, &timed);
	CHECK(!moment_get(since, &timed, 1000, &moment));
	moment_set(since, &timed, 1000, 700);
	CHECK_EQ_UINT(timed.since_ns, 300);
	moment_set(until, &timed, 1000, 1200);
	CHECK_EQ_UINT(timed.until_ns, 200);
	/* A moment on the wrong side of the sample is now; one that cannot be subtracted is unknown. */
	moment_set(since, &timed, 1000, 1200);
	CHECK_EQ_UINT(timed.since_ns, 0);
	moment_set(until, &timed, 1000, 700);
	CHECK_EQ_UINT(timed.until_ns, 0);
	moment_set(since, &timed, 1000, INT64_MIN);
	CHECK_EQ_INT(value_get(since, &timed).class, VALUE_UNKNOWN);
}

TEST(moments_that_are_the_same)
{
	const struct field *since = &timed_fields[0], *until = &timed_fields[1];
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	CHECK(moment_holds(since, 500, 600, 1000, 100));
	CHECK(moment_holds(since, 600, 500, 1000, 100));
	CHECK(!moment_holds(since, 500, 601, 1000, 100));
	CHECK(!moment_holds(since, 601, 500, 1000, 100));
	/* A timer that has fired: "0 left" each time. */
	CHECK(moment_holds(until, 500, 1000, 1000, 100));
	CHECK(moment_holds(until, 1000, 1000, 1000, 0));
	CHECK(!moment_holds(until, 1101, 1000, 1000, 100));
	CHECK(!moment_holds(since, 500, 1000, 1000, 100));
	/* 25 ms, and what the reading took, up to 250 ms. */
	snapshot->begin_boot_ns = 5 * NSEC_PER_SEC;
	snapshot->end_boot_ns = 5 * NSEC_PER_SEC;
	CHECK_EQ_INT(moment_tolerance(snapshot), 25000000);
	snapshot->end_boot_ns += 30000000;
	CHECK_EQ_INT(moment_tolerance(snapshot), 55000000);
	snapshot->end_boot_ns += NSEC_PER_SEC;
	CHECK_EQ_INT(moment_tolerance(snapshot), 250000000);
	snapshot->end_boot_ns = 4 * NSEC_PER_SEC;
	CHECK_EQ_INT(moment_tolerance(snapshot), 25000000);
}

/* --- files --- */

/* SQLite takes names for URIs, and shells and terminals have their own ideas: a name is just bytes. */
TEST(odd_names_of_files)
{
	static const char *const names[] = {"a?mode=memory", "b#c",    "%41",      "file:d.nest", "-o", " ",
					    "e\nf",          "g'h\"i", "\xff\xfe", "j;k",         "é"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_(recording_closep) struct recording *recording = NULL;
		_cleanup_room_ struct room room;
		struct stat info;

		room_make(&room);
		snprintf(room.path, sizeof(room.path), "%s/%s", room.dir, names[i]);
		unit_note("name %zu", i);
		write_events(&room);
		CHECK(stat(room.path, &info) == 0 && info.st_size > 0);
		recording = open_room(&room);
		CHECK_EQ_TEXT(rows_between(recording, 0, 0), "0 1 2 3 4 5");
		CHECK_EQ_TEXT(recording_path(recording), room.path);
	}
}

TEST(the_log_of_another_recording_is_no_part_of_a_new_one)
{
	_cleanup_room_ struct room room;
	struct store *store = NULL;
	struct why why = {};
	FILE *log;

	room_make(&room);
	{
		_cleanup_free_ char *path = xasprintf("%s-wal", room.path);

		log = fopen(path, "we");
		REQUIRE(log && fputs("stale", log) >= 0 && fclose(log) == 0);
		CHECK_ERR(store_create(room.path, "test", &store, &why), -EEXIST);
		CHECK_HAS_TEXT(why.text, "-wal exists");
		/* No empty file is left for the next one to wonder about. */
		CHECK(access(room.path, F_OK) < 0);
		REQUIRE(unlink(path) == 0);
	}
	CHECK_OK(store_create(room.path, "test", &store, &why));
	CHECK_OK(store_close(store, &why));
}

static void run_sql(const struct room *room, const char *sql)
{
	sqlite3 *db;

	REQUIRE(sqlite3_open(room->path, &db) == SQLITE_OK);
	REQUIRE(sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK);
	sqlite3_close(db);
}

/* 16 MiB in a cell are more than any field needs. */
TEST(a_cell_has_a_limit)
{
	struct shape shape = SHAPE_OF(&sample_type);

	for (unsigned too_large = 0; too_large < 2; too_large++) {
		_cleanup_(recording_closep) struct recording *recording = NULL;
		_cleanup_(rows_closep) struct rows *rows = NULL;
		_cleanup_room_ struct room room;
		struct why why = {};
		struct sample got;
		int r;

		room_make(&room);
		write_events(&room);
		run_sql(&room, too_large ? "UPDATE event SET host = zeroblob(16777217)"
					 : "UPDATE event SET host = zeroblob(1000)");
		recording = open_room(&room);
		REQUIRE(rows_open(recording, &(struct rows_request){.name = "event", .shape = &shape}, &rows, &why) ==
			0);
		r = rows_next(rows, (void *[]){&got}, &why);
		CHECK_EQ_INT(r, too_large ? -EBADMSG : 0);
		if (too_large)
			CHECK_HAS_TEXT(why.text, "exceeds the limits");
		else
			CHECK_EQ_UINT(rows_refused(rows), 6);
	}
}

/* A query that never ends is ended. */
TEST(a_query_has_a_limit_of_time)
{
	static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) "
				      "FROM n";
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_room_ struct room room;
	sqlite3_stmt *statement;
	struct why why = {};

	room_make(&room);
	write_events(&room);
	recording = open_room(&room);
	recording_limit_time(recording, 50 * NSEC_PER_MSEC);
	REQUIRE(sqlite3_prepare_v2(recording_db(recording), endless, -1, &statement, NULL) == SQLITE_OK);
	CHECK_EQ_INT(sqlite3_step(statement), SQLITE_INTERRUPT);
	CHECK(recording_fail(recording, SQLITE_INTERRUPT, &why) < 0);
	sqlite3_finalize(statement);
	/* And without one it may go on. */
	recording_limit_time(recording, 0);
	CHECK_EQ_TEXT(rows_between(recording, 0, 0), "0 1 2 3 4 5");
}

/* --- what others do to the file --- */

enum harm { HARM_NONE, HARM_DELETE, HARM_REPLACE, HARM_TRUNCATE };

static void harm_file(const struct room *room, enum harm harm)
{
	_cleanup_free_ char *other = xasprintf("%s-other", room->path);
	FILE *file;

	if (harm == HARM_DELETE)
		REQUIRE(unlink(room->path) == 0);
	if (harm == HARM_TRUNCATE)
		REQUIRE(truncate(room->path, 100) == 0);
	if (harm != HARM_REPLACE)
		return;
	/* Larger than the recording: only its number tells. */
	file = fopen(other, "we");
	REQUIRE(file && fseek(file, 10 << 20, SEEK_SET) == 0 && fputc(0, file) == 0 && fclose(file) == 0);
	REQUIRE(rename(other, room->path) == 0);
}

/* Looked at each second: a recorder that goes on would write into a file without a name. */
TEST(a_file_that_goes_away_is_noticed)
{
	for (unsigned harm = HARM_NONE; harm <= HARM_TRUNCATE; harm++) {
		struct shape shape = SHAPE_OF(&sample_type);
		struct sample sample = sample_make();
		_cleanup_room_ struct room room;
		struct store_table *table;
		struct store *store;
		struct why why = {};
		uint64_t end_ns;
		int r = 0;

		room_make(&room);
		unit_note("harm %u", harm);
		store = room_create(&room);
		REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
		REQUIRE(store_add(table, &RECORD_OF(&sample)) == 0 && store_commit(store) == 0);
		harm_file(&room, (enum harm)harm);
		end_ns = clock_monotonic_ns() + (harm == HARM_NONE ? 1500 * NSEC_PER_MSEC : 10 * NSEC_PER_SEC);
		while (r == 0 && clock_monotonic_ns() < end_ns) {
			(void)usleep(50000);
			r = store_tick(store);
		}
		CHECK_EQ_INT(r, harm == HARM_NONE ? 0 : -EIO);
		if (harm != HARM_NONE)
			CHECK_HAS_TEXT(store_why(store), "deleted, replaced or truncated");
		/* The error stays. */
		CHECK_EQ_INT(store_close(store, &why), harm == HARM_NONE ? 0 : -EIO);
	}
}
