/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A network at rest: samples that are left out, and what a replay makes of them. */
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/cpu.h"
#include "snapshot/proc/host_limit.h"
#include "snapshot/proc/memory.h"
#include "snapshot/proc/pressure.h"
#include "snapshot/socket/socket.h"
#include "store/lull.h"
#include "store/replay.h"
#include "store/store_inside.h"
#include "store_room.h"

#define BOOT_NS (UINT64_C(5000) * NSEC_PER_SEC)
#define TIME_NS (UINT64_C(1800000000) * NSEC_PER_SEC)
#define PACE_NS (200 * NSEC_PER_MSEC)
#define SOCKETS 20
#define CPUS    4
/* Samples until a lull begins. */
#define SETTLE 25

/* A host: what it does from sample to sample, and whether its connections send. */
struct host {
	unsigned from_busy, to_busy; /* samples in which one connection sends */
	uint64_t packets;            /* of the interface, per sample */
	int64_t set_ns;              /* the clock is set so far with sample 50 */
	uint64_t late_ns;            /* sample 50 and those after it are so late */
	uint64_t found;              /* sample with a finding; 0: none */
};

static void add_connections(struct snapshot *snapshot, const struct host *host, unsigned n)
{
	for (unsigned i = 0; i < SOCKETS; i++) {
		struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
		struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
		unsigned busy = n < host->from_busy ? 0 : min_of(n, host->to_busy) - host->from_busy + 1;

		socket->cookie = tcp->tcp_cookie = i + 1;
		socket->proto = 6;
		tcp->segs_out = i == 3 ? busy : 0;
		tcp->last_sent_ns = 60 * NSEC_PER_SEC + snapshot->begin_boot_ns - BOOT_NS;
	}
}

/* What changes whether or not the network is used, not evenly. */
static void add_host(struct snapshot *snapshot, const struct host *host, unsigned n)
{
	static const char *const fullest[] = {"CPU 0", "CPU 1", "CPU 1"};
	struct host_limit_record *limit = snapshot_table_add(snapshot_table(snapshot, &host_limit_type));
	struct pressure_record *pressure = snapshot_table_add(snapshot_table(snapshot, &pressure_type));
	struct link_record *link = snapshot_table_add(snapshot_table(snapshot, &link_type));

	for (unsigned i = 0; i < CPUS; i++) {
		struct cpu_record *cpu = snapshot_table_add(snapshot_table(snapshot, &cpu_type));

		cpu->cpu = i;
		cpu->user_ns = n * 10 * NSEC_PER_MSEC + n % 3 * NSEC_PER_MSEC;
		cpu->idle_ns = n * (i + 1) * NSEC_PER_MSEC;
	}
	memcpy(limit->limit, "files", 6);
	limit->of = fullest[n % 3];
	limit->used = 5000 + n % 7;
	limit->share = (double)limit->used / 10000;
	memcpy(pressure->resource, "cpu", 4);
	pressure->avg10 = 0.01 * (n % 4);
	pressure->total_ns = n * NSEC_PER_MSEC;
	link->ifindex = 2;
	link->rx_packets = n * host->packets;
	link->rx_bytes = n * host->packets * 60;
}

static void take_sample(struct snapshot *snapshot, const struct host *host, unsigned n)
{
	uint64_t late_ns = n >= 50 ? host->late_ns : 0;

	snapshot_clear(snapshot);
	snapshot->pace_ns = PACE_NS;
	snapshot->begin_boot_ns = BOOT_NS + n * PACE_NS + late_ns;
	snapshot->end_boot_ns = snapshot->begin_boot_ns + 3 * NSEC_PER_MSEC;
	snapshot->sockets_boot_ns = snapshot->begin_boot_ns + NSEC_PER_MSEC;
	snapshot->begin_time_ns = TIME_NS + n * PACE_NS + late_ns + (n >= 50 ? (uint64_t)host->set_ns : 0);
	snapshot->end_time_ns = snapshot->begin_time_ns + 3 * NSEC_PER_MSEC;
	add_connections(snapshot, host, n);
	add_host(snapshot, host, n);
}

static void add_finding(struct store *store, uint64_t number)
{
	struct finding_record finding = {.cause = "path-loss", .module = "path", .certainty = 0.9};
	struct diagnosis_record diagnosis = {.start_ns = TIME_NS + number * PACE_NS, .window_ms = 1000};

	diagnosis.findings = (struct list){&finding, 1};
	CHECK_OK(store_add_findings(store, &diagnosis));
}

static void add_samples(struct store *store, const struct host *host, unsigned count)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	for (unsigned n = 0; n < count; n++) {
		take_sample(snapshot, host, n);
		CHECK_OK(store_add_snapshot(store, snapshot));
		if (host->found && host->found == n)
			add_finding(store, n);
	}
}

static void record(const struct room *room, const struct host *host, unsigned count)
{
	struct store *store = room_create(room);
	struct why why = {};

	add_samples(store, host, count);
	CHECK_OK(store_close(store, &why));
}

static int64_t stored(const struct room *room)
{
	return room_number(room, "SELECT count(*) FROM sample");
}

static int64_t all_samples(const struct room *room)
{
	return room_number(room, "SELECT count(*) + sum(ifnull(left_out, 0)) FROM sample");
}

static struct replay *open_replay(const struct room *room, struct recording **recording, struct time_range range)
{
	struct replay *replay = NULL;
	struct why why = {};

	REQUIRE(recording_open(room->path, recording, &why) == 0);
	if (!CHECK_OK(replay_open(*recording, &range, NULL, &replay, &why)))
		unit_note("%s", why.text);
	REQUIRE(replay);
	return replay;
}

#define ALL ((struct time_range){.to_ns = UINT64_MAX})

/* --- writing --- */

TEST(an_idle_host_writes_little)
{
	_cleanup_room_ struct room room, first;
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};

	room_make(&room);
	room_make(&first);
	record(&first, &host, 2);
	record(&room, &host, 3600 * 5);
	CHECK_EQ_INT(all_samples(&room), 3600 * 5);
	/* One every 30 s, with the rows that drifted. */
	CHECK_EQ_INT(stored(&room), SETTLE + 3600 / 30);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM tcp"), SOCKETS);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM cpu"), CPUS * (SETTLE + 3600 / 30));
	unit_note("%" PRIu64 " bytes per hour", room_bytes(&room) - room_bytes(&first));
	CHECK(room_bytes(&room) - room_bytes(&first) < 256 << 10);
}

TEST(a_busy_host_is_recorded_in_full)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new(), *live = snapshot_new();
	static const struct host host = {.from_busy = 0, .to_busy = 300, .packets = 2};
	struct why why = {};

	room_make(&room);
	record(&room, &host, 300);
	CHECK_EQ_INT(stored(&room), 300);
	replay = open_replay(&room, &recording, ALL);
	for (unsigned n = 0; n < 300; n++) {
		const struct cpu_record *cpu, *want;

		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		take_sample(live, &host, n);
		cpu = snapshot_first(snapshot, &cpu_type);
		want = snapshot_first(live, &cpu_type);
		CHECK_EQ_UINT(cpu[1].user_ns, want[1].user_ns);
		CHECK_EQ_UINT(snapshot->begin_boot_ns, live->begin_boot_ns);
	}
}

/* What the diagnosis of a change may need is exact: the sample before it, and all from then on. */
TEST(samples_around_a_change_are_stored)
{
	_cleanup_room_ struct room room;
	static const struct host host = {.from_busy = 70, .to_busy = 75, .packets = 2};

	room_make(&room);
	record(&room, &host, 160);
	CHECK_EQ_INT(all_samples(&room), 160);
	/* Until it has settled, the last one before the change, the change and until it has settled again, the last. */
	CHECK_EQ_INT(stored(&room), SETTLE + 1 + 6 + SETTLE - 1 + 1);
	CHECK_EQ_INT(room_number(&room, "SELECT count(*) FROM (SELECT (begin_boot_ns - 5000000000000) / 200000000 AS n "
					"FROM sample) WHERE n < 25 OR n BETWEEN 69 AND 99 OR n = 159"),
		     stored(&room));
	CHECK_EQ_INT(room_number(&room, "SELECT left_out FROM sample WHERE left_out ORDER BY id LIMIT 1"), 69 - SETTLE);
	/* The values of sample 69, not of one before. */
	CHECK_EQ_INT(room_number(&room, "SELECT idle_ns FROM cpu WHERE cpu = 0 AND last >= (SELECT id FROM sample "
					"WHERE left_out = 44) ORDER BY first LIMIT 1"),
		     69 * NSEC_PER_MSEC);
}

TEST(what_is_no_rest_is_stored)
{
	static const struct {
		const char *what;
		struct host host;
		int64_t stored;
	} cases[] = {
		{"a lull", {.packets = 2}, SETTLE + 1},
		{"a packet more per second than an interface drifts", {.packets = 5}, 101},
		{"the clock was set", {.packets = 2, .set_ns = 3600 * (int64_t)NSEC_PER_SEC}, 2 * (SETTLE + 1)},
		{"the clock was set back", {.packets = 2, .set_ns = -(int64_t)NSEC_PER_SEC}, 2 * (SETTLE + 1)},
		{"samples are missing", {.packets = 2, .late_ns = NSEC_PER_SEC}, 2 * (SETTLE + 1)},
		{"a sample was late", {.packets = 2, .late_ns = NSEC_PER_SEC / 3}, SETTLE + 1},
		/* For 3 s, and until it has settled. */
		{"the diagnosis found something", {.packets = 2, .found = 40}, SETTLE + 1 + 15 + SETTLE - 1 + 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_room_ struct room room;
		struct host host = cases[i].host;

		unit_note("%s", cases[i].what);
		host.from_busy = UINT32_MAX;
		room_make(&room);
		record(&room, &host, 101);
		CHECK_EQ_INT(all_samples(&room), 101);
		CHECK_EQ_INT(stored(&room), cases[i].stored);
	}
}

TEST(another_pace_and_losses_are_no_rest)
{
	struct sample_record first = {.id = 1000, .begin_boot_ns = 1, .begin_time_ns = 1, .pace_ns = PACE_NS}, next;
	struct lull lull = {};

	next = first;
	CHECK(!lull_step(&lull, &next, true));
	for (unsigned i = 1; i < 110; i++) {
		bool merged;

		next = first;
		next.id += i * 200;
		next.begin_boot_ns += i * PACE_NS;
		next.begin_time_ns += i * PACE_NS;
		next.pace_ns = i < 40 ? PACE_NS : 2 * PACE_NS;
		next.refused = i == 80;
		merged = lull_step(&lull, &next, true);
		/* Another pace with 40; losses with 80, which 81 follows. A lull begins with a sample of its own. */
		CHECK_EQ_INT(merged, (i > SETTLE && i < 40) || (i > 40 + SETTLE && i < 80) || i > 81 + SETTLE);
		if (merged)
			CHECK_EQ_UINT(next.left_out, i < 40 ? i - SETTLE : i < 80 ? i - 40 - SETTLE : i - 81 - SETTLE);
	}
}

/* A stretch is no more than a tenth of a moving window, which begins with a whole one. */
TEST(a_small_window_has_small_stretches)
{
	_cleanup_room_ struct room room;
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	for (unsigned n = 0; n < 500; n++) {
		take_sample(snapshot, &host, n);
		CHECK_OK(store_add_snapshot(store, snapshot));
		if (n > 50 && n % 5 == 0)
			CHECK_OK(store_trim(store, 0, snapshot->begin_time_ns - 10 * NSEC_PER_SEC));
	}
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(room_number(&room, "SELECT max(left_out) FROM sample"), 4);
	CHECK(room_number(&room, "SELECT max(id) - min(id) FROM sample") >= 10000);
	CHECK(room_number(&room, "SELECT max(id) - min(id) FROM sample") <= 12000);
}

TEST(a_kill_in_a_lull_loses_nothing_that_was_committed)
{
	_cleanup_room_ struct room room;
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};
	pid_t child;
	int status;

	room_make(&room);
	child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		struct store *store = room_create(&room);

		add_samples(store, &host, 90);
		(void)store_commit(store);
		(void)kill(getpid(), SIGKILL);
	}
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ_INT(all_samples(&room), 90);
	CHECK_EQ_INT(room_number(&room, "SELECT idle_ns FROM cpu WHERE cpu = 0 ORDER BY first DESC LIMIT 1"),
		     89 * NSEC_PER_MSEC);
}

TEST(a_window_does_not_begin_inside_a_lull)
{
	_cleanup_room_ struct room room;
	static const struct host host = {.from_busy = 40, .to_busy = 45, .packets = 2};
	struct store *store;
	struct why why = {};

	room_make(&room);
	store = room_create(&room);
	add_samples(store, &host, 120);
	/* In the middle of samples 69 to 119. */
	CHECK_OK(store_trim(store, 0, TIME_NS + 80 * PACE_NS));
	CHECK_OK(store_close(store, &why));
	CHECK_EQ_INT(stored(&room), 2);
	CHECK_EQ_INT(all_samples(&room), 120 - 69);
	/* With the rows at its beginning. */
	CHECK_EQ_INT(room_number(&room, "SELECT min(idle_ns) FROM cpu WHERE cpu = 0"), 69 * NSEC_PER_MSEC);
}

/* --- reading --- */

TEST(a_replay_makes_them_again)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new(), *live = snapshot_new();
	static const struct host host = {.from_busy = 70, .to_busy = 75, .packets = 2};
	struct why why = {};

	room_make(&room);
	record(&room, &host, 300);
	CHECK(stored(&room) < 70);
	replay = open_replay(&room, &recording, ALL);
	CHECK_EQ_UINT(replay_samples(replay), 300);
	for (unsigned n = 0; n < 300; n++) {
		const struct cpu_record *cpu;
		const struct host_limit_record *limit;
		const struct link_record *link;
		const struct tcp_record *tcp, *want;

		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		take_sample(live, &host, n);
		/* Evenly spaced, in all of its times. */
		CHECK_EQ_UINT((snapshot->begin_boot_ns + 500) / 1000, live->begin_boot_ns / 1000);
		CHECK_EQ_UINT((snapshot->begin_time_ns + 500) / 1000, live->begin_time_ns / 1000);
		CHECK_EQ_UINT(snapshot->end_boot_ns - snapshot->begin_boot_ns, 3 * NSEC_PER_MSEC);
		CHECK_EQ_UINT(snapshot->sockets_boot_ns - snapshot->begin_boot_ns, NSEC_PER_MSEC);
		CHECK_EQ_UINT(replay_time(replay, n).boot_ns, snapshot->begin_boot_ns);
		tcp = snapshot_first(snapshot, &tcp_type);
		want = snapshot_first(live, &tcp_type);
		CHECK_EQ_UINT(snapshot_table(snapshot, &tcp_type)->count, SOCKETS);
		CHECK_EQ_UINT(tcp[3].segs_out, want[3].segs_out);
		CHECK_EQ_UINT((tcp[3].last_sent_ns + 500) / 1000, want[3].last_sent_ns / 1000);
		/* What grows evenly is right; what does not is right within its steps. */
		cpu = snapshot_first(snapshot, &cpu_type);
		CHECK_EQ_UINT(snapshot_table(snapshot, &cpu_type)->count, CPUS);
		CHECK_EQ_UINT((cpu[2].idle_ns + 500) / 1000, n * 3 * 1000);
		CHECK(cpu[2].user_ns + 3 * NSEC_PER_MSEC > n * 10 * NSEC_PER_MSEC &&
		      cpu[2].user_ns < n * 10 * NSEC_PER_MSEC + 3 * NSEC_PER_MSEC);
		limit = snapshot_first(snapshot, &host_limit_type);
		CHECK(limit->used >= 5000 && limit->used <= 5006);
		CHECK(limit->share >= 0.5 && limit->share <= 0.5007);
		CHECK(limit->of != NULL);
		link = snapshot_first(snapshot, &link_type);
		CHECK(link->rx_packets + 1 >= n * 2 && link->rx_packets <= n * 2);
	}
	CHECK_EQ_INT(replay_next(replay, snapshot, &why), 0);
	CHECK_EQ_UINT(replay_refused(replay), 0);
}

TEST(a_range_may_begin_and_end_inside)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};
	struct time_range range = {.from_ns = TIME_NS + 30 * PACE_NS - NSEC_PER_MSEC,
				   .to_ns = TIME_NS + 39 * PACE_NS + NSEC_PER_MSEC};
	struct why why = {};
	uint64_t begin, end;

	room_make(&room);
	record(&room, &host, 140);
	CHECK_EQ_INT(stored(&room), SETTLE + 1);
	replay = open_replay(&room, &recording, range);
	CHECK_EQ_UINT(replay_samples(replay), 10);
	for (unsigned n = 30; n < 40; n++) {
		const struct cpu_record *cpu;

		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		cpu = snapshot_first(snapshot, &cpu_type);
		CHECK_EQ_UINT((cpu[0].idle_ns + 500) / 1000, n * 1000);
	}
	CHECK_EQ_INT(replay_next(replay, snapshot, &why), 0);
	CHECK_OK(samples_bounds(recording, &range, &begin, &end, &why));
	CHECK_EQ_UINT((end - begin + 500) / 1000, 9 * PACE_NS / 1000);
}

/* A file may claim anything: no more samples than fit between two, and none without the first one. */
TEST(claims_of_a_hostile_file_are_ignored)
{
	static const char *const claims[] = {
		"UPDATE sample SET left_out = 9000000000",
		"UPDATE sample SET left_out = 1001",
		"UPDATE sample SET left_out = 999, id = id - 19000 WHERE left_out",
		"UPDATE sample SET left_out = -5",
		"UPDATE sample SET left_out_since = id",
		"UPDATE sample SET left_out_since = 5",
		"UPDATE sample SET begin_boot_ns = 7",
		"UPDATE sample SET begin_time_ns = 7",
		"DELETE FROM sample WHERE left_out IS NULL",
	};
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};

	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		_cleanup_room_ struct room room;
		_cleanup_(recording_closep) struct recording *recording = NULL;
		_cleanup_(replay_closep) struct replay *replay = NULL;
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		struct why why = {};
		unsigned count = 0;
		sqlite3 *db;

		room_make(&room);
		record(&room, &host, 100);
		REQUIRE(sqlite3_open(room.path, &db) == SQLITE_OK);
		CHECK(sqlite3_exec(db, claims[i], NULL, NULL, NULL) == SQLITE_OK);
		sqlite3_close(db);
		unit_note("%s", claims[i]);
		replay = open_replay(&room, &recording, ALL);
		while (replay_next(replay, snapshot, &why) > 0)
			count++;
		CHECK_EQ_UINT(count, (uint64_t)stored(&room));
		CHECK_EQ_UINT(replay_samples(replay), count);
	}
}

/* Rows that are not the same at both ends, in a file that claims rest: those of the later sample. */
TEST(rows_that_do_not_match_are_not_interpolated)
{
	_cleanup_room_ struct room room;
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const struct host host = {.from_busy = UINT32_MAX, .packets = 2};
	struct why why = {};
	sqlite3 *db;

	room_make(&room);
	record(&room, &host, 100);
	REQUIRE(sqlite3_open(room.path, &db) == SQLITE_OK);
	CHECK(sqlite3_exec(db, "DELETE FROM cpu WHERE cpu = 1 AND first = (SELECT max(first) FROM cpu)", NULL, NULL,
			   NULL) == SQLITE_OK);
	sqlite3_close(db);
	replay = open_replay(&room, &recording, ALL);
	for (unsigned n = 0; n < 100; n++) {
		const struct cpu_record *cpu;

		REQUIRE(replay_next(replay, snapshot, &why) == 1);
		cpu = snapshot_first(snapshot, &cpu_type);
		/* The lull ends with sample 99. */
		if (n >= SETTLE) {
			CHECK_EQ_UINT(snapshot_table(snapshot, &cpu_type)->count, CPUS - 1);
			CHECK_EQ_UINT(cpu[0].idle_ns, 99 * NSEC_PER_MSEC);
		}
	}
}

/* --- declarations --- */

/* A replay can interpolate numbers of 32 and 64 bits; a text is that of the later sample. */
TEST(fields_that_drift_can_be_interpolated)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	unsigned count = 0;

	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct record_type *type = snapshot->tables[i].type;

		for (uint32_t j = 0; j < type->field_count; j++) {
			const struct field *field = &type->fields[j];

			CHECK(field->drift >= 0);
			if (!(field->drift > 0))
				continue;
			unit_note("%s.%s", type->name, field->name);
			CHECK(!field->moment && !field->incidental);
			CHECK(field->store == STORE_U32 || field->store == STORE_U64 || field->store == STORE_DOUBLE ||
			      field->store == STORE_STRING);
			count++;
		}
		CHECK_EQ_INT(lull_drifts(type), count > 0);
		count = 0;
	}
}
