/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables larger than their resident memory. */
#include "base/spill.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit.h"

struct row {
	uint64_t key;
	uint32_t number;
	uint32_t pad;
};

static uint64_t resident_kib(void)
{
	unsigned long all = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	REQUIRE(f);
	REQUIRE(fscanf(f, "%lu %lu", &all, &resident) == 2);
	(void)fclose(f);
	return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

TEST(a_table_keeps_what_is_pushed_whatever_its_size)
{
	SPILL(struct row) rows = {};
	uint64_t before = resident_kib();
	size_t wrong = 0;

	for (uint32_t i = 0; i < 2000000; i++) {
		spill_push(&rows, (struct row){.key = i * UINT64_C(7919), .number = i});
		spill_trim_at(i);
	}
	spill_trim();
	/* 32 MB; a sanitizer needs extra memory. */
	CHECK(resident_kib() < before + 24 * 1024);
	for (uint32_t i = 0; i < rows.count; i++)
		wrong += rows.items[i].number != i || rows.items[i].key != i * UINT64_C(7919);
	CHECK_EQ_UINT(wrong, 0);
	spill_done(&rows);
	CHECK(!rows.items);
}

TEST(what_is_new_in_a_table_is_zero)
{
	for (size_t size = 1; size < (size_t)1 << 22; size = size * 3 + 1) {
		SPILL(uint8_t) bytes = {};
		size_t wrong = 0;

		spill_fill(&bytes, size);
		memset(bytes.items, 0xff, size);
		spill_trim();
		spill_fill(&bytes, size * 3);
		for (size_t i = 0; i < bytes.count; i++)
			wrong += bytes.items[i] != (i < size ? 0xff : 0);
		unit_note("%zu bytes", size);
		CHECK_EQ_UINT(wrong, 0);
		spill_done(&bytes);
	}
}

/* Blocks of the nameless file of the tables, in KiB; what a test prints goes to a smaller one. */
static uint64_t file_kib(void)
{
	for (int fd = 0; fd < 100; fd++) {
		struct stat info;

		if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 0 && info.st_size > 1 << 20)
			return (uint64_t)info.st_blocks / 2;
	}
	return 0;
}

TEST(tables_share_a_file_and_return_its_blocks)
{
	SPILL(uint32_t) tables[40] = {};
	size_t wrong = 0;

	for (uint32_t i = 0; i < 400000; i++)
		for (uint32_t k = 0; k < ARRAY_SIZE(tables); k++)
			spill_push(&tables[k], i * 64 + k);
	spill_trim();
	CHECK(file_kib() >= ARRAY_SIZE(tables) * 400000 * 4 / 1024);
	for (uint32_t k = 0; k < ARRAY_SIZE(tables); k += 2)
		spill_done(&tables[k]);
	spill_push(&tables[0], 7);
	for (uint32_t k = 1; k < ARRAY_SIZE(tables); k += 2) {
		for (uint32_t i = 0; i < tables[k].count; i++)
			wrong += tables[k].items[i] != i * 64 + k;
		spill_done(&tables[k]);
	}
	CHECK_EQ_UINT(wrong, 0);
	CHECK_EQ_UINT(tables[0].items[0], 7);
	spill_done(&tables[0]);
	CHECK_EQ_UINT(file_kib(), 0);
}

/* A child has a copy of the program's memory, but the file is the same. */
TEST(a_child_does_not_write_into_the_tables_of_its_parent)
{
	SPILL(uint64_t) rows = {}, others = {};
	size_t wrong = 0;
	int status;
	pid_t pid;

	spill_fill(&rows, 500000);
	pid = fork();
	REQUIRE(pid >= 0);
	if (pid == 0) {
		spill_fill(&others, 500000);
		memset(others.items, 0xff, others.count * sizeof(*others.items));
		spill_done(&others);
		spill_done(&rows);
		_exit(0);
	}
	REQUIRE(waitpid(pid, &status, 0) == pid && status == 0);
	spill_fill(&others, 500000);
	for (size_t i = 0; i < rows.count; i++)
		wrong += rows.items[i] != 0 || others.items[i] != 0;
	CHECK_EQ_UINT(wrong, 0);
	memset(rows.items, 1, rows.count * sizeof(*rows.items));
	CHECK(file_kib() >= 500000 * 8 / 1024);
	spill_done(&others);
	spill_done(&rows);
}

static int by_key(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	return one->key < other->key ? -1 : one->key > other->key;
}

TEST(a_table_is_sorted_whatever_its_size)
{
	static const size_t sizes[] = {0, 1, 2, 1000, 32768, 32769, 100000, 700001};

	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		SPILL(struct row) rows = {};
		uint64_t random = 88172645463325252ull, sum = 0, sorted_sum = 0;
		size_t wrong = 0;

		for (uint32_t i = 0; i < sizes[k]; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			spill_push(&rows, (struct row){.key = random % 5000, .number = i});
			sum += (random % 5000) * i;
		}
		spill_sort(rows.items, rows.count, sizeof(*rows.items), by_key);
		for (size_t i = 0; i < rows.count; i++) {
			wrong += i && rows.items[i - 1].key > rows.items[i].key;
			sorted_sum += rows.items[i].key * rows.items[i].number;
		}
		unit_note("%zu rows", sizes[k]);
		CHECK_EQ_UINT(wrong, 0);
		CHECK_EQ_UINT(sorted_sum, sum);
		spill_done(&rows);
	}
}

/* Without a place for a file the table is in memory, and no row is lost. */
TEST(without_a_file_a_table_is_in_memory)
{
	SPILL(uint64_t) rows = {};
	struct rlimit files;
	size_t wrong = 0;

	REQUIRE(getrlimit(RLIMIT_NOFILE, &files) == 0);
	REQUIRE(setrlimit(RLIMIT_NOFILE, &(struct rlimit){.rlim_max = files.rlim_max}) == 0);
	for (size_t i = 0; i < 1000000; i++)
		spill_push(&rows, i);
	/* The leak sanitizer needs descriptors afterwards. */
	REQUIRE(setrlimit(RLIMIT_NOFILE, &files) == 0);
	spill_trim();
	for (size_t i = 0; i < rows.count; i++)
		wrong += rows.items[i] != i;
	CHECK_EQ_UINT(wrong, 0);
	spill_done(&rows);
}
