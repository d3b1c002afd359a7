/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "kernel/btf_names.h"

#define BTF_PATH      "/sys/kernel/btf/vmlinux"
#define BTF_NAMES_MAX ((size_t)64 << 20)

/* Since Linux 6.16 the file can be mapped, from offset 0; read returns at most one page at a time. */
static bool map_text(struct btf_names *names, int fd, size_t begin, size_t size)
{
	char *mapped = mmap(NULL, begin + size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (mapped == MAP_FAILED)
		return false;
	*names =
		(struct btf_names){.text = mapped + begin, .size = size, .mapped = mapped, .mapped_size = begin + size};
	return true;
}

static int read_text(struct btf_names *names, int fd, size_t begin, size_t size)
{
	char *text = xmalloc(size + 1);
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, text + have, size - have, (off_t)(begin + have));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	*names = (struct btf_names){.text = text, .size = have};
	if (have == size)
		return 0;
	btf_names_done(names);
	return -EIO;
}

int btf_names_load(struct btf_names *names)
{
	_cleanup_close_ int fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct btf_header header;
	struct stat file;
	size_t begin;

	if (fd < 0 || fstat(fd, &file) < 0)
		return -errno;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.magic != BTF_MAGIC ||
	    header.str_len > BTF_NAMES_MAX)
		return -EBADMSG;
	begin = (size_t)header.hdr_len + header.str_off;
	/* Do not access memory beyond the end of the file. */
	if (begin + header.str_len > (size_t)file.st_size)
		return -EBADMSG;
	return map_text(names, fd, begin, header.str_len) ? 0 : read_text(names, fd, begin, header.str_len);
}

/* Most names are passed over by this: two characters where names of one kind differ, and the length. */
static unsigned mark_of(const char *name, size_t len)
{
	return ((uint8_t)name[len / 2] * 31u + (uint8_t)name[len - 1] * 7u + (unsigned)len) % BTF_NAMES_MARKS;
}

void btf_names_want(struct btf_names *names, const char *name)
{
	if (!*name)
		return;
	names->wanted.value_size = sizeof(bool);
	(void)map_put(&names->wanted, name, NULL);
	names->marks[mark_of(name, strlen(name))] = true;
}

void btf_names_find(struct btf_names *names)
{
	/* The last name must be terminated. */
	if (!names->text || names->size == 0 || names->text[names->size - 1] != '\0')
		return;
	for (size_t at = 1, len; at < names->size; at += len + 1) {
		bool *found;

		len = strlen(names->text + at);
		if (len == 0 || !names->marks[mark_of(names->text + at, len)])
			continue;
		found = map_get(&names->wanted, names->text + at);
		if (found)
			*found = true;
	}
	names->searched = true;
}

bool btf_names_has(const struct btf_names *names, const char *name)
{
	size_t n = strlen(name);
	const char *at = names->text, *end = names->text + names->size;
	const bool *found = names->searched ? map_get(&names->wanted, name) : NULL;

	if (found)
		return *found;
	while (at && (at = memmem(at, (size_t)(end - at), name, n + 1))) {
		if (at > names->text && at[-1] == '\0')
			return true;
		at++;
	}
	return false;
}

void btf_names_done(struct btf_names *names)
{
	if (names->mapped)
		(void)munmap(names->mapped, names->mapped_size);
	else
		free((char *)names->text);
	map_done(&names->wanted);
	*names = (struct btf_names){};
}
