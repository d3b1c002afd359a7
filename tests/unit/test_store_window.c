/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings stay small: what rests is written once, a limit of size is kept, a clock that is set loses nothing. */
#include "base/clock.h"
#include "sample.h"
#include "snapshot/netlink/neighbour.h"
#include "snapshot/socket/socket.h"
#include "store/replay.h"
#include "store/store_inside.h"
#include "store_room.h"

#define BOOT_NS   (UINT64_C(5000) * NSEC_PER_SEC)
#define TIME_NS   (UINT64_C(1800000000) * NSEC_PER_SEC)
#define PACE_NS   (200 * NSEC_PER_MSEC)
#define SOCKETS   20
#define JITTER_NS (8 * NSEC_PER_MSEC)

/* Sample number n, read at its time of boot; the clock may be set (set_ns). */
static void begin_sample(struct snapshot *snapshot, unsigned n, int64_t set_ns)
{
	snapshot_clear(snapshot);
	snapshot->begin_boot_ns = BOOT_NS + n * PACE_NS;
	snapshot->end_boot_ns = snapshot->begin_boot_ns + 3 * NSEC_PER_MSEC;
	snapshot->sockets_boot_ns = snapshot->begin_boot_ns + NSEC_PER_MSEC;
	snapshot->begin_time_ns = TIME_NS + n * PACE_NS + (uint64_t)set_ns;
	snapshot->end_time_ns = snapshot->begin_time_ns + 3 * NSEC_PER_MSEC;
}

/* A connection at rest since BOOT_NS - 60 s, as the kernel's coarse clock gives it. */
static void add_connection(struct snapshot *snapshot, unsigned cookie, unsigned n)
{
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	uint64_t rest_ns = 60 * NSEC_PER_SEC + n * PACE_NS + (cookie * 7 + n * 13) % 5 * JITTER_NS / 4;

	socket->cookie = tcp->tcp_cookie = cookie;
	socket->proto = 6;
	socket->timer = SOCKET_TIMER_KEEPALIVE;
	socket->timer_ns = 7200 * NSEC_PER_SEC - rest_ns;
	/* A BPF program of somebody else, now and then. */
	socket->option_bytes = n / 10 % 2 ? 288 : 0;
	tcp->last_sent_ns = rest_ns;
	tcp->last_received_ns = rest_ns;
	tcp->last_ack_ns = rest_ns - NSEC_PER_SEC;
}

static void add_connections(struct snapshot *snapshot, unsigned n)
{
	for (unsigned i = 0; i < SOCKETS; i++)
		add_connection(snapshot, i + 1, n);
}

TEST(connections_at_rest_are_written_once)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned n = 0; n < 500; n++) {
		begin_sample(snapshot, n, 0);
		add_connections(snapshot, n);
		CHECK_OK(store_add_snapshot(store, snapshot));
	}
	CHECK_OK(store_close(store, &why));
	/* Of a lull only every 30 s (test_store_lull.c). */
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) + sum(ifnull(left_out, 0)) FROM sample"), 500);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM sample"), 25 + 4);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM socket"), SOCKETS);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM tcp"), SOCKETS);
	/* The view has the durations, one row per sample that is stored. */
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM v_tcp"), (25 + 4) * SOCKETS);
	CHECK_EQ_INT(room_number(&room, "SELECT (max(last_sent_ns) - min(last_sent_ns)) / 1000000000 FROM v_tcp"), 99);
	CHECK_EQ_INT(room_number(&room, "SELECT min(timer_ns) / 1000000000 FROM v_socket"), 7200 - 60 - 100);
}

/* What the run sees after writing is what a replay gives, to the nanosecond. */
TEST(a_replay_gives_the_durations_that_the_run_saw)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct time_range all = {.to_ns = UINT64_MAX};
	uint64_t seen[50][SOCKETS][4];
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned n = 0; n < 50; n++) {
		struct socket_record *socket;
		struct tcp_record *tcp;

		begin_sample(snapshot, n, 0);
		add_connections(snapshot, n);
		tcp = snapshot_first(snapshot, &tcp_type);
		/* One sends once. */
		tcp[3].segs_out = n < 25 ? 1 : 2;
		tcp[3].last_sent_ns = n < 25 ? tcp[3].last_sent_ns : (n - 25) * PACE_NS + 11;
		tcp[4].last_ack_ns = UINT64_MAX;
		CHECK_OK(store_add_snapshot(store, snapshot));
		socket = snapshot_first(snapshot, &socket_type);
		for (unsigned i = 0; i < SOCKETS; i++)
			memcpy(seen[n][i],
			       ((uint64_t[4]){tcp[i].last_sent_ns, tcp[i].last_received_ns, tcp[i].last_ack_ns,
					      socket[i].timer_ns}),
			       sizeof(seen[n][i]));
		CHECK(tcp[3].last_sent_ns + (25 + JITTER_NS) * NSEC_PER_MSEC > (n < 25 ? 60 : 0) * NSEC_PER_SEC);
	}
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM tcp"), SOCKETS + 1);
	REQUIRE(recording_open(room.path, &recording, &why) == 0);
	REQUIRE(replay_open(recording, &all, NULL, &replay, &why) == 0);
	for (unsigned n = 0; n < 50; n++) {
		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		snapshot_each(snapshot, tcp_type, const struct tcp_record, tcp) {
			const uint64_t *want = seen[n][tcp->tcp_cookie - 1];

			CHECK_EQ_UINT(tcp->last_sent_ns, want[0]);
			CHECK_EQ_UINT(tcp->last_received_ns, want[1]);
			CHECK_EQ_UINT(tcp->last_ack_ns, want[2]);
		}
		snapshot_each(snapshot, socket_type, const struct socket_record, socket)
			CHECK_EQ_UINT(socket->timer_ns, seen[n][socket->cookie - 1][3]);
	}
}

/* A duration that jumps although nothing else changed is a new moment; a timer that has expired is not. */
TEST(moments_that_move_are_written)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned n = 0; n < 20; n++) {
		struct neighbour_record *neighbour;
		struct socket_record *socket;

		begin_sample(snapshot, n, 0);
		add_connection(snapshot, 1, n);
		socket = snapshot_first(snapshot, &socket_type);
		/* Expires with sample 10. */
		socket->timer_ns = n < 10 ? (10 - n) * PACE_NS : 0;
		neighbour = snapshot_table_add(snapshot_table(snapshot, &neighbour_type));
		/* Used again with samples 8 and 16. */
		neighbour->used_ns = n % 8 * PACE_NS;
		CHECK_OK(store_add_snapshot(store, snapshot));
	}
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM socket"), 1);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM neighbour"), 3);
}

/* --- the clock --- */

TEST(a_clock_that_is_set_leaves_ids_in_step)
{
	static const int64_t hour = 3600 * (int64_t)NSEC_PER_SEC;

	for (int64_t set = -hour; set <= hour; set += 2 * hour) {
		_cleanup_room_ struct room room;
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		struct store *store;
		struct why why = {};

		room_make(&room);
		store = room_create(&room);
		for (unsigned n = 0; n < 100; n++) {
			begin_sample(snapshot, n, n < 50 ? 0 : set);
			add_connection(snapshot, n, n);
			CHECK_OK(store_add_snapshot(store, snapshot));
		}
		/* The last 10 s of the line, wherever the clock stands. */
		CHECK_OK(store_trim(store, 0, TIME_NS + 10 * NSEC_PER_SEC));
		CHECK_OK(store_close(store, &why));
		CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM sample"), 50);
		CHECK_EQ_INT(room_number(&room, "SELECT max(id) - min(id) FROM sample"), 49 * 200);
		CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM socket"), 50);
	}
}

/* Events have the time of day: the window follows each step. */
TEST(events_before_a_clock_was_set_forward_are_kept)
{
	_cleanup_room_ struct room room;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct store_table *table;
	struct store *store;
	struct why why = {};
	uint64_t now_ns;

	room_make(&room);
	store = room_create(&room);
	REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
	now_ns = store_now_ns(store);
	sample.time_ns = now_ns;
	CHECK_OK(store_add(table, &RECORD_OF(&sample)));
	/* As if the clock had been set an hour forward: the line started an hour ago as it were. */
	store->origin_ns -= 3600 * (int64_t)NSEC_PER_SEC;
	sample.time_ns = now_ns + 1;
	CHECK_OK(store_add(table, &RECORD_OF(&sample)));
	now_ns = store_now_ns(store);
	CHECK_OK(store_trim(store, 0, now_ns - 10 * NSEC_PER_SEC));
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM event"), 2);
}

TEST(a_range_of_events_after_a_clock_was_set_forward)
{
	_cleanup_room_ struct room room;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	struct store_table *table;
	struct store *store;
	struct why why = {};
	uint64_t line_ns;

	room_make(&room);
	store = room_create(&room);
	REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
	(void)store_now_ns(store);
	store->origin_ns -= 3600 * (int64_t)NSEC_PER_SEC;
	line_ns = store_now_ns(store);
	/* 5, 15 and 25 s after that, by the clock of the day. */
	for (unsigned i = 0; i < 3; i++) {
		sample.time_ns = line_ns + (3605 + i * 10) * NSEC_PER_SEC;
		CHECK_OK(store_add(table, &RECORD_OF(&sample)));
	}
	CHECK_OK(store_trim(store, line_ns + 10 * NSEC_PER_SEC, line_ns + 20 * NSEC_PER_SEC));
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM event"), 2);
	CHECK_EQ_INT(room_number(&room, "SELECT (max(time_ns) - min(time_ns)) / 1000000000 FROM event"), 20);
}

/* --- size --- */

TEST(a_limit_of_size_holds_for_file_and_log)
{
	_cleanup_room_ struct room room;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample sample = sample_make();
	uint64_t limit = 3000000, largest = 0;
	struct store_table *table;
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
	CHECK_OK(store_limit_size(store, limit));
	for (unsigned n = 0; n < 400; n++) {
		begin_sample(snapshot, n, 0);
		/* All of it is older than the half second that stays. */
		snapshot->begin_boot_ns = clock_ns(CLOCK_BOOTTIME) - (405 - n) * PACE_NS;
		snapshot->begin_time_ns = clock_real_ns() - (405 - n) * PACE_NS;
		add_connections(snapshot, n);
		snapshot_each(snapshot, tcp_type, struct tcp_record, tcp)
			tcp->segs_out = n;
		CHECK_OK(store_add_snapshot(store, snapshot));
		sample.time_ns = snapshot->begin_time_ns;
		for (unsigned i = 0; i < 200; i++)
			CHECK_OK(store_add(table, &RECORD_OF(&sample)));
		largest = max_of(largest, room_bytes(&room));
	}
	unit_note("largest: %" PRIu64, largest);
	CHECK(largest > limit / 2);
	CHECK(largest <= limit + limit / 10);
	CHECK_OK(store_close(store, &why));
	CHECK(room_number(&room, "SELECT count(*) FROM event") > 1000);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM tcp WHERE last > 140000000000000"), SOCKETS);
}

/* Rows of the last half second stay, whatever their size. Once of several times: it may take longer to write them. */
TEST(the_last_half_second_stays)
{
	int64_t old = 1, recent = 0;

	for (unsigned attempt = 0; attempt < 5 && recent != 3000; attempt++) {
		_cleanup_room_ struct room room;
		struct shape shape = SHAPE_OF(&sample_type);
		struct sample sample = sample_make();
		struct store_table *table;
		struct store *store;
		struct why why = {};

		room_make(&room);
		store = room_create(&room);
		REQUIRE(store_table_open(store, "event", &shape, &table) == 0);
		CHECK_OK(store_limit_size(store, 150000));
		for (unsigned n = 0; n < 3100; n++) {
			sample.pid = n < 100 ? 1 : 2;
			sample.time_ns = clock_real_ns() + (n < 100 ? 0 : NSEC_PER_SEC / 4);
			if (n < 100)
				sample.time_ns -= 10 * NSEC_PER_SEC - n * 90 * NSEC_PER_MSEC;
			CHECK_OK(store_add(table, &RECORD_OF(&sample)));
		}
		CHECK_OK(store_commit(store));
		CHECK_OK(store_close(store, &why));
		old = room_number(&room, "SELECT count(*) FROM event WHERE pid = 1");
		recent = room_number(&room, "SELECT count(*) FROM event WHERE pid = 2");
	}
	CHECK_EQ_INT(old, 0);
	CHECK_EQ_INT(recent, 3000);
}

/* SQLite keeps pages that it has written: 30 MB of rows would stay in memory without a limit. */
TEST(memory_does_not_grow_with_the_recording)
{
	_cleanup_room_ struct room room;
	char label[1001] = "";
	struct store *store;
	struct why why = {};

	memset(label, 'x', sizeof(label) - 1);
	room_make(&room);
	store = room_create(&room);
	for (uint64_t i = 0; i < 30000; i++)
		CHECK_OK(store_add_mark(store, i, label));
	CHECK_OK(store_tick(store));
	CHECK(room_bytes(&room) > 20000000);
	CHECK(sqlite3_memory_used() < 6 << 20);
	CHECK_OK(store_close(store, &why));
}
