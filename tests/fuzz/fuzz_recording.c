/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of recordings on files from anywhere: a small recording with bytes changed as the input says, or the
 * input itself as a file. Whatever is in it, reading ends with rows or with a sentence.
 */
#include "fuzz.h"

#include <fcntl.h>

#include "path/journey/journey_store.h"
#include "report/report.h"
#include "snapshot/proc/counter.h"
#include "snapshot/socket/socket.h"
#include "store/store.h"

#define CHANGES_MAX 64

static char path[64];
static struct buf original = {.cap = (size_t)16 << 20};

static void remove_file(void)
{
	(void)unlink(path);
}

static void add_journey(struct store *store)
{
	struct journey_keeper keeper = {};
	struct journey journey = {.time_ns = UINT64_C(1800000000000000000),
				  .total_ns = 300,
				  .dir = PACKET_RX,
				  .end = PATH_DELIVERED,
				  .stage_count = 2,
				  .stages = {{.stage = PATH_IP, .ns = 100}, {.stage = PATH_COPY, .ns = 200}}};

	journey.stages[0].start_ns = journey.time_ns;
	journey.stages[1].start_ns = journey.time_ns + 100;
	fuzz_require(journey_keeper_open(&keeper, store) == 0 && journey_keep(&keeper, &journey) == 0);
}

/* Small, so that many are tried: two samples (socket, connection, counter), a finding, a packet's journey. */
static void make_small(void)
{
	struct snapshot *snapshot = snapshot_new();
	struct finding_record finding = {
		.cause = "path-loss", .layer = "path", .module = "path:10.0.0.2", .certainty = 0.7};
	struct diagnosis_record diagnosis = {
		.start_ns = UINT64_C(1800000000000000000), .window_ms = 3000, .findings = {&finding, 1}};
	struct store *store = NULL;
	struct why why = {};

	fuzz_require(store_create(path, "fuzz", &store, &why) == 0);
	for (unsigned i = 0; i < 2; i++) {
		struct socket_record *socket;
		struct tcp_record *tcp;
		struct counter_record *counter;

		snapshot_clear(snapshot);
		snapshot->begin_time_ns = snapshot->end_time_ns = diagnosis.start_ns + i * UINT64_C(1000000000);
		snapshot->begin_boot_ns = snapshot->end_boot_ns = (i + 1) * UINT64_C(1000000000);
		socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
		socket->cookie = 7;
		socket->state = SOCKET_ESTABLISHED;
		socket->raddr = addr_from_v4("\12\0\0\2");
		tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));
		tcp->tcp_cookie = 7;
		tcp->bytes_sent = 1000 * i;
		counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));
		counter->counter = "TcpExtListenDrops";
		counter->value = i;
		fuzz_require(store_add_snapshot(store, snapshot) == 0);
	}
	add_journey(store);
	fuzz_require(store_add_findings(store, &diagnosis) == 0 && store_close(store, &why) == 0);
	snapshot_free(snapshot);
}

static void prepare(void)
{
	snprintf(path, sizeof(path), "/tmp/nest-fuzz-%d.nest", (int)getpid());
	(void)unlink(path);
	make_small();
	fuzz_require(buf_read_file(&original, path) == 0);
	(void)atexit(remove_file);
}

/* Four bytes say where, one what. */
static void write_changed(int fd, const uint8_t *data, size_t size)
{
	fuzz_require(write(fd, original.data, original.len) == (ssize_t)original.len);
	for (size_t i = 0; i + 5 <= size && i < (size_t)CHANGES_MAX * 5; i += 5) {
		uint32_t at;

		memcpy(&at, data + i, sizeof(at));
		fuzz_require(pwrite(fd, data + i + 4, 1, (off_t)(at % original.len)) == 1);
	}
}

/* What comes back adds up, or does not come back. */
static int read_journeys(struct recording *recording, const struct time_range *range, struct why *why)
{
	_cleanup_(journey_replay_closep) struct journey_replay *replay = NULL;
	struct journey journey;
	int r = journey_replay_open(recording, range, &replay, why);

	while (r == 0 && (r = journey_replay_next(replay, &journey, why)) > 0) {
		fuzz_require(journey_adds_up(&journey));
		r = 0;
	}
	return r;
}

static void read_all(void)
{
	struct recording *recording = NULL;
	struct report *report = NULL;
	struct time_range all = {.to_ns = UINT64_MAX};
	struct why why = {};
	int r = recording_open(path, &recording, &why);

	if (r == 0)
		r = report_make(recording, &all, &report, &why);
	if (r == 0)
		r = read_journeys(recording, &all, &why);
	fuzz_require(r >= 0 || why.text[0]);
	fuzz_require(r >= 0 || !fuzz_has_control(why.text, strlen(why.text)));
	report_free(report);
	recording_close(recording);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	if (!path[0])
		prepare();
	if (size < 1)
		return 0;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	fuzz_require(fd >= 0);
	if (data[0] & 1)
		write_changed(fd, data + 1, size - 1);
	else
		fuzz_require(write(fd, data + 1, size - 1) == (ssize_t)(size - 1));
	(void)close(fd);
	read_all();
	return 0;
}
