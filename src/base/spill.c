/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/spill.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Tables up to this size stay in memory. */
#define SMALL ((size_t)1 << 20)
/* Size of the header before the first row: one page, so that rows are page aligned. */
#define HEAD 4096
/* Rows sorted at once, in memory. */
#define SORT_BYTES ((size_t)512 << 10)

struct head {
	struct head *next, *previous;
	size_t bytes; /* including the head */
	int fd;       /* -1: in memory, because no file could be created */
};
_Static_assert(sizeof(struct head) <= HEAD, "one page");

static struct head *large;

static struct head *head_of(void *table)
{
	return (struct head *)((char *)table - HEAD);
}

static int open_nameless(const char *directory)
{
	char path[4096];
	int fd;

	if (!directory || directory[0] != '/')
		return -1;
	fd = open(directory, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0 || snprintf(path, sizeof(path), "%s/nest-XXXXXX", directory) >= (int)sizeof(path))
		return fd;
	/* Not every file system supports O_TMPFILE. */
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(path);
	return fd;
}

static int open_any(void)
{
	const char *const directories[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(directories); i++)
		fd = open_nameless(directories[i]);
	return fd;
}

/* Allocates the blocks in advance: a full disk must fail here, not as SIGBUS later. */
static bool has_blocks(int fd, size_t from, size_t to)
{
	return fd >= 0 && fallocate(fd, 0, (off_t)from, (off_t)(to - from)) == 0;
}

static void link_head(struct head *head)
{
	head->previous = NULL;
	head->next = large;
	if (large)
		large->previous = head;
	large = head;
}

static void unlink_head(struct head *head)
{
	*(head->previous ? &head->previous->next : &large) = head->next;
	if (head->next)
		head->next->previous = head->previous;
}

static struct head *map_new(size_t bytes)
{
	struct head *head;
	int fd = open_any();

	if (fd >= 0 && !has_blocks(fd, 0, bytes)) {
		close(fd);
		fd = -1;
	}
	head = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (head == MAP_FAILED)
		abort();
	head->bytes = bytes;
	head->fd = fd;
	link_head(head);
	return head;
}

static void unmap(struct head *head)
{
	int fd = head->fd;

	unlink_head(head);
	(void)munmap(head, head->bytes);
	if (fd >= 0)
		close(fd);
}

/* In place or moved; NULL when the file cannot grow. */
static struct head *remap(struct head *head, size_t bytes)
{
	struct head *moved;

	if (head->fd >= 0 && !has_blocks(head->fd, head->bytes, bytes))
		return NULL;
	unlink_head(head);
	moved = mremap(head, head->bytes, bytes, MREMAP_MAYMOVE);
	if (moved == MAP_FAILED)
		abort();
	moved->bytes = bytes;
	link_head(moved);
	return moved;
}

static size_t mapped_bytes(size_t bytes)
{
	return HEAD + (bytes + HEAD - 1) / HEAD * HEAD;
}

void *spill_resize(void *old, size_t old_bytes, size_t bytes)
{
	struct head *head;

	if (bytes <= SMALL) {
		char *table = xrealloc(old, bytes);

		memset(table + old_bytes, 0, bytes - old_bytes);
		return table;
	}
	head = old_bytes > SMALL ? remap(head_of(old), mapped_bytes(bytes)) : NULL;
	if (!head) {
		head = map_new(mapped_bytes(bytes));
		if (old_bytes)
			memcpy((char *)head + HEAD, old, old_bytes);
		spill_free(old, old_bytes);
	}
	return (char *)head + HEAD;
}

void spill_free(void *table, size_t bytes)
{
	if (bytes > SMALL)
		unmap(head_of(table));
	else
		free(table);
}

void spill_trim(void)
{
	for (struct head *head = large; head; head = head->next)
		if (head->fd >= 0)
			(void)madvise((char *)head + HEAD, head->bytes - HEAD, MADV_DONTNEED);
}

/* --- merge sort: runs sorted in memory, then merged pairwise, read and written sequentially --- */

struct sorter {
	char *from, *to;
	size_t count, size;
	int (*compare)(const void *, const void *);
};

static void merge(const struct sorter *s, size_t begin, size_t middle, size_t end)
{
	size_t a = begin, b = middle;

	for (size_t at = begin; at < end; at++) {
		bool first = b >= end || (a < middle && s->compare(s->from + a * s->size, s->from + b * s->size) <= 0);

		memcpy(s->to + at * s->size, s->from + (first ? a++ : b++) * s->size, s->size);
		spill_trim_at(at);
	}
}

static bool is_sorted(const struct sorter *s)
{
	for (size_t i = 1; i < s->count; i++) {
		if (s->compare(s->from + (i - 1) * s->size, s->from + i * s->size) > 0)
			return false;
		spill_trim_at(i);
	}
	return true;
}

void spill_sort(void *rows, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	struct sorter s = {.from = rows, .count = count, .size = size, .compare = compare};
	size_t run = max_of(SORT_BYTES / size, (size_t)1);
	char *beside;

	if (count < 2 || is_sorted(&s))
		return;
	for (size_t i = 0; i < count; i += run) {
		qsort(s.from + i * size, min_of(run, count - i), size, compare);
		spill_trim();
	}
	if (run >= count)
		return;
	beside = s.to = spill_resize(NULL, 0, count * size);
	for (; run < count; run *= 2) {
		char *next = s.from;

		for (size_t i = 0; i < count; i += run * 2)
			merge(&s, i, min_of(i + run, count), min_of(i + run * 2, count));
		s.from = s.to;
		s.to = next;
	}
	for (size_t i = 0; s.from != (char *)rows && i < count; i++) {
		memcpy((char *)rows + i * size, s.from + i * size, size);
		spill_trim_at(i);
	}
	spill_free(beside, count * size);
	spill_trim();
}
