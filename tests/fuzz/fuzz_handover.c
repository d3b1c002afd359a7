/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples from another process: whatever arrives, nothing beyond it is read, and what is accepted can be shown and
 * handed over again. The first byte of an input says whether the rest is a handover (1), or changes of a sound one (0):
 * that one has two records of every table, so its layout follows the record types.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "snapshot/core/handover.h"
#include "view/json.h"

#define BYTES_MAX ((size_t)1 << 20)

/* A change of a sound handover; bytes alone, so that none lie between. */
struct change {
	uint8_t at[4];
	uint8_t width; /* 1 to 8 bytes of the value */
	uint8_t value[8];
};

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("handover", MFD_CLOEXEC);

	fuzz_require(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static void fill(struct snapshot_table *table)
{
	for (int i = 0; i < 2; i++) {
		uint8_t *record = snapshot_table_add(table);

		for (uint32_t k = 0; k < table->type->field_count; k++)
			if (table->type->fields[k].store == STORE_STRING)
				*(const char **)(record + table->type->fields[k].offset) = i ? "second" : "first";
	}
}

/* Made once: the size, and its bytes in ret_bytes. */
static size_t make_sound(uint8_t **ret_bytes)
{
	static uint8_t bytes[BYTES_MAX];
	static size_t size;

	*ret_bytes = bytes;
	if (!size) {
		struct snapshot *snapshot = snapshot_new();
		int fd = memfd_create("sound", MFD_CLOEXEC);

		for (size_t i = 0; i < snapshot->table_count; i++)
			fill(&snapshot->tables[i]);
		fuzz_require(snapshot_send(snapshot, fd) == 0);
		size = (size_t)pread(fd, bytes, sizeof(bytes), 0);
		fuzz_require(size > 1000 && size < sizeof(bytes));
		close(fd);
		snapshot_free(snapshot);
	}
	return size;
}

/* The first four bytes are how much of it is missing at the end. */
static int changed_file(const uint8_t *data, size_t size)
{
	static uint8_t copy[BYTES_MAX];
	uint8_t *sound;
	size_t total = make_sound(&sound);
	uint32_t missing = 0, at;
	struct change change;

	memcpy(copy, sound, total);
	if (size >= sizeof(missing)) {
		memcpy(&missing, data, sizeof(missing));
		data += sizeof(missing);
		size -= sizeof(missing);
	}
	for (; size >= sizeof(change); data += sizeof(change), size -= sizeof(change)) {
		memcpy(&change, data, sizeof(change));
		memcpy(&at, change.at, sizeof(at));
		memcpy(copy + at % (total - sizeof(change.value)), change.value, change.width % 8 + 1U);
	}
	return file_of(copy, total - min_of((size_t)missing, total));
}

static void show(const struct snapshot *snapshot)
{
	struct buf out = BUF_INIT((size_t)1 << 20);

	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct snapshot_table *table = &snapshot->tables[i];

		for (size_t k = 0; k < table->count; k++) {
			buf_clear(&out);
			json_add_object(&out, table->type, table->items + k * table->type->size);
			fuzz_require(!fuzz_has_control(buf_text(&out), out.len));
		}
	}
	buf_done(&out);
}

static void hand_over_again(struct snapshot *snapshot)
{
	struct snapshot *again = snapshot_new();
	int fd = memfd_create("again", MFD_CLOEXEC);
	struct why why = {};

	fuzz_require(snapshot_send(snapshot, fd) == 0 && lseek(fd, 0, SEEK_SET) == 0);
	fuzz_require(snapshot_receive(again, fd, &why) == 0);
	for (size_t i = 0; i < snapshot->table_count; i++) {
		fuzz_require(again->tables[i].count == snapshot->tables[i].count);
		fuzz_require(again->tables[i].refused == snapshot->tables[i].refused);
	}
	close(fd);
	snapshot_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot *snapshot;
	struct why why = {};
	int fd, r;

	if (size == 0)
		return 0;
	fd = data[0] & 1 ? file_of(data + 1, size - 1) : changed_file(data + 1, size - 1);
	snapshot = snapshot_new();
	r = snapshot_receive(snapshot, fd, &why);
	close(fd);
	fuzz_require(r == 0 || why.text[0]);
	for (size_t i = 0; r < 0 && i < snapshot->table_count; i++)
		fuzz_require(snapshot->tables[i].count == 0);
	if (r == 0) {
		show(snapshot);
		hand_over_again(snapshot);
	}
	snapshot_free(snapshot);
	return 0;
}
