/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots from one process to another, and what is refused of them. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/helper.h"
#include "probe/keepalive.h"
#include "snapshot/core/handover.h"
#include "snapshot/proc/counter.h"
#include "snapshot/proc/process.h"
#include "snapshot/socket/owner.h"
#include "snapshot/socket/socket.h"
#include "unit.h"

/* More than the kernel holds for a socket: somebody must read meanwhile. */
struct sending {
	struct snapshot *snapshot;
	int fd;
	int result;
};

static void *send_all(void *context)
{
	struct sending *sending = context;

	sending->result = snapshot_send(sending->snapshot, sending->fd);
	return NULL;
}

static void hand_over(struct snapshot *from, struct snapshot *to)
{
	struct sending sending = {.snapshot = from};
	struct why why = {};
	pthread_t thread;
	int ends[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	sending.fd = ends[0];
	REQUIRE(pthread_create(&thread, NULL, send_all, &sending) == 0);
	CHECK_OK(snapshot_receive(to, ends[1], &why));
	REQUIRE(pthread_join(thread, NULL) == 0);
	CHECK_OK(sending.result);
	close(ends[0]);
	close(ends[1]);
}

static struct snapshot *make_snapshot(void)
{
	struct snapshot *snapshot = snapshot_new();
	struct process_record *process;
	struct socket_record *socket;
	struct counter_record *counter;
	struct keepalive_record *keepalive;

	snapshot->begin_boot_ns = 1;
	snapshot->begin_time_ns = 2;
	snapshot->end_boot_ns = 3;
	snapshot->end_time_ns = 4;
	snapshot->sockets_boot_ns = 5;
	snapshot_table(snapshot, &owner_type)->refused = 7;
	for (unsigned i = 0; i < 3; i++) {
		process = snapshot_table_add(snapshot_table(snapshot, &process_type));
		process->pid = 100 + i;
		process->cgroup = i == 1 ? NULL : snapshot_text(snapshot, "/system.slice/web.service", 99);
		process->container = "";
	}
	socket = snapshot_table_add(snapshot_table(snapshot, &socket_type));
	socket->cookie = 4711;
	socket->tcp = SOCKET_NONE;
	counter = snapshot_table_add(snapshot_table(snapshot, &counter_type));
	counter->counter = "TcpRetransSegs";
	keepalive = snapshot_table_add(snapshot_table(snapshot, &keepalive_type));
	keepalive->answered = true;
	return snapshot;
}

TEST(records_texts_times_and_losses_arrive)
{
	_cleanup_snapshot_ struct snapshot *from = make_snapshot(), *to = snapshot_new();
	const struct process_record *process;

	snapshot_refuse_texts(from, 2);
	/* A table that was asked for and is empty is recorded as empty. */
	snapshot_table(from, &thread_type)->wanted = true;
	snapshot_table(to, &tcp_type)->wanted = true;
	hand_over(from, to);
	CHECK(snapshot_wants(to, &thread_type));
	CHECK(!snapshot_wants(to, &tcp_type));
	CHECK_EQ_UINT(to->begin_boot_ns, 1);
	CHECK_EQ_UINT(to->begin_time_ns, 2);
	CHECK_EQ_UINT(to->end_boot_ns, 3);
	CHECK_EQ_UINT(to->end_time_ns, 4);
	CHECK_EQ_UINT(to->sockets_boot_ns, 5);
	CHECK_EQ_UINT(snapshot_refused(to), 9);
	CHECK_EQ_UINT(snapshot_table(to, &process_type)->count, 3);
	process = snapshot_first(to, &process_type);
	CHECK_EQ_UINT(process[2].pid, 102);
	CHECK_EQ_TEXT(process[0].cgroup, "/system.slice/web.service");
	CHECK(process[1].cgroup == NULL);
	CHECK_EQ_TEXT(process[2].cgroup, "/system.slice/web.service");
	CHECK_EQ_TEXT(process[2].container, "");
	CHECK(process[0].cgroup != ((struct process_record *)snapshot_first(from, &process_type))->cgroup);
	CHECK_EQ_TEXT(((struct counter_record *)snapshot_first(to, &counter_type))->counter, "TcpRetransSegs");
	CHECK_EQ_UINT(((struct socket_record *)snapshot_first(to, &socket_type))->cookie, 4711);
	CHECK(((struct keepalive_record *)snapshot_first(to, &keepalive_type))->answered);
}

TEST(the_next_one_replaces_it)
{
	_cleanup_snapshot_ struct snapshot *from = make_snapshot(), *to = snapshot_new();

	hand_over(from, to);
	snapshot_clear(from);
	snapshot_table(from, &owner_type)->refused = 0;
	hand_over(from, to);
	CHECK_EQ_UINT(snapshot_table(to, &process_type)->count, 0);
	CHECK_EQ_UINT(snapshot_refused(to), 0);
}

/* Pieces of the connection and tables end at different places. */
TEST(tables_of_all_sizes_arrive)
{
	_cleanup_snapshot_ struct snapshot *from = snapshot_new(), *to = snapshot_new();
	struct snapshot_table *processes = snapshot_table(from, &process_type);
	struct snapshot_table *sockets = snapshot_table(from, &socket_type);

	for (unsigned count = 1; count < 3000; count = count * 3 + 1) {
		char name[32];

		snapshot_clear(from);
		for (unsigned i = 0; i < count; i++) {
			struct process_record *process = snapshot_table_add(processes);

			process->pid = i;
			snprintf(name, sizeof(name), "/%u", i * 7);
			process->cgroup = snapshot_text(from, name, sizeof(name));
			((struct socket_record *)snapshot_table_add(sockets))->cookie = i;
		}
		hand_over(from, to);
		REQUIRE(snapshot_table(to, &process_type)->count == count);
		REQUIRE(snapshot_table(to, &socket_type)->count == count);
		for (unsigned i = 0; i < count; i++) {
			const struct process_record *process = snapshot_first(to, &process_type);
			const struct socket_record *socket = snapshot_first(to, &socket_type);

			snprintf(name, sizeof(name), "/%u", i * 7);
			REQUIRE(process[i].pid == i && socket[i].cookie == i);
			REQUIRE(strcmp(process[i].cgroup, name) == 0);
		}
	}
}

TEST(a_large_table_leaves_its_memory)
{
	_cleanup_snapshot_ struct snapshot *from = snapshot_new(), *to = snapshot_new();
	struct snapshot_table *table = snapshot_table(from, &tcp_type);
	const struct tcp_record *tcp;
	unsigned char resident[256];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), held = 0;
	uintptr_t start;

	for (unsigned i = 0; i < 60000; i++)
		((struct tcp_record *)snapshot_table_add(table))->tcp_cookie = i;
	hand_over(from, to);
	tcp = snapshot_first(to, &tcp_type);
	CHECK_EQ_UINT(snapshot_table(to, &tcp_type)->count, 60000);
	for (unsigned i = 0; i < 60000; i++)
		if (tcp[i].tcp_cookie != i)
			CHECK_EQ_UINT(tcp[i].tcp_cookie, i);
	start = ((uintptr_t)table->items + page) & ~(uintptr_t)(page - 1);
	REQUIRE(mincore((void *)start, sizeof(resident) * page, resident) == 0);
	for (size_t i = 0; i < sizeof(resident); i++)
		held += resident[i] & 1;
	CHECK_EQ_UINT(held, 0);
	/* And is filled again. */
	snapshot_clear(from);
	((struct tcp_record *)snapshot_table_add(table))->tcp_cookie = 12;
	hand_over(from, to);
	CHECK_EQ_UINT(((struct tcp_record *)snapshot_first(to, &tcp_type))->tcp_cookie, 12);
}

/* A list or a stack would be a pointer into the memory of the other process. */
TEST(no_table_holds_other_pointers)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();

	CHECK(snapshot->table_count > 30);
	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct record_type *type = snapshot->tables[i].type;

		for (uint32_t k = 0; k < type->field_count; k++)
			if (!CHECK(type->fields[k].store != STORE_LIST && type->fields[k].store != STORE_STACK))
				unit_note("%s.%s", type->name, type->fields[k].name);
	}
}

/* --- what is refused --- */

/* The layout of handover.c, written down independently. */
struct wire {
	uint64_t times[5], texts_refused, tables;
	uint64_t number, count, refused, wanted, text_bytes;
};

static uint64_t number_of(const struct snapshot *snapshot, const struct record_type *type)
{
	return (uint64_t)(snapshot_table(snapshot, type) - snapshot->tables);
}

static int receive(const void *bytes, size_t size, const void *more, size_t more_size)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct why why = {};
	int ends[2], r;

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	REQUIRE(helper_write(ends[0], bytes, size) == 0 && helper_write(ends[0], more, more_size) == 0);
	close(ends[0]);
	r = snapshot_receive(snapshot, ends[1], &why);
	close(ends[1]);
	if (r < 0)
		for (size_t i = 0; i < snapshot->table_count; i++)
			CHECK_EQ_UINT(snapshot->tables[i].count, 0);
	return r;
}

TEST(malformed_ones_are_refused)
{
	_cleanup_snapshot_ struct snapshot *order = snapshot_new();
	struct keepalive_record odd = {};
	struct {
		struct counter_record record;
		char text[4];
	} counter = {.record.counter = (const char *)4, .text = "abc"};
	struct wire wire = {.tables = 1, .number = number_of(order, &keepalive_type), .count = 1};
	struct wire text = {.tables = 1, .number = number_of(order, &counter_type), .count = 1, .text_bytes = 4};

	CHECK_OK(receive(&wire, sizeof(wire), &odd, sizeof(odd)));
	/* Nothing may follow. */
	wire.count = 0;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	wire.count = 1;
	*(uint8_t *)&odd.answered = 2;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd) - 1), -EPIPE);
	CHECK_ERR(receive(&wire, 8, NULL, 0), -EPIPE);
	wire.number = order->table_count;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	wire.number = number_of(order, &keepalive_type);
	odd.answered = true;
	wire.count = UINT64_MAX / 2;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	wire.count = 1;
	wire.wanted = 2;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	wire.tables = UINT64_MAX;
	CHECK_ERR(receive(&wire, sizeof(wire), &odd, sizeof(odd)), -EBADMSG);
	/* A text behind the last one, without an end, too long, where there should be none. */
	CHECK_ERR(receive(&text, sizeof(text), &counter, sizeof(counter)), -EBADMSG);
	counter.record.counter = (const char *)3;
	CHECK_OK(receive(&text, sizeof(text), &counter, sizeof(counter.record) + 4));
	counter.text[3] = 'd';
	CHECK_ERR(receive(&text, sizeof(text), &counter, sizeof(counter.record) + 4), -EBADMSG);
	text.text_bytes = UINT64_MAX;
	CHECK_ERR(receive(&text, sizeof(text), &counter, sizeof(counter.record) + 4), -EBADMSG);
	text.text_bytes = 0;
	CHECK_ERR(receive(&text, sizeof(text), &counter, sizeof(counter.record)), -EBADMSG);
}

TEST(a_table_comes_once)
{
	_cleanup_snapshot_ struct snapshot *order = snapshot_new();
	struct keepalive_record record = {};
	struct wire wire = {.tables = 2, .number = number_of(order, &keepalive_type), .count = 1};
	struct {
		struct keepalive_record first;
		uint64_t number, count, refused, wanted, text_bytes;
		struct keepalive_record second;
	} twice = {record, wire.number, 1, 0, 0, 0, record};

	CHECK_ERR(receive(&wire, sizeof(wire), &twice, sizeof(twice)), -EBADMSG);
}

/* --- truncated and mutated --- */

#define WIRE_MAX ((size_t)1 << 18)

/* The bytes of a sound one. */
static size_t wire_of(struct snapshot *snapshot, uint8_t *bytes)
{
	int fd = memfd_create("handover", MFD_CLOEXEC);
	ssize_t size;

	REQUIRE(fd >= 0 && snapshot_send(snapshot, fd) == 0);
	size = pread(fd, bytes, WIRE_MAX, 0);
	close(fd);
	REQUIRE(size > 500 && size < (ssize_t)WIRE_MAX);
	return (size_t)size;
}

TEST(every_truncated_one_is_refused)
{
	_cleanup_snapshot_ struct snapshot *from = make_snapshot();
	_cleanup_free_ uint8_t *bytes = xmalloc(WIRE_MAX);
	size_t size = wire_of(from, bytes);

	CHECK_OK(receive(bytes, size, NULL, 0));
	for (size_t cut = 0; cut < size; cut++)
		if (receive(bytes, cut, NULL, 0) != -EPIPE)
			CHECK_EQ_UINT(cut, size);
}

/* Every text that was accepted ends within the snapshot: AddressSanitizer sees where it does not. */
static size_t read_texts(const struct snapshot *snapshot)
{
	size_t total = 0;

	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct snapshot_table *table = &snapshot->tables[i];

		for (size_t k = 0; k < table->count * table->type->field_count; k++) {
			const struct field *field = &table->type->fields[k % table->type->field_count];
			const uint8_t *record = table->items + k / table->type->field_count * table->type->size;
			const char *text = NULL;

			if (field->store == STORE_STRING)
				memcpy(&text, record + field->offset, sizeof(text));
			total += text ? strlen(text) : 0;
			if (field->store == STORE_BOOL)
				CHECK(record[field->offset] <= 1);
		}
	}
	return total;
}

static bool receive_mutated(const uint8_t *bytes, size_t size)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	int fd = memfd_create("mutated", MFD_CLOEXEC), r;
	struct why why = {};

	REQUIRE(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	r = snapshot_receive(snapshot, fd, &why);
	close(fd);
	CHECK(r == 0 || ((r == -EBADMSG || r == -EPIPE) && why.text[0]));
	if (r < 0)
		CHECK_EQ_UINT(snapshot_refused(snapshot), 0);
	/* Seven texts, each within these bytes. */
	CHECK(read_texts(snapshot) < 8 * size);
	return r == 0;
}

TEST(mutated_ones_are_refused_or_sound)
{
	static const uint64_t values[] = {0,         1,         2, 7, 8, 255, 4096, UINT32_MAX, (uint64_t)1 << 40,
					  INT64_MAX, UINT64_MAX};
	_cleanup_snapshot_ struct snapshot *from = make_snapshot();
	_cleanup_free_ uint8_t *bytes = xmalloc(WIRE_MAX);
	size_t size = wire_of(from, bytes), accepted = 0, refused = 0;

	for (size_t at = 0; at + 8 <= size; at += 8)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			uint64_t before;
			bool sound;

			memcpy(&before, bytes + at, 8);
			memcpy(bytes + at, &values[i], 8);
			sound = receive_mutated(bytes, size);
			memcpy(bytes + at, &before, 8);
			accepted += sound;
			refused += !sound;
		}
	/* Most of it are figures, which may be any; the heads and places of texts may not. */
	CHECK(accepted > 100);
	CHECK(refused > 100);
}
