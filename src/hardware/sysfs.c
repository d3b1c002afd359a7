/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hardware/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

#include "base/parse.h"

#define PATH_ROOM 1024
/* Directories of /sys have hundreds of entries, /proc thousands. */
#define NAMES_MAX 65536

#define PATH_OF(path, format)                                                                                          \
	do {                                                                                                           \
		va_list args_;                                                                                         \
		va_start(args_, format);                                                                               \
		if (vsnprintf(path, sizeof(path), format, args_) >= (int)sizeof(path))                                 \
			path[0] = '\0';                                                                                \
		va_end(args_);                                                                                         \
	} while (0)

/* The size of a file in /sys says nothing: it is read to its end. */
static bool read_file(struct buf *text, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	buf_clear(text);
	return fd >= 0 && buf_read_fd(text, fd) == 0 && text->len > 0;
}

bool sysfs_text(struct buf *ret_text, const char *format, ...)
{
	char path[PATH_ROOM];

	PATH_OF(path, format);
	return read_file(ret_text, path);
}

bool sysfs_line(struct buf *ret_line, const char *format, ...)
{
	char path[PATH_ROOM];

	PATH_OF(path, format);
	if (!read_file(ret_line, path))
		return false;
	buf_truncate(ret_line, strcspn(buf_text(ret_line), "\n"));
	return ret_line->len > 0;
}

uint64_t sysfs_number(const char *format, ...)
{
	_cleanup_buf_ struct buf line = BUF_INIT(4096);
	char path[PATH_ROOM];
	uint64_t value;

	PATH_OF(path, format);
	if (!read_file(&line, path))
		return UINT64_MAX;
	buf_truncate(&line, strcspn(buf_text(&line), "\n"));
	return parse_u64(buf_text(&line), 0, UINT64_MAX - 1, &value) == 0 ? value : UINT64_MAX;
}

bool sysfs_exists(const char *format, ...)
{
	char path[PATH_ROOM];

	PATH_OF(path, format);
	return path[0] && access(path, F_OK) == 0;
}

bool sysfs_link(struct buf *ret_name, const char *format, ...)
{
	char path[PATH_ROOM], target[PATH_ROOM];
	const char *slash;
	ssize_t n;

	PATH_OF(path, format);
	buf_clear(ret_name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	buf_add_text(ret_name, slash ? slash + 1 : target);
	return ret_name->len > 0;
}

/* rx-2 before rx-10. */
static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void sysfs_names_read(struct sysfs_names *names, const char *format, ...)
{
	char path[PATH_ROOM];
	struct dirent *entry;
	DIR *dir;

	PATH_OF(path, format);
	dir = opendir(path);
	if (!dir)
		return;
	while (names->items.count < NAMES_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			vec_push(&names->items, xstrdup(entry->d_name));
	(void)closedir(dir);
	vec_sort(&names->items, compare_names);
}

void sysfs_names_done(struct sysfs_names *names)
{
	vec_each(&names->items, name)
		free(*name);
	vec_done(&names->items);
}
