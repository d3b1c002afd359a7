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

/*
 * All tables share one file, each in a slot of its own: a process that gives up the right to open files
 * (base/confine.h) opens it before. Slots are holes until a table grows into them; a table larger than a slot, or one
 * more than there are slots, is in memory. The last slot ends below 16 TiB, the largest file of ext4.
 */
#define SLOTS      255
#define SLOT_BYTES ((size_t)64 << 30)

struct head {
	struct head *next, *previous;
	size_t bytes; /* including the head */
	int slot;     /* -1: in memory */
};
_Static_assert(sizeof(struct head) <= HEAD, "one page");

static struct head *large;
static struct {
	int fd;
	pid_t owner; /* a child has tables of its own, and no file; 0: not opened yet */
	bool used[SLOTS];
} file;

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

void spill_prepare(void)
{
	const char *const directories[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};

	if (file.owner)
		return;
	file.owner = getpid();
	file.fd = -1;
	for (size_t i = 0; file.fd < 0 && i < ARRAY_SIZE(directories); i++)
		file.fd = open_nameless(directories[i]);
}

static off_t offset_of(int slot)
{
	return (off_t)slot * (off_t)SLOT_BYTES;
}

/* Allocates the blocks in advance: a full disk must fail here, not as SIGBUS later. */
static bool has_blocks(int slot, size_t from, size_t to)
{
	return to <= SLOT_BYTES && fallocate(file.fd, 0, offset_of(slot) + (off_t)from, (off_t)(to - from)) == 0;
}

static void free_slot(int slot)
{
	if (file.owner != getpid())
		return;
	file.used[slot] = false;
	(void)fallocate(file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset_of(slot), (off_t)SLOT_BYTES);
}

/* -1: the table must be in memory. */
static int take_slot(size_t bytes)
{
	spill_prepare();
	if (file.fd < 0 || file.owner != getpid())
		return -1;
	for (int slot = 0; slot < SLOTS; slot++) {
		if (file.used[slot])
			continue;
		file.used[slot] = true;
		if (has_blocks(slot, 0, bytes))
			return slot;
		free_slot(slot);
		return -1;
	}
	return -1;
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
	int slot = take_slot(bytes);
	struct head *head = slot >= 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, offset_of(slot))
				      : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (head == MAP_FAILED)
		abort();
	head->bytes = bytes;
	head->slot = slot;
	link_head(head);
	return head;
}

static void unmap(struct head *head)
{
	int slot = head->slot;

	unlink_head(head);
	(void)munmap(head, head->bytes);
	if (slot >= 0)
		free_slot(slot);
}

/* In place or moved; NULL when the file cannot grow. */
static struct head *remap(struct head *head, size_t bytes)
{
	struct head *moved;

	if (head->slot >= 0 && !has_blocks(head->slot, head->bytes, bytes))
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
		if (head->slot >= 0)
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
