/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of recordings on files from anywhere: a bundled recording with bytes changed as the input says, or the input itself
 * as a file. Whatever is in it, reading ends with rows or with a sentence.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "store/bundled.h"
#include "store/replay.h"
#include "store/report.h"

#define CHANGES_MAX 64

static char path[64];
static struct buf original = {.cap = (size_t)16 << 20};

static void remove_file(void)
{
	(void)unlink(path);
}

static void prepare(void)
{
	snprintf(path, sizeof(path), "/tmp/nest-fuzz-%d.nest", (int)getpid());
	fuzz_require(bundled_unpack(bundled_find("listener-overflow"), &original) == 0);
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

static void read_all(void)
{
	struct recording *recording = NULL;
	struct report *report = NULL;
	struct time_range all = {.to_ns = UINT64_MAX};
	struct why why = {};
	int r = recording_open(path, &recording, &why);

	if (r == 0)
		r = report_make(recording, &all, &report, &why);
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
