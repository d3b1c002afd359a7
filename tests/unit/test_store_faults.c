/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fault injection: the same recording or trace is written again and again, and each time another call fails: the first
 * write, the second, and so on until none is left to fail. Whatever fails, the error is reported, nothing crashes, and
 * what was committed before is read back.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "flow/trace/trace_writer.h"
#include "sample.h"
#include "store/rows.h"
#include "store_room.h"

#define ROWS    60
#define BATCHES 3

/* Which call fails: counted down; 0: none. */
static unsigned countdown;
static int failure;
static unsigned failed;

static bool fails(void)
{
	if (countdown == 0 || --countdown > 0)
		return false;
	failed++;
	errno = failure;
	return true;
}

static void arm(unsigned number, int error)
{
	countdown = number;
	failure = error;
	failed = 0;
}

/* --- SQLite's own calls --- */

static ssize_t pwrite_or_fail(int fd, const void *bytes, size_t count, off_t at)
{
	return fails() ? -1 : pwrite(fd, bytes, count, at);
}

/* Half of it, as a disk that fills up does. */
static ssize_t pwrite_half(int fd, const void *bytes, size_t count, off_t at)
{
	return fails() ? pwrite(fd, bytes, count / 2, at) : pwrite(fd, bytes, count, at);
}

static int ftruncate_or_fail(int fd, off_t size)
{
	return fails() ? -1 : ftruncate(fd, size);
}

static int fallocate_or_fail(int fd, off_t from, off_t count)
{
	return fails() ? -1 : posix_fallocate(fd, from, count);
}

static int open_or_fail(const char *path, int flags, int mode)
{
	return fails() ? -1 : open(path, flags, mode);
}

static void replace(const char *name, sqlite3_syscall_ptr call)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	REQUIRE(vfs && vfs->iVersion >= 3);
	(void)vfs->xSetSystemCall(vfs, name, call);
}

/* --- one recording --- */

struct outcome {
	int result;         /* the first error */
	unsigned committed; /* rows that were promised */
};

/* store_create may fail as well. */
static struct outcome write_recording(const struct room *room)
{
	struct shape shape = SHAPE_OF(&sample_type);
	struct outcome outcome = {};
	struct sample sample = sample_make();
	struct store_table *table = NULL;
	struct store *store = NULL;
	struct why why = {};
	unsigned added = 0;
	int r = store_create(room->path, "test", &store, &why);

	if (r == 0)
		r = store_table_open(store, "event", &shape, &table);
	for (unsigned batch = 0; r == 0 && batch < BATCHES; batch++) {
		for (unsigned i = 0; r == 0 && i < ROWS / BATCHES; i++) {
			sample.bytes = added;
			r = store_add(table, &RECORD_OF(&sample));
			added += r == 0;
		}
		r = r < 0 ? r : store_commit(store);
		if (r == 0)
			outcome.committed = added;
	}
	/* Of a file that could not be made nothing is left, and nothing is claimed. */
	if (!store) {
		CHECK(access(room->path, F_OK) < 0);
		CHECK(!strstr(why.text, "kept"));
	}
	if (r < 0 && store) {
		CHECK(store_why(store)[0] != '\0');
		/* The error stays. */
		CHECK_ERR(store_table_open(store, "other", &shape, &table), r);
	}
	outcome.result = store_close(store, &why);
	outcome.result = r < 0 ? r : outcome.result;
	return outcome;
}

/* All committed rows in their order, and nothing that was never written. */
static void check_recording(const struct room *room, const struct outcome *outcome)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(rows_closep) struct rows *rows = NULL;
	struct shape shape = SHAPE_OF(&sample_type);
	struct sample got;
	struct why why = {};
	unsigned count = 0;
	int r;

	if (!outcome->committed)
		return;
	if (!CHECK_OK(recording_open(room->path, &recording, &why)) ||
	    !CHECK_OK(rows_open(recording, &(struct rows_request){.name = "event", .shape = &shape}, &rows, &why))) {
		unit_note("%s", why.text);
		return;
	}
	while ((r = rows_next(rows, (void *[]){&got}, &why)) > 0) {
		CHECK_EQ_UINT(got.bytes, count);
		count++;
		rows_free_parts(&shape, (void *[]){&got});
	}
	CHECK_EQ_INT(r, 0);
	CHECK(count >= outcome->committed && count <= ROWS);
}

/*
 * Until a recording is written in which the n-th call was never made; of very many calls, not each one. harmless: what
 * failed is done again, and nothing is missing.
 */
static void fail_each_how(int error, bool harmless)
{
	unsigned number = 0;

	do {
		_cleanup_room_ struct room room;
		struct outcome outcome;

		room_make(&room);
		number += 1 + number / 50;
		arm(number, error);
		outcome = write_recording(&room);
		countdown = 0;
		if (failed == 0 || harmless)
			CHECK(outcome.result == 0 && outcome.committed == ROWS);
		check_recording(&room, &outcome);
	} while (failed > 0 && number < 100000);
	CHECK(number > 1 && number < 100000);
}

static void fail_each(int error)
{
	fail_each_how(error, false);
}

TEST(each_write_fails)
{
	replace("pwrite", (sqlite3_syscall_ptr)pwrite_or_fail);
	replace("pwrite64", (sqlite3_syscall_ptr)pwrite_or_fail);
	fail_each(EIO);
}

TEST(the_disk_is_full_at_each_write)
{
	replace("pwrite", (sqlite3_syscall_ptr)pwrite_half);
	replace("pwrite64", (sqlite3_syscall_ptr)pwrite_half);
	fail_each(ENOSPC);
}

TEST(each_write_is_interrupted)
{
	replace("pwrite", (sqlite3_syscall_ptr)pwrite_or_fail);
	replace("pwrite64", (sqlite3_syscall_ptr)pwrite_or_fail);
	fail_each_how(EINTR, true);
}

/* The linker finds these before those of the C library; SQLite has no name to replace them by. */
static bool syncs_fail;

int fsync(int fd)
{
	return syncs_fail && fails() ? -1 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return syncs_fail && fails() ? -1 : (int)syscall(SYS_fdatasync, fd);
}

TEST(each_sync_fails)
{
	syncs_fail = true;
	fail_each(EIO);
}

TEST(each_open_fails)
{
	replace("open", (sqlite3_syscall_ptr)open_or_fail);
	fail_each(EMFILE);
}

TEST(the_log_index_cannot_grow)
{
	replace("fallocate", (sqlite3_syscall_ptr)fallocate_or_fail);
	replace("ftruncate", (sqlite3_syscall_ptr)ftruncate_or_fail);
	fail_each(ENOSPC);
}

/* --- memory of SQLite --- */

static sqlite3_mem_methods memory;

static void *malloc_or_fail(int bytes)
{
	return fails() ? NULL : memory.xMalloc(bytes);
}

static void *realloc_or_fail(void *old, int bytes)
{
	return fails() ? NULL : memory.xRealloc(old, bytes);
}

TEST(each_allocation_fails)
{
	sqlite3_mem_methods failing;

	REQUIRE(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) == SQLITE_OK);
	failing = memory;
	failing.xMalloc = malloc_or_fail;
	failing.xRealloc = realloc_or_fail;
	REQUIRE(sqlite3_config(SQLITE_CONFIG_MALLOC, &failing) == SQLITE_OK);
	/* What the library allocates once must not be what fails. */
	REQUIRE(sqlite3_initialize() == SQLITE_OK);
	fail_each(ENOMEM);
}

/* --- function traces: the linker finds this write before that of the C library --- */

static int trace_fd = -1;

ssize_t write(int fd, const void *bytes, size_t count)
{
	if (fd > STDERR_FILENO && trace_fd == -2 && fails())
		return failure == EINTR || failure == ENOSPC ? -1 : syscall(SYS_write, fd, bytes, count / 2);
	return syscall(SYS_write, fd, bytes, count);
}

static int write_trace(const char *path)
{
	struct trace_writer *writer = NULL;
	struct why why = {};
	uint32_t module, fn, thread;
	int r;

	REQUIRE(trace_writer_open(path, &(struct trace_writer_options){.chunk_bytes = 4096}, &writer, &why) == 0);
	module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"});
	fn = trace_writer_function(writer, module, 0x1000, "main");
	thread = trace_writer_thread(writer, 1, 1, "x");
	for (uint64_t i = 0; i < 5000; i++) {
		trace_writer_call(writer, thread, 10 * i, fn);
		trace_writer_return(writer, thread, 10 * i + 5);
	}
	r = trace_writer_close(writer);
	return r;
}

/* --- giving the trace its name --- */

static bool names_fail;

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
	return names_fail && fails() ? -1 : (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int rename(const char *from, const char *to)
{
	return names_fail && fails() ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

static size_t files_in(const char *path)
{
	DIR *dir = opendir(path);
	size_t count = 0;

	REQUIRE(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count - 2;
}

/* What was there before stays, and nothing else is left. */
TEST(each_step_of_naming_a_trace_fails)
{
	unsigned number = 0;

	names_fail = true;
	do {
		_cleanup_room_ struct room room;
		struct stat before, after;
		int r;

		room_make(&room);
		REQUIRE(write_trace(room.path) == 0 && stat(room.path, &before) == 0);
		arm(++number, EDQUOT);
		r = write_trace(room.path);
		countdown = 0;
		CHECK_EQ_INT(r, failed ? -EDQUOT : 0);
		CHECK_EQ_UINT(files_in(room.dir), 1);
		CHECK(stat(room.path, &after) == 0 && after.st_size == before.st_size);
		CHECK_EQ_INT(after.st_ino == before.st_ino, failed > 0);
	} while (failed > 0 && number < 100);
	names_fail = false;
	CHECK_EQ_UINT(number, 3);
}

/* A write that fails is an error, and there is no file; one that is cut short or interrupted is continued. */
static void fail_each_write(int error, bool is_error)
{
	unsigned number = 0;

	trace_fd = -2;
	do {
		_cleanup_room_ struct room room;
		_cleanup_flow_trace_ struct flow_trace *trace = NULL;
		struct why why = {};
		int r;

		room_make(&room);
		arm(++number, error);
		r = write_trace(room.path);
		countdown = 0;
		if (failed && is_error) {
			CHECK(r < 0);
			CHECK(access(room.path, F_OK) < 0);
			continue;
		}
		CHECK_OK(r);
		if (CHECK_OK(flow_trace_open(room.path, &trace, &why))) {
			CHECK_EQ_UINT(trace->calls, 5000);
			CHECK_EQ_UINT(trace->lost, 0);
		}
	} while (failed > 0 && number < 2000);
	trace_fd = -1;
	CHECK(number > 3 && number < 2000);
}

TEST(each_write_of_a_trace_fails)
{
	fail_each_write(ENOSPC, true);
}

TEST(each_write_of_a_trace_is_cut_short)
{
	fail_each_write(EAGAIN, false);
}

TEST(each_write_of_a_trace_is_interrupted)
{
	fail_each_write(EINTR, false);
}
