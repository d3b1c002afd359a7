/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The core: tables, texts, gaps, what runs when; and the small helpers beside it. */
#include <math.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "snapshot/core/arena.h"
#include "snapshot/core/delta.h"
#include "snapshot/core/slice.h"
#include "snapshot/core/snapshot.h"
#include "snapshot/core/table_share.h"
#include "snapshot/netlink/link.h"
#include "snapshot/proc/cgroup_path.h"
#include "snapshot/socket/join.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/sock_watch.h"
#include "snapshot/socket/socket.h"
#include "snapshot/socket/time_wait.h"
#include "unit.h"

/* --- a source of its own, to see how the core treats one --- */

struct probe_record {
	uint32_t number;
	uint64_t wide;
	const char *text;
	double real;
	char chars[8];
};
static const struct field probe_fields[] = {
	FIELD(struct probe_record, number, COUNT, "n"), FIELD(struct probe_record, wide, COUNT, "w"),
	FIELD(struct probe_record, text, TEXT, "t"),    FIELD(struct probe_record, real, RATIO, "r"),
	FIELD(struct probe_record, chars, TEXT, "c"),
};
static RECORD_TYPE(probe_type, "test_probe", struct probe_record, probe_fields, "a record of a test");
static RECORD_TYPE(failing_type, "test_failing", struct probe_record, probe_fields, "a record of a test");
static RECORD_TYPE(derived_type, "test_derived", struct probe_record, probe_fields, "a record of a test");

static unsigned probe_runs, failing_runs, derived_runs;
static bool text_too_long;

static int probe_collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	struct probe_record *record = snapshot_table_add(snapshot_table(snapshot, &probe_type));
	unsigned *state = snapshot_state(snapshot);

	(void)request;
	(void)why;
	probe_runs++;
	record->number = ++*state;
	record->text = snapshot_text(snapshot, "hello world", 5);
	return 0;
}

static int failing_collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	(void)request;
	failing_runs++;
	(void)snapshot_table_add(snapshot_table(snapshot, &failing_type));
	return why_set(why, -EPERM, "it is not allowed");
}

static int derived_collect(struct snapshot *snapshot, const struct snapshot_request *request, struct why *why)
{
	(void)request;
	(void)why;
	derived_runs++;
	snapshot_each(snapshot, probe_type, const struct probe_record, probe)
		*(struct probe_record *)snapshot_table_add(snapshot_table(snapshot, &derived_type)) = *probe;
	return 0;
}

static const struct record_type *const probe_types[] = {&probe_type, NULL},
				       *const failing_types[] = {&failing_type, NULL},
				       *const derived_types[] = {&derived_type, NULL};
static const struct snapshot_source probe_source = {.name = "test-probe",
						    .lost = "p",
						    .types = probe_types,
						    .stage = STAGE_COUNTERS,
						    .state_size = sizeof(unsigned),
						    .collect = probe_collect};
SNAPSHOT_SOURCE(probe_source);
static const struct snapshot_source failing_source = {.name = "test-failing",
						      .lost = "all of it",
						      .types = failing_types,
						      .stage = STAGE_COUNTERS,
						      .collect = failing_collect};
SNAPSHOT_SOURCE(failing_source);
static const struct snapshot_source derived_source = {.name = "test-derived",
						      .lost = "d",
						      .types = derived_types,
						      .needs = probe_types,
						      .stage = STAGE_REST,
						      .collect = derived_collect};
SNAPSHOT_SOURCE(derived_source);

static void take(struct snapshot *snapshot, const struct record_type *const *types)
{
	struct why why = {};

	CHECK_OK(snapshot_take(snapshot, &(struct snapshot_request){.types = types, .no_bpf = true}, &why));
}

TEST(only_what_is_wanted_runs)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	take(snapshot, probe_types);
	CHECK_EQ_UINT(probe_runs, 1);
	CHECK_EQ_UINT(failing_runs, 0);
	CHECK_EQ_UINT(derived_runs, 0);
	CHECK_EQ_UINT(snapshot_table(snapshot, &probe_type)->count, 1);
	CHECK_EQ_UINT(snapshot_table(snapshot, &gap_type)->count, 0);
}

TEST(what_a_source_needs_runs_before_it)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct probe_record *derived;

	take(snapshot, derived_types);
	CHECK_EQ_UINT(probe_runs, 1);
	CHECK_EQ_UINT(derived_runs, 1);
	REQUIRE(snapshot_table(snapshot, &derived_type)->count == 1);
	derived = snapshot_first(snapshot, &derived_type);
	CHECK_EQ_TEXT(derived->text, "hello");
}

TEST(a_source_that_fails_is_a_gap)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct gap_record *gap;

	take(snapshot, failing_types);
	REQUIRE(snapshot_table(snapshot, &gap_type)->count == 1);
	gap = snapshot_first(snapshot, &gap_type);
	CHECK_EQ_TEXT(gap->source, "test-failing");
	CHECK_EQ_TEXT(gap->lost, "all of it");
	CHECK_EQ_TEXT(gap->why, "it is not allowed");
}

TEST(a_new_record_is_unknown_throughout)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct probe_record *record = snapshot_table_add(snapshot_table(snapshot, &probe_type));

	for (uint32_t i = 0; i < probe_type.field_count; i++) {
		struct value value = value_get(&probe_type.fields[i], record);

		unit_note("field %s", probe_type.fields[i].name);
		CHECK_EQ_INT(value.class, VALUE_UNKNOWN);
	}
}

TEST(taking_again_starts_empty_and_keeps_state_and_memory)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct probe_record *record;
	void *items;

	take(snapshot, probe_types);
	items = snapshot_table(snapshot, &probe_type)->items;
	take(snapshot, probe_types);
	CHECK_EQ_UINT(snapshot_table(snapshot, &probe_type)->count, 1);
	CHECK(snapshot_table(snapshot, &probe_type)->items == items);
	record = snapshot_first(snapshot, &probe_type);
	CHECK_EQ_UINT(record->number, 2);
	CHECK(snapshot->begin_boot_ns <= snapshot->end_boot_ns);
	CHECK(snapshot->begin_time_ns > UINT64_C(1600000000) * 1000000000);
}

TEST(a_full_table_counts_what_it_refused)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_table *table = snapshot_table(snapshot, &probe_type);

	table->cap = 2;
	CHECK(snapshot_table_add(table));
	CHECK(snapshot_table_add(table));
	CHECK(!snapshot_table_add(table));
	CHECK_EQ_UINT(snapshot_refused(snapshot), 1);
	snapshot_clear(snapshot);
	CHECK_EQ_UINT(snapshot_refused(snapshot), 0);
	CHECK(snapshot_table_add(table));
}

/* Fills a shared table by turns in a pattern, as two threads would, and checks that every record is there once. */
static void check_share(size_t before, size_t first, size_t second)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_table *whole = snapshot_table(snapshot, &probe_type), a, b;
	size_t total = before + first + second;
	_cleanup_free_ bool *seen = xzalloc(total + 1);
	struct table_share share;
	struct table_move move;

	unit_note("%zu before, %zu and %zu", before, first, second);
	for (size_t i = 0; i < before; i++)
		((struct probe_record *)snapshot_table_add(whole))->number = (uint32_t)i;
	table_share_begin(&share, whole, first + second);
	a = table_share_view(&share, whole);
	b = table_share_view(&share, whole);
	for (size_t i = 0; i < max_of(first, second); i++) {
		if (i < first)
			((struct probe_record *)snapshot_table_add(&a))->number = (uint32_t)(before + i);
		if (i < second)
			((struct probe_record *)snapshot_table_add(&b))->number = (uint32_t)(before + first + i);
	}
	CHECK_OK(table_share_end(whole, &a, &b, &move));
	if (!CHECK_EQ_UINT(whole->count, total))
		return;
	snapshot_each(snapshot, probe_type, const struct probe_record, record) {
		if (!CHECK(record->number < total && !seen[record->number]))
			return;
		seen[record->number] = true;
	}
	for (size_t i = 0; i < before; i++)
		CHECK_EQ_UINT(((struct probe_record *)whole->items)[i].number, i);
}

TEST(a_table_that_two_fill)
{
	static const size_t counts[] = {0, 1, 100, 255, 256, 257, 512, 700, 3000};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
			check_share(0, counts[i], counts[k]);
			check_share(13, counts[i], counts[k]);
		}
}

TEST(a_shared_table_without_room_is_left_as_it_was)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_table *whole = snapshot_table(snapshot, &probe_type), a, b;
	struct table_share share;
	struct table_move move;

	((struct probe_record *)snapshot_table_add(whole))->number = 5;
	table_share_begin(&share, whole, 10);
	a = table_share_view(&share, whole);
	b = table_share_view(&share, whole);
	for (size_t i = 0; i < 5000; i++)
		(void)snapshot_table_add(&a);
	CHECK(a.refused > 0);
	CHECK_ERR(table_share_end(whole, &a, &b, &move), -ENOSPC);
	CHECK_EQ_UINT(whole->count, 1);
}

TEST(no_two_types_have_one_name)
{
	registry_each(record_type, a)
		registry_each(record_type, b)
			if (a < b && !CHECK(strcmp((*a)->name, (*b)->name) != 0))
				unit_note("%s", (*a)->name);
}

TEST(every_field_says_what_it_is)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	CHECK(snapshot->table_count > 20);
	for (size_t i = 0; i < snapshot->table_count; i++)
		for (uint32_t f = 0; f < snapshot->tables[i].type->field_count; f++) {
			const struct field *field = &snapshot->tables[i].type->fields[f];

			unit_note("%s.%s", snapshot->tables[i].type->name, field->name);
			CHECK(field->help && strlen(field->help) > 0);
			CHECK((field->kind != KIND_ENUM && field->kind != KIND_FLAGS) || field->names);
		}
}

/* --- texts --- */

TEST(arena_keeps_its_cap_and_reuses_its_chunks)
{
	struct arena arena = {.cap = 256 << 10};
	char big[40000];
	size_t total;
	unsigned n = 0;

	memset(big, 'x', sizeof(big));
	while (arena.refused == 0 && n < 1000) {
		text_too_long = arena_text(&arena, big, sizeof(big))[0] == '\0';
		n++;
	}
	CHECK(text_too_long);
	CHECK(n >= 4 && n < 8);
	total = arena.total;
	CHECK(total <= arena.cap);
	arena_clear(&arena);
	CHECK_EQ_TEXT(arena_text(&arena, "a", 1), "a");
	CHECK_EQ_TEXT(arena_text(&arena, "b\0c", 3), "b");
	CHECK_EQ_TEXT(arena_text(&arena, "", 0), "");
	CHECK_EQ_UINT(arena.total, total);
	arena_done(&arena);
}

/* --- deltas --- */

TEST(counters_that_go_backwards_are_unknown)
{
	CHECK_EQ_UINT(delta_between(5, 7), 2);
	CHECK_EQ_UINT(delta_between(5, 5), 0);
	CHECK_EQ_UINT(delta_between(7, 5), UINT64_MAX);
	CHECK_EQ_UINT(delta_between(UINT64_MAX, 5), UINT64_MAX);
	CHECK_EQ_UINT(delta_between(5, UINT64_MAX), UINT64_MAX);
	CHECK_EQ_UINT(delta_between(UINT64_MAX - 9, 10), 20);
	CHECK_EQ_UINT(delta_between32(UINT32_MAX - 9, 10), 20);
	CHECK_EQ_UINT(delta_between32(4000000, 10), UINT64_MAX);
	CHECK_EQ_UINT(delta_between32(UINT32_MAX, 10), UINT64_MAX);
	CHECK_EQ_UINT(delta_between32(3, 10), 7);
	CHECK_NEAR(delta_rate(10, 500000000), 20, 1e-9);
	CHECK(isnan(delta_rate(UINT64_MAX, 500000000)));
	CHECK(isnan(delta_rate(1, 0)));
}

/* --- namespaces --- */

TEST(namespaces_that_are_not_there_are_refused_with_a_sentence)
{
	_cleanup_netns_ struct netns_list list = {};
	struct why why = {};

	CHECK_ERR(netns_find("no-such-namespace-here", &list, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "no-such-namespace-here");
	CHECK_ERR(netns_find("/no/such/file", &list, &why), -ENOENT);
	CHECK_ERR(netns_find("999999999", &list, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "process");
	CHECK_OK(netns_find(NULL, &list, &why));
	REQUIRE(list.items.count == 1);
	CHECK(list.items.items[0].inum > 1000);
}

/* Whoever starts a command with privilege may name any path: to open a FIFO waits, to open a watchdog reboots. */
TEST(nothing_but_a_namespace_is_opened)
{
	_cleanup_netns_ struct netns_list list = {};
	struct why why = {};
	char dir[] = "/tmp/nest-netns-XXXXXX", fifo[64];

	REQUIRE(mkdtemp(dir));
	snprintf(fifo, sizeof(fifo), "%s/fifo", dir);
	REQUIRE(mkfifo(fifo, 0600) == 0);
	/* This would wait for a writer. */
	(void)alarm(20);
	CHECK_ERR(netns_find(fifo, &list, &why), -EINVAL);
	CHECK_HAS_TEXT(why.text, "cannot open network namespace");
	(void)alarm(0);
	(void)unlink(fifo);
	(void)rmdir(dir);
	CHECK_ERR(netns_find("/proc/self/stat", &list, &why), -EINVAL);
	CHECK_ERR(netns_find("/dev/null", &list, &why), -EINVAL);
	CHECK_EQ_UINT(list.items.count, 0);
	CHECK_OK(netns_find("/proc/self/ns/net", &list, &why));
	CHECK_EQ_UINT(list.items.count, 1);
}

/* --- control groups --- */

TEST(containers_and_units_out_of_paths)
{
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	static const struct {
		const char *path, *container, *unit;
	} cases[] = {
		{"/", "", ""},
		{"", "", ""},
		{"/system.slice/nginx.service", "", "nginx.service"},
		{"/system.slice/docker-" ID ".scope", ID, "docker-" ID ".scope"},
		{"/docker/" ID, ID, ""},
		{"/docker/" ID "/init.scope", ID, "init.scope"},
		{"/machine.slice/libpod-" ID ".scope/container", ID, "libpod-" ID ".scope"},
		{"/machine.slice/libpod-conmon-" ID ".scope", "", "libpod-conmon-" ID ".scope"},
		{"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice/cri-containerd-" ID ".scope",
		 ID, "cri-containerd-" ID ".scope"},
		{"/kubepods/burstable/pod12345678-1234-1234-1234-123456789abc/" ID, ID, ""},
		{"/kubepods.slice/crio-" ID ".scope", ID, "crio-" ID ".scope"},
		{"/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID, ID, "containerd.service"},
		{"/lxc/web1", "web1", ""},
		{"/lxc.payload.web1/system.slice/ssh.service", "web1", "ssh.service"},
		{"/machine.slice/machine-my\\x2dbox.scope/payload", "my-box", "machine-my\\x2dbox.scope"},
		{"/machine.slice/systemd-nspawn@deb.service/payload/system.slice/cron.service", "deb", "cron.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service", "", "firefox.service"},
		{"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", ""},
		{"/x" ID, "", ""},
		{"/docker/" ID "0", "", ""},
		{"//a.service//", "", "a.service"},
		{"/.service", "", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cgroup_names names;

		unit_note("%s", cases[i].path);
		cgroup_path_names(cases[i].path, &names);
		CHECK_EQ_TEXT(names.container, cases[i].container);
		CHECK_EQ_TEXT(names.unit, cases[i].unit);
	}
}

TEST(names_longer_than_the_room_are_cut)
{
	struct cgroup_names names;
	char path[2000] = "/lxc/";

	memset(path + 5, 'a', sizeof(path) - 6);
	cgroup_path_names(path, &names);
	CHECK_EQ_UINT(strlen(names.container), sizeof(names.container) - 1);
	memcpy(path + sizeof(path) - 9, ".service", 9);
	cgroup_path_names(path, &names);
	CHECK_EQ_UINT(strlen(names.unit), sizeof(names.unit) - 1);
}

TEST(membership_by_controller)
{
	static const char text[] = "12:cpu,cpuacct:/a\n4:memory:/b/c\n1:name=systemd:/init.scope\n0::/\n";
	char path[64];

	CHECK_OK(cgroup_text_find(text, "cpuacct", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/a");
	CHECK_OK(cgroup_text_find(text, "", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/");
	CHECK_ERR(cgroup_text_find(text, "cp", path, sizeof(path)), -ENODATA);
	CHECK_ERR(cgroup_text_find(text, "memory", path, 4), -E2BIG);
	CHECK_OK(cgroup_text_best(text, path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/init.scope");
	CHECK_OK(cgroup_text_best("0::/x:y\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/x:y");
	CHECK_OK(cgroup_text_best("0::/\n", path, sizeof(path)));
	CHECK_EQ_TEXT(path, "/");
	CHECK_ERR(cgroup_text_best("", path, sizeof(path)), -ENODATA);
	CHECK_ERR(cgroup_text_best("nonsense\n::\n", path, sizeof(path)), -ENODATA);
}

/* --- watching --- */

TEST(what_counts_as_active)
{
	struct socket_record socket = {.state = SOCKET_ESTABLISHED};
	struct tcp_record idle = {.last_sent_ns = SOCK_ACTIVE_NS, .last_received_ns = SOCK_ACTIVE_NS}, tcp;

	CHECK(!socket_is_active(&socket, &idle));
	CHECK(!socket_is_active(&socket, NULL));
	socket.recvq_bytes = 1;
	CHECK(socket_is_active(&socket, &idle));
	socket.recvq_bytes = UINT32_MAX;
	CHECK(!socket_is_active(&socket, &idle));
	socket.recvq_bytes = 0;
	socket.sendq_bytes = 1;
	CHECK(socket_is_active(&socket, &idle));
	socket.sendq_bytes = 0;
	tcp = idle;
	tcp.last_received_ns = SOCK_ACTIVE_NS - 1;
	CHECK(socket_is_active(&socket, &tcp));
	tcp.last_received_ns = UINT64_MAX;
	CHECK(!socket_is_active(&socket, &tcp));
	tcp = idle;
	tcp.unacked = 1;
	CHECK(socket_is_active(&socket, &tcp));
	socket.state = SOCKET_SYN_SENT;
	CHECK(socket_is_active(&socket, NULL));
	socket.state = SOCKET_LISTEN;
	CHECK(socket_is_active(&socket, NULL));
	socket.state = SOCKET_TIME_WAIT;
	CHECK(!socket_is_active(&socket, NULL));
}

/* Whether a connection with these times is kept beside a listener at port 80. */
static bool is_kept(uint16_t lport, uint64_t sent_ns, uint64_t received_ns, uint64_t bytes_sent)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	struct tcp_record *tcp = snapshot_table_add(snapshot_table(snapshot, &tcp_type));

	*socket = (struct socket_record){
		.proto = IPPROTO_TCP, .state = SOCKET_LISTEN, .lport = 80, .tcp = SOCKET_NONE, .cookie = 1};
	socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	*socket = (struct socket_record){
		.proto = IPPROTO_TCP, .state = SOCKET_ESTABLISHED, .lport = lport, .tcp = 0, .cookie = 2};
	*tcp = (struct tcp_record){.last_sent_ns = sent_ns, .last_received_ns = received_ns, .bytes_sent = bytes_sent};
	sock_watch_sift(snapshot, 0, NULL);
	return snapshot_table(snapshot, &socket_type)->count == 2;
}

TEST(a_client_that_waits_for_an_answer_is_kept)
{
	const uint64_t second = NSEC_PER_SEC;

	CHECK(is_kept(50000, 5 * second, 9 * second, 100));
	CHECK(is_kept(50000, SOCK_WAITING_NS - 1, UINT64_MAX, 100));
	CHECK(!is_kept(50000, SOCK_WAITING_NS, UINT64_MAX, 100));
	/* The answer came last; nothing was sent; the two are too close to tell; a server. */
	CHECK(!is_kept(50000, 9 * second, 5 * second, 100));
	CHECK(!is_kept(50000, 5 * second, 9 * second, 0));
	CHECK(!is_kept(50000, 5 * second, 5 * second + 20 * NSEC_PER_MSEC, 100));
	CHECK(!is_kept(80, 5 * second, 9 * second, 100));
}

TEST(keeping_the_active_ones_keeps_their_parts)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type),
			      *tcps = snapshot_table(snapshot, &tcp_type);
	struct sock_watch watch = {};

	for (uint32_t i = 0; i < 10; i++) {
		struct socket_record *socket = snapshot_table_add(sockets);
		struct tcp_record *tcp;

		socket->state = i == 5 ? SOCKET_LISTEN : SOCKET_ESTABLISHED;
		socket->cookie = i;
		socket->recvq_bytes = i % 2; /* odd ones are active */
		socket->sendq_bytes = 0;
		socket->tcp = SOCKET_NONE;
		if (i == 5)
			continue;
		tcp = snapshot_table_add(tcps);
		tcp->tcp_cookie = i;
		tcp->unacked = 0;
		socket->tcp = (uint32_t)tcps->count - 1;
	}
	/* The first two belong to another namespace. */
	sock_watch_sift(snapshot, 2, NULL);
	sock_watch_remember(&watch, snapshot, 2, 0);
	CHECK_EQ_UINT(sockets->count, 6);
	CHECK_EQ_UINT(tcps->count, 5);
	CHECK_EQ_UINT(watch.active.count, 3);
	snapshot_each(snapshot, socket_type, const struct socket_record, socket) {
		const struct tcp_record *tcp = socket_tcp(snapshot, socket);

		unit_note("socket %u", (unsigned)socket->cookie);
		CHECK(socket->cookie < 2 || socket->cookie % 2 == 1);
		if (socket->cookie == 5)
			CHECK(!tcp);
		else if (CHECK(tcp))
			CHECK_EQ_UINT(tcp->tcp_cookie, socket->cookie);
	}
	vec_done(&watch.active);
}

/* The classes of connections that a limited number is followed of. */
TEST(a_connection_waits_moves_or_rests)
{
	struct socket_record socket = {.proto = 6, .state = SOCKET_ESTABLISHED};
	struct tcp_record tcp = {.last_sent_ns = SOCK_MOVE_NS, .last_received_ns = SOCK_MOVE_NS};

	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_CLASSES);
	tcp.last_sent_ns = SOCK_MOVE_NS - 1;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_MOVES);
	/* In flight for a moment is no wait. */
	socket.sendq_bytes = 1;
	tcp.last_ack_ns = SOCK_WAIT_NS - 1;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_MOVES);
	tcp.last_ack_ns = SOCK_WAIT_NS;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_WAITS);
	socket.sendq_bytes = 0;
	socket.recvq_bytes = 1;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_WAITS);
	tcp.last_received_ns = 0;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_MOVES);
	tcp.retransmits = 1;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_WAITS);
	tcp.retransmits = 0;
	tcp.ca_state = 3;
	CHECK_EQ_INT(socket_class(&socket, &tcp), WALK_WAITS);
	socket.state = SOCKET_SYN_SENT;
	CHECK_EQ_INT(socket_class(&socket, NULL), WALK_WAITS);
	socket.state = SOCKET_TIME_WAIT;
	CHECK_EQ_INT(socket_class(&socket, NULL), WALK_CLASSES);
}

TEST(a_sieve_adapts_with_hysteresis)
{
	struct snapshot_request request = {.followed_max = 128};
	struct sock_sieve sieve = {};

	sock_sieve_begin(&sieve, 20000, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_WAITS], 255);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 255);
	sieve.classes[WALK_MOVES] = 32000;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_WAITS], 0);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 255);
	sieve.classes[WALK_MOVES] = 14000;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 255);
	sieve.classes[WALK_MOVES] = 10000;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 127);
	sieve.classes[WALK_MOVES] = 100;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 0);
	sieve.classes[WALK_MOVES] = UINT64_MAX;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], WALK_MASK_MAX);
}

TEST(a_sieve_may_follow_fewer_that_move)
{
	struct snapshot_request request = {.followed_max = 128, .moving_max = 16};
	struct sock_sieve sieve = {};

	sock_sieve_begin(&sieve, 2000, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_WAITS], 15);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 127);
	/* Those that were followed before are among those that are followed then. */
	sieve.classes[WALK_MOVES] = 2000;
	request.moving_max = 128;
	sock_sieve_adapt(&sieve, &request);
	CHECK_EQ_UINT(sieve.masks[WALK_MOVES], 31);
}

/* --- one namespace of many --- */

static void add_socket(struct snapshot *snapshot, uint32_t netns, uint64_t cookie)
{
	struct socket_record *socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));

	socket->netns = netns;
	socket->cookie = cookie;
}

static void check_slice(struct snapshot_slice *slice, uint32_t netns, const uint64_t *cookies, size_t count)
{
	const struct snapshot *cut = snapshot_slice_cut(slice, netns);
	const struct socket_record *sockets = snapshot_first(cut, &socket_type);

	CHECK_EQ_UINT(cut->netns, netns);
	CHECK_EQ_UINT(snapshot_table(cut, &socket_type)->count, count);
	for (size_t i = 0; i < count; i++)
		CHECK_EQ_UINT(sockets[i].cookie, cookies[i]);
	/* Tables without namespaces are shared. */
	CHECK_EQ_UINT(snapshot_table(cut, &tcp_type)->count, 1);
}

TEST(a_slice_has_the_records_of_its_namespace)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct snapshot_slice *slice = snapshot_slice_new();

	(void)snapshot_table_add(snapshot_table(snapshot, &tcp_type));
	for (unsigned i = 0; i < 6; i++)
		add_socket(snapshot, i < 2 ? 7 : 9, i);
	snapshot_slice_divide(slice, snapshot);
	check_slice(slice, 7, (uint64_t[]){0, 1}, 2);
	check_slice(slice, 9, (uint64_t[]){2, 3, 4, 5}, 4);
	check_slice(slice, 8, NULL, 0);
	/* In the table itself: nothing was copied. */
	CHECK(snapshot_first(snapshot_slice_cut(slice, 9), &socket_type) ==
	      (struct socket_record *)snapshot_first(snapshot, &socket_type) + 2);
	/* Mixed, in the order of each. */
	add_socket(snapshot, 7, 6);
	add_socket(snapshot, 8, 7);
	add_socket(snapshot, 9, 8);
	snapshot_slice_divide(slice, snapshot);
	check_slice(slice, 7, (uint64_t[]){0, 1, 6}, 3);
	check_slice(slice, 8, (uint64_t[]){7}, 1);
	check_slice(slice, 9, (uint64_t[]){2, 3, 4, 5, 8}, 5);
	/* The next sample has fewer. */
	snapshot_table(snapshot, &socket_type)->count = 1;
	snapshot_slice_divide(slice, snapshot);
	check_slice(slice, 7, (uint64_t[]){0}, 1);
	check_slice(slice, 9, NULL, 0);
	snapshot_slice_free(slice);
}

TEST(sockets_in_time_wait_are_dropped)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	static const uint8_t states[] = {SOCKET_TIME_WAIT, SOCKET_ESTABLISHED, SOCKET_TIME_WAIT, SOCKET_LISTEN};
	const struct socket_record *sockets;

	for (unsigned i = 0; i < ARRAY_SIZE(states); i++) {
		add_socket(snapshot, 7, i);
		((struct socket_record *)snapshot_first(snapshot, &socket_type))[i].state = states[i];
	}
	snapshot_drop_time_wait(snapshot);
	sockets = snapshot_first(snapshot, &socket_type);
	CHECK_EQ_UINT(snapshot_table(snapshot, &socket_type)->count, 2);
	CHECK_EQ_UINT(sockets[0].cookie, 1);
	CHECK_EQ_UINT(sockets[1].cookie, 3);
}

/* --- sockets and their owners --- */

static void add_owner(struct snapshot *snapshot, uint32_t inode, uint32_t pid, uint32_t fd)
{
	struct owner_record *owner = snapshot_table_add(snapshot_table(snapshot, &owner_type));

	owner->inode = inode;
	owner->pid = pid;
	owner->fd = fd;
}

/* Whoever comes first in the order of process and descriptor stands for all, however they are listed. */
TEST(the_first_of_several_owners)
{
	static const uint32_t lists[][3][2] = {
		{{7, 3}, {5, 9}, {6, 1}},  {{5, 9}, {7, 3}, {6, 1}},  {{6, 1}, {7, 3}, {5, 9}},
		{{5, 12}, {5, 9}, {6, 1}}, {{5, 9}, {5, 12}, {6, 1}}, {{6, 1}, {5, 12}, {5, 9}},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
		struct socket_record *socket, *alone, *other;
		const struct owner_record *owners;

		unit_note("list %zu", i);
		/* Another socket in front: numbers are those of the table. */
		add_owner(snapshot, 50, 1, 1);
		for (unsigned k = 0; k < 3; k++)
			add_owner(snapshot, 60, lists[i][k][0], lists[i][k][1]);
		for (unsigned k = 0; k < 3; k++) {
			struct socket_record *one = snapshot_table_add(snapshot_table(snapshot, &socket_type));

			one->inode = 50 + 10 * k;
			one->cookie = 1 + k;
		}
		snapshot_join(snapshot);
		owners = snapshot_first(snapshot, &owner_type);
		other = snapshot_table(snapshot, &socket_type)->items
				? (void *)snapshot_table(snapshot, &socket_type)->items
				: NULL;
		REQUIRE(other);
		socket = other + 1;
		alone = other + 2;
		CHECK_EQ_UINT(other->owner, 0);
		CHECK_EQ_UINT(other->owners, 1);
		CHECK_EQ_UINT(socket->owners, 3);
		REQUIRE(socket->owner < 4);
		CHECK_EQ_UINT(owners[socket->owner].pid, 5);
		CHECK_EQ_UINT(owners[socket->owner].fd, 9);
		CHECK_EQ_UINT(alone->owner, SOCKET_NONE);
		CHECK_EQ_UINT(alone->owners, 0);
	}
}
