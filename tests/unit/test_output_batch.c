/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many records at once, by several threads: the output is, byte for byte, that of one after the other. */
#include "unit.h"

#include <sched.h>
#include <sys/mman.h>

#include "sample.h"
#include "view/output.h"

#define ROWS 60000
/* Those that are not to be shown at all, before any filter. */
#define LEFT_OUT 7

struct room {
	struct sample sample;
};

/* A row in which everything depends on its number, so that no two can be taken for each other. */
static bool make(const void *context, size_t number, void *data, struct record *record)
{
	static const char *const names[] = {"nginx", "a \"quoted\", name", "x"};
	struct room *room = data;
	uint32_t address = (uint32_t)number;

	(void)context;
	if (number % LEFT_OUT == 0)
		return false;
	room->sample = (struct sample){
		.pid = (uint32_t)number + 1,
		.laddr = addr_from_v4(&address),
		.lport = (uint16_t)number,
		.bytes = number * number,
		.lat_ns = number * 1000,
		.state = number % 3,
		.share = (double)number / ROWS,
	};
	snprintf(room->sample.comm, sizeof(room->sample.comm), "%s", names[number % ARRAY_SIZE(names)]);
	*record = RECORD_OF(&room->sample);
	return true;
}

static char *written(struct output_options options, bool at_once, uint64_t *ret_shown)
{
	static const struct shape shape = {.count = 1, .types = {&sample_type}};
	_cleanup_close_ int fd = memfd_create("output", MFD_CLOEXEC);
	struct output_batch batch = {.count = ROWS, .make = make, .room_size = sizeof(struct room)};
	struct buf content = BUF_INIT((size_t)256 << 20);
	struct output *output;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	options.file = path;
	REQUIRE(output_open(&options, &shape, &output, NULL) == 0);
	*ret_shown = 0;
	if (at_once)
		*ret_shown = output_batch(output, &batch);
	for (size_t i = 0; !at_once && i < ROWS; i++) {
		struct room room = {};
		struct record record = {};

		*ret_shown += make(NULL, i, &room, &record) && output_record(output, &record);
	}
	CHECK_OK(output_close(output));
	REQUIRE(buf_read_fd(&content, fd) == 0);
	return content.data ? content.data : xstrdup("");
}

static void compare(struct output_options options, uint64_t want)
{
	uint64_t shown, shown_one_by_one;
	_cleanup_free_ char *batch = written(options, true, &shown);
	_cleanup_free_ char *single = written(options, false, &shown_one_by_one);

	CHECK_EQ_UINT(shown, want);
	CHECK_EQ_UINT(shown_one_by_one, want);
	CHECK(strlen(batch) > want * 10);
	CHECK(strcmp(batch, single) == 0);
}

TEST(every_format_is_the_same_as_one_by_one)
{
	uint64_t all = ROWS - (ROWS + LEFT_OUT - 1) / LEFT_OUT;

	compare((struct output_options){}, all);
	compare((struct output_options){.wide = true}, all);
	compare((struct output_options){.json = true}, all);
	compare((struct output_options){.csv = true}, all);
}

TEST(the_filter_counts_what_it_lets_through)
{
	uint64_t want = 0;

	for (size_t i = 0; i < ROWS; i++)
		want += i % LEFT_OUT != 0 && i + 1 > 50000 && i % 3 == 1;
	compare((struct output_options){.where = "pid > 50000 and state == ESTABLISHED"}, want);
}

static void write_to_a_full_disk(void)
{
	static const struct shape shape = {.count = 1, .types = {&sample_type}};
	struct output_batch batch = {.count = ROWS, .make = make, .room_size = sizeof(struct room)};
	struct output *output;

	REQUIRE(output_open(&(struct output_options){.file = "/dev/full"}, &shape, &output, NULL) == 0);
	CHECK(output_batch(output, &batch) < ROWS * 6 / 7);
	CHECK_EQ_INT(output_close(output), -ENOSPC);
}

TEST(a_full_disk_ends_it)
{
	write_to_a_full_disk();
}

TEST(a_full_disk_ends_it_on_one_cpu)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	REQUIRE(sched_getaffinity(0, sizeof(all), &all) == 0);
	for (int cpu = 0; CPU_COUNT(&one) == 0 && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	REQUIRE(sched_setaffinity(0, sizeof(one), &one) == 0);
	write_to_a_full_disk();
	REQUIRE(sched_setaffinity(0, sizeof(all), &all) == 0);
}
