/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/import/ctf_torn.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_MAGIC UINT32_C(0xc1fc1fc1)
/* Bytes of a packet searched for its size. */
#define HEAD_BYTES  128u
#define PACKETS_MAX ((size_t)1 << 22)
#define FILES_MAX   4096

/* --- the complete part of a file --- */

static bool is_packet(const uint8_t *head, size_t n, bool *ret_big)
{
	uint32_t magic;

	if (n < sizeof(magic))
		return false;
	memcpy(&magic, head, sizeof(magic));
	*ret_big = be32toh(magic) == STREAM_MAGIC;
	return *ret_big || le32toh(magic) == STREAM_MAGIC;
}

static uint64_t load_u64(const uint8_t *at, bool big)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return big ? be64toh(value) : le64toh(value);
}

/* Length of the packet at that offset if `place` holds its size, preceded by its content size; 0: it does not. */
static uint64_t packet_at(int fd, uint64_t at, uint64_t size, size_t place)
{
	uint8_t head[HEAD_BYTES], next[sizeof(uint32_t)];
	ssize_t n = pread(fd, head, sizeof(head), (off_t)at);
	uint64_t bits, bytes;
	bool big;

	if (n < (ssize_t)(place + sizeof(uint64_t)) || !is_packet(head, (size_t)n, &big))
		return 0;
	bits = load_u64(head + place, big);
	bytes = bits / 8;
	if (bits % 8 || bytes < place + sizeof(uint64_t) || bytes > size - at ||
	    load_u64(head + place - sizeof(uint64_t), big) > bits)
		return 0;
	/* Another packet must follow, if present. */
	n = pread(fd, next, sizeof(next), (off_t)(at + bytes));
	return n < (ssize_t)sizeof(next) || is_packet(next, sizeof(next), &big) ? bytes : 0;
}

/*
 * The position of the size field is defined in the metadata, in its own language; but it is the number that leads from
 * one packet to the next.
 */
static uint64_t whole_bytes(int fd, uint64_t size)
{
	uint64_t best = 0;

	for (size_t place = 16; place + sizeof(uint64_t) <= HEAD_BYTES && best < size; place += 4) {
		uint64_t at = 0, bytes = 1;

		for (size_t i = 0; bytes && at < size && i < PACKETS_MAX; i++) {
			bytes = packet_at(fd, at, size, place);
			at += bytes;
		}
		best = max_of(best, at);
	}
	return best;
}

/* --- a repaired copy of a directory --- */

/* A stream file of a directory. */
struct stream {
	char *path;
	const char *name;
	uint64_t size;
	uint64_t whole;
};

struct streams {
	VEC(struct stream) items;
	bool torn;
};

static void streams_done(struct streams *streams)
{
	vec_each(&streams->items, stream)
		free(stream->path);
	vec_done(&streams->items);
}

static void find_streams(const char *directory, struct streams *ret_streams)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	*ret_streams = (struct streams){};
	while (dir && (entry = readdir(dir)) && ret_streams->items.count < FILES_MAX) {
		_cleanup_free_ char *path = xasprintf("%s/%s", directory, entry->d_name);
		_cleanup_close_ int fd = entry->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		struct stream stream = {};
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		stream.size = (uint64_t)st.st_size;
		stream.whole = strcmp(entry->d_name, "metadata") == 0 ? stream.size : whole_bytes(fd, stream.size);
		ret_streams->torn |= stream.whole < stream.size;
		stream.path = take_ptr(path);
		stream.name = strrchr(stream.path, '/') + 1;
		vec_push(&ret_streams->items, stream);
	}
	if (dir)
		closedir(dir);
}

static int copy_whole(const struct stream *stream, const char *to)
{
	_cleanup_close_ int in = open(stream->path, O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	off_t at = 0;

	if (in < 0 || out < 0)
		return -errno;
	while ((uint64_t)at < stream->whole) {
		ssize_t n = sendfile(out, in, &at, stream->whole - (uint64_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
	}
	return 0;
}

/* Link to the absolute path: the link is elsewhere. */
static int link_to(const struct stream *stream, const char *to)
{
	_cleanup_free_ char *real = realpath(stream->path, NULL);

	return !real || symlink(real, to) < 0 ? -errno : 0;
}

static int make_again(const struct streams *streams, const char *directory, struct ctf_directories *directories,
		      struct ctf_torn *torn)
{
	int r = mkdir(directory, 0700) < 0 ? -errno : 0;

	if (r == 0)
		vec_push(&torn->made, xstrdup(directory));
	for (size_t i = 0; r == 0 && i < streams->items.count; i++) {
		const struct stream *stream = &streams->items.items[i];
		char *to = xasprintf("%s/%s", directory, stream->name);
		bool whole = stream->whole == stream->size;

		vec_push(&torn->made, to);
		if (whole || stream->whole)
			r = whole ? link_to(stream, to) : copy_whole(stream, to);
		if (whole)
			continue;
		vec_push(&directories->torn, xstrdup(to));
		vec_push(&torn->files, (struct ctf_torn_file){xstrdup(stream->name), stream->size, stream->whole});
	}
	return r;
}

static int make_root(const char *scratch, struct ctf_torn *torn)
{
	char *root = xasprintf("%s.XXXXXX", scratch);

	if (!mkdtemp(root)) {
		int r = -errno;

		free(root);
		return r;
	}
	vec_push(&torn->made, root);
	return 0;
}

static int mend(const char *scratch, struct ctf_directories *directories, struct ctf_torn *torn)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < directories->items.count; i++) {
		struct streams streams;

		find_streams(directories->items.items[i], &streams);
		if (streams.torn && !torn->made.count)
			r = make_root(scratch, torn);
		if (streams.torn && r == 0) {
			char *again = xasprintf("%s/%zu", torn->made.items[0], i);

			r = make_again(&streams, again, directories, torn);
			free(directories->items.items[i]);
			directories->items.items[i] = again;
		}
		streams_done(&streams);
	}
	return r;
}

int ctf_torn_mend(const char *scratch, struct ctf_directories *directories, struct ctf_torn *ret_torn, struct why *why)
{
	int r;

	*ret_torn = (struct ctf_torn){};
	r = mend(scratch, directories, ret_torn);
	return r < 0 ? why_set(why, r, "%s: cannot copy the complete part of a truncated trace: %s", scratch,
			       strerror(-r))
		     : 0;
}

void ctf_torn_done(struct ctf_torn *torn)
{
	while (torn->made.count) {
		char *path = torn->made.items[--torn->made.count];

		(void)remove(path);
		free(path);
	}
	vec_done(&torn->made);
	vec_each(&torn->files, file)
		free(file->name);
	vec_done(&torn->files);
}
