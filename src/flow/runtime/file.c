/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two files of a recording inside the observed program. Programs close unknown descriptors, reuse their numbers,
 * fill the disk and set limits: so each use checks that the descriptor still is the file, and a chunk beyond a limit is
 * not tried, because the kernel would send SIGXFSZ.
 */
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "flow/runtime/runtime.h"
#include "flow/runtime/sys.h"
#include "flow/trace/checksum.h"

struct own_file {
	int fd;
	int flags;
	dev_t dev;
	ino_t ino;
	char path[PATH_MAX];
};

static struct own_file trace = {.fd = -1, .flags = O_WRONLY | O_APPEND};
static struct own_file buffers = {.fd = -1, .flags = O_RDWR};

/* Moves the descriptor away from low numbers, which programs rely on. */
static int move_high(int fd)
{
	struct rlimit limit;
	int floor = 1000, high;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 1200)
		floor = limit.rlim_cur > 64 ? (int)limit.rlim_cur - 32 : 0;
	high = sys_move(fd, floor);
	if (high < 0)
		return fd;
	sys_close(fd);
	return high;
}

static bool open_again(struct own_file *file)
{
	struct stat st;
	int fd = sys_open(file->path, file->flags);

	if (fd < 0)
		return false;
	fd = move_high(fd);
	if (fstat(fd, &st) < 0 || (file->ino && (st.st_ino != file->ino || st.st_dev != file->dev))) {
		sys_close(fd);
		return false;
	}
	file->dev = st.st_dev;
	file->ino = st.st_ino;
	file->fd = fd;
	return true;
}

/* The descriptor, reopened if it is no longer the file. */
static int check_file(struct own_file *file, struct stat *st)
{
	if (file->fd >= 0 && fstat(file->fd, st) == 0 && st->st_ino == file->ino && st->st_dev == file->dev)
		return file->fd;
	return open_again(file) && fstat(file->fd, st) == 0 ? file->fd : -1;
}

bool own_files_open(const char *path)
{
	size_t n = strlen(path);

	if (n + sizeof(FLOW_LIVE_SUFFIX) > PATH_MAX)
		return false;
	memcpy(trace.path, path, n + 1);
	memcpy(buffers.path, path, n);
	memcpy(buffers.path + n, FLOW_LIVE_SUFFIX, sizeof(FLOW_LIVE_SUFFIX));
	return open_again(&trace) && open_again(&buffers);
}

int own_buffers_fd(void)
{
	return buffers.fd;
}

bool own_files_have(int fd)
{
	return fd >= 0 && (fd == trace.fd || fd == buffers.fd);
}

void own_files_yield(int fd)
{
	struct own_file *file = fd == trace.fd ? &trace : &buffers;

	if (!own_files_have(fd))
		return;
	file->fd = sys_move(fd, fd + 1); /* -1: reopened by path */
	sys_close(fd);
}

/* Touching memory of a file that cannot grow would kill the program: allocate its blocks first. */
bool own_buffers_back(uint64_t at, uint64_t bytes)
{
	static const char zeros[4096];
	struct stat st;
	int fd = check_file(&buffers, &st);

	if (fd < 0)
		return false;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes) == 0)
		return true;
	if (errno != EOPNOTSUPP)
		return false;
	for (uint64_t end = at + bytes; at < end; at += sizeof(zeros))
		if (sys_pwrite(fd, zeros, sizeof(zeros), at) != (ssize_t)sizeof(zeros))
			return false;
	return true;
}

static int check_room(const struct flow_chunk *chunk, uint64_t bytes)
{
	struct rlimit limit;
	struct stat st;

	if (check_file(&trace, &st) < 0)
		return EBADF;
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (uint64_t)st.st_size + bytes > limit.rlim_cur)
		return EFBIG;
	/* Descriptions of functions are small, and buffered calls will need them: exempt from the limit. */
	if (live->max_bytes && chunk->kind == FLOW_CHUNK_EVENTS && (uint64_t)st.st_size + bytes > live->max_bytes)
		return ENOSPC;
	return 0;
}

void trace_file_seal(struct flow_chunk *chunk)
{
	struct timespec real_time = {};

	if (!sealed)
		clock_gettime(CLOCK_REALTIME, &real_time);
	chunk->magic = FLOW_MAGIC;
	chunk->clock_ticks = now_ticks();
	chunk->clock_ns = (uint64_t)real_time.tv_sec * 1000000000u + (uint64_t)real_time.tv_nsec;
	chunk->checksum = flow_chunk_checksum(chunk, chunk + 1);
}

bool trace_file_append(const struct flow_chunk *chunks, size_t bytes)
{
	ssize_t done;
	int e = live_is_gone ? EBADF : sealed ? 0 : check_room(chunks, bytes);

	if (e) {
		live->last_error = (uint32_t)e;
		return false;
	}
	/* All or nothing: the end of the file is shared. */
	do
		done = sys_write(trace.fd, chunks, bytes);
	while (done < 0 && errno == EINTR);
	if (done == (ssize_t)bytes)
		return true;
	live->last_error = done < 0 ? (uint32_t)errno : ENOSPC;
	return false;
}

bool trace_file_add(struct flow_chunk *chunk)
{
	trace_file_seal(chunk);
	return trace_file_append(chunk, sizeof(*chunk) + chunk->bytes);
}
