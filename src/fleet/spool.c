/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/parse.h"

#define NAME_FORMAT  "%020" PRIu64 ".batches"
#define NAME_MAX_LEN 40
#define SEGMENTS_MAX 1000000

struct segment {
	uint64_t number;
	uint64_t bytes, rows;
	bool open, inherited;
	struct buf memory; /* without a directory */
};

struct spool {
	char *dir; /* NULL: in memory */
	int dir_fd, lock_fd;
	int fd; /* of the open segment, or -1 */
	uint64_t limit_bytes;
	bool drop_oldest;
	VEC(struct segment) segments; /* in order */
	uint64_t next;
	uint64_t bytes, rows;
	uint64_t dropped_rows, damaged;
	bool held;         /* the first segment is being sent */
	struct buf loaded; /* its content */
};

static void segment_name(char *name, uint64_t number)
{
	snprintf(name, NAME_MAX_LEN, NAME_FORMAT, number);
}

void spool_close(struct spool *spool)
{
	if (!spool)
		return;
	vec_each(&spool->segments, segment)
		buf_done(&segment->memory);
	vec_done(&spool->segments);
	buf_done(&spool->loaded);
	closep(&spool->fd);
	closep(&spool->lock_fd);
	closep(&spool->dir_fd);
	free(spool->dir);
	free(spool);
}

/* --- what an earlier process left --- */

static int read_segment(struct spool *spool, uint64_t number, struct buf *content)
{
	char name[NAME_MAX_LEN];
	_cleanup_close_ int fd = -1;
	struct stat info;

	segment_name(name, number);
	fd = openat(spool->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EBADMSG;
	return buf_read_fd(content, fd);
}

/* Bytes of whole frames at the start, and their rows. */
static size_t whole_frames(const struct buf *content, uint64_t *rows)
{
	size_t at = 0, len;
	struct batch batch;

	*rows = 0;
	while (at < content->len && batch_read(content->data + at, content->len - at, &batch, &len) == 0) {
		at += len;
		*rows += batch.rows;
	}
	return at;
}

static int inherit(struct spool *spool, uint64_t number, struct why *why)
{
	_cleanup_buf_ struct buf content = BUF_INIT(SPOOL_ADD_MAX + SPOOL_SEGMENT_BYTES);
	struct segment segment = {.number = number, .inherited = true};
	char name[NAME_MAX_LEN];
	int r = read_segment(spool, number, &content);

	segment_name(name, number);
	if (r < 0 && r != -EBADMSG && r != -E2BIG)
		return why_set(why, r, "cannot read %s/%s: %s", spool->dir, name, strerror(-r));
	segment.bytes = r < 0 ? 0 : whole_frames(&content, &segment.rows);
	if (segment.bytes < content.len || r < 0)
		spool->damaged++;
	spool->next = max_of(spool->next, number + 1);
	if (segment.bytes == 0) {
		(void)unlinkat(spool->dir_fd, name, 0);
		return 0;
	}
	spool->bytes += segment.bytes;
	spool->rows += segment.rows;
	vec_push(&spool->segments, segment);
	return 0;
}

static int by_number(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The number of a segment's file; false for any other file. */
static bool parse_name(const char *name, uint64_t *ret_number)
{
	char digits[21] = "", wanted[NAME_MAX_LEN];

	if (strlen(name) < 20)
		return false;
	memcpy(digits, name, 20);
	/* As decimal digits only: leading zeros are not octal. */
	if (parse_decimal(digits + min_of(strspn(digits, "0"), (size_t)19), 0, UINT64_MAX - 1, ret_number) < 0)
		return false;
	segment_name(wanted, *ret_number);
	return strcmp(name, wanted) == 0;
}

static int inherit_all(struct spool *spool, struct why *why)
{
	VEC(uint64_t) numbers = {};
	DIR *dir = fdopendir(dup(spool->dir_fd));
	struct dirent *entry;
	uint64_t number;
	int r = 0;

	if (!dir)
		return why_set(why, -errno, "cannot read %s: %s", spool->dir, strerror(errno));
	while ((entry = readdir(dir)))
		if (parse_name(entry->d_name, &number) && numbers.count < SEGMENTS_MAX)
			vec_push(&numbers, number);
	closedir(dir);
	vec_sort(&numbers, by_number);
	vec_each(&numbers, at)
		r = r < 0 ? r : inherit(spool, *at, why);
	vec_done(&numbers);
	return r;
}

/* --- opening --- */

static int open_dir(struct spool *spool, struct why *why)
{
	struct stat info;

	if (mkdir(spool->dir, 0700) < 0 && errno != EEXIST)
		return why_set(why, -errno, "cannot make the spool %s: %s", spool->dir, strerror(errno));
	spool->dir_fd = open(spool->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (spool->dir_fd < 0 || fstat(spool->dir_fd, &info) < 0)
		return why_set(why, -errno, "cannot open the spool %s: %s", spool->dir, strerror(errno));
	/* Others could make the sender read what they like, or lose what was acknowledged. */
	if (info.st_uid != geteuid() || (info.st_mode & 022))
		return why_set(why, -EPERM,
			       "the spool %s belongs to another user or others can write to it; use a "
			       "directory of your own (chmod 700)",
			       spool->dir);
	spool->lock_fd = openat(spool->dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (spool->lock_fd < 0)
		return why_set(why, -errno, "cannot write to the spool %s: %s", spool->dir, strerror(errno));
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return why_set(why, -EBUSY, "another process uses the spool %s; give each its own", spool->dir);
	return inherit_all(spool, why);
}

int spool_open(const struct spool_options *options, struct spool **ret_spool, struct why *why)
{
	_cleanup_(spool_closep) struct spool *spool = xzalloc(sizeof(*spool));
	int r = 0;

	*spool = (struct spool){.dir_fd = -1,
				.lock_fd = -1,
				.fd = -1,
				.limit_bytes = options->limit_bytes,
				.drop_oldest = options->drop_oldest,
				.loaded = BUF_INIT(SPOOL_ADD_MAX + SPOOL_SEGMENT_BYTES)};
	if (options->limit_bytes < SPOOL_LIMIT_LEAST)
		return why_set(why, -EINVAL, "the spool needs at least %" PRIu64 " bytes", SPOOL_LIMIT_LEAST);
	if (options->dir) {
		spool->dir = xstrdup(options->dir);
		r = open_dir(spool, why);
	}
	if (r < 0)
		return r;
	*ret_spool = take_ptr(spool);
	return 0;
}

/* --- removing --- */

static void forget(struct spool *spool, size_t at)
{
	struct segment *segment = &spool->segments.items[at];
	char name[NAME_MAX_LEN];

	segment_name(name, segment->number);
	if (spool->dir)
		(void)unlinkat(spool->dir_fd, name, 0);
	spool->bytes -= segment->bytes;
	spool->rows -= segment->rows;
	buf_done(&segment->memory);
	memmove(segment, segment + 1, (spool->segments.count - at - 1) * sizeof(*segment));
	spool->segments.count--;
}

void spool_remove(struct spool *spool, uint64_t number)
{
	if (!spool->held || spool->segments.count == 0 || spool->segments.items[0].number != number)
		return;
	spool->held = false;
	buf_done(&spool->loaded);
	spool->loaded = BUF_INIT(SPOOL_ADD_MAX + SPOOL_SEGMENT_BYTES);
	forget(spool, 0);
}

static int make_room(struct spool *spool, size_t len, struct why *why)
{
	while (spool->bytes + len > spool->limit_bytes) {
		size_t at = spool->held ? 1 : 0;

		if (!spool->drop_oldest || at >= spool->segments.count || spool->segments.items[at].open)
			return why_set(why, -ENOSPC, "the spool is full (%" PRIu64 " bytes)", spool->limit_bytes);
		spool->dropped_rows += spool->segments.items[at].rows;
		forget(spool, at);
	}
	return 0;
}

/* --- adding --- */

static struct segment *open_segment(const struct spool *spool)
{
	struct segment *last = spool->segments.count ? &spool->segments.items[spool->segments.count - 1] : NULL;

	return last && last->open ? last : NULL;
}

void spool_cut(struct spool *spool)
{
	struct segment *segment = open_segment(spool);

	if (!segment)
		return;
	segment->open = false;
	closep(&spool->fd);
	spool->fd = -1;
}

static int new_segment(struct spool *spool, struct why *why)
{
	struct segment segment = {.number = spool->next, .open = true, .memory = BUF_INIT(SPOOL_ADD_MAX * 2)};
	char name[NAME_MAX_LEN];

	if (spool->segments.count >= SEGMENTS_MAX)
		return why_set(why, -ENOSPC, "the spool has too many files");
	segment_name(name, segment.number);
	if (spool->dir) {
		spool->fd = openat(spool->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (spool->fd < 0)
			return why_set(why, -errno, "cannot write to the spool %s: %s", spool->dir, strerror(errno));
		/* The name must survive as the content does. */
		(void)fsync(spool->dir_fd);
	}
	spool->next++;
	vec_push(&spool->segments, segment);
	return 0;
}

static int write_whole(int fd, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/* What cannot be written as a whole is taken back: a sender must not see it, and it was not accepted. */
static int write_frames(struct spool *spool, struct segment *segment, const void *frames, size_t len, struct why *why)
{
	int r = write_whole(spool->fd, frames, len);

	if (r == 0 && fdatasync(spool->fd) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	(void)why_set(why, r, "cannot write to the spool %s: %s", spool->dir, strerror(-r));
	if (ftruncate(spool->fd, (off_t)segment->bytes) < 0 || lseek(spool->fd, (off_t)segment->bytes, SEEK_SET) < 0)
		spool_cut(spool);
	if (segment->bytes == 0) {
		spool_cut(spool);
		forget(spool, spool->segments.count - 1);
	}
	return r;
}

int spool_add(struct spool *spool, const void *frames, size_t len, uint64_t rows, struct why *why)
{
	struct segment *segment = open_segment(spool);
	int r;

	if (len > SPOOL_ADD_MAX)
		return why_set(why, -E2BIG, "more than %zu bytes at once", SPOOL_ADD_MAX);
	if (segment && segment->bytes + len > SPOOL_SEGMENT_BYTES)
		spool_cut(spool);
	r = make_room(spool, len, why);
	if (r == 0 && !open_segment(spool))
		r = new_segment(spool, why);
	if (r < 0)
		return r;
	segment = open_segment(spool);
	if (spool->dir)
		r = write_frames(spool, segment, frames, len, why);
	else
		buf_add(&segment->memory, frames, len);
	if (r < 0)
		return r;
	segment->bytes += len;
	segment->rows += rows;
	spool->bytes += len;
	spool->rows += rows;
	return 0;
}

/* --- reading --- */

int spool_first(struct spool *spool, struct spool_segment *ret_segment, struct why *why)
{
	const struct segment *first = spool->segments.items;
	const struct buf *content = &spool->loaded;
	int r;

	if (spool->segments.count == 0 || first->open)
		return 0;
	if (!spool->dir) {
		content = &first->memory;
	} else if (!spool->held) {
		buf_clear(&spool->loaded);
		r = read_segment(spool, first->number, &spool->loaded);
		if (r < 0)
			return why_set(why, r, "cannot read the spool %s: %s", spool->dir, strerror(-r));
	}
	spool->held = true;
	*ret_segment = (struct spool_segment){.number = first->number,
					      .data = content->data,
					      .len = min_of(content->len, (size_t)first->bytes),
					      .rows = first->rows,
					      .inherited = first->inherited};
	return 1;
}

struct spool_figures spool_look(const struct spool *spool)
{
	return (struct spool_figures){.bytes = spool->bytes,
				      .segments = spool->segments.count,
				      .rows = spool->rows,
				      .dropped_rows = spool->dropped_rows,
				      .damaged = spool->damaged};
}

int spool_each(struct spool *spool, bool (*fn)(const struct batch *batch, void *context), void *context,
	       struct why *why)
{
	vec_each(&spool->segments, segment) {
		_cleanup_buf_ struct buf content = BUF_INIT(SPOOL_ADD_MAX + SPOOL_SEGMENT_BYTES);
		const struct buf *from = spool->dir ? &content : &segment->memory;
		struct batch batch;
		size_t at = 0, len;
		int r = spool->dir ? read_segment(spool, segment->number, &content) : 0;

		if (r < 0)
			return why_set(why, r, "cannot read the spool %s: %s", spool->dir, strerror(-r));
		while (at < segment->bytes && at < from->len &&
		       batch_read(from->data + at, from->len - at, &batch, &len) == 0) {
			if (!fn(&batch, context))
				return 0;
			at += len;
		}
	}
	return 0;
}
