/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/map.h"
#include "event/core/library.h"

#define MAPS_MAX  (4u << 20)
#define FILES_MAX 65536
#define DELETED   " (deleted)"

/* Terminates the word at the next blank and advances past it. */
static char *next_word(char **text)
{
	char *word = *text, *end = word + strcspn(word, " ");

	*text = end + strspn(end, " ");
	*end = '\0';
	return word;
}

bool library_line_parse(char *line, struct library_line *ret_line)
{
	char *range = next_word(&line), *number, *slash;
	size_t len;

	(void)next_word(&line); /* permissions */
	(void)next_word(&line); /* offset */
	/* "fd:01 1234": device and inode are one key. */
	number = line;
	line += strcspn(line, " ");
	line += strspn(line, " ");
	line += strcspn(line, " ");
	if (*line == '\0')
		return false;
	*line++ = '\0';
	line += strspn(line, " ");
	slash = strrchr(line, '/');
	if (!slash || !strchr(range, '-'))
		return false;
	len = strlen(slash);
	if (len > strlen(DELETED) && strcmp(slash + len - strlen(DELETED), DELETED) == 0)
		slash[len - strlen(DELETED)] = '\0';
	*ret_line = (struct library_line){.range = range, .number = number, .name = slash + 1};
	return true;
}

bool library_is_libc(const char *name)
{
	size_t len = strlen(name);

	if (strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc.musl-", 10) == 0)
		return true;
	/* libc-2.28.so: older glibc; ld-musl-x86_64.so.1: all of musl. */
	return (strncmp(name, "libc-", 5) == 0 && len > 8 && isdigit((unsigned char)name[5]) &&
		strcmp(name + len - 3, ".so") == 0) ||
	       strncmp(name, "ld-musl-", 8) == 0;
}

struct search {
	bool (*is_wanted)(const char *name);
	int (*fn)(const char *path, void *context);
	void *context;
	struct map seen;
};

static int search_process(struct search *search, const char *pid)
{
	_cleanup_buf_ struct buf maps = BUF_INIT(MAPS_MAX);
	char path[320], *rest, *line;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	/* The process may have exited, or is a kernel thread. */
	if (buf_read_file(&maps, path) < 0 || maps.len == 0)
		return 0;
	rest = maps.data;
	while ((line = strsep(&rest, "\n"))) {
		struct library_line found;
		bool is_new = false;
		int r;

		if (!library_line_parse(line, &found) || !search->is_wanted(found.name) ||
		    !map_put(&search->seen, found.number, &is_new) || !is_new)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/map_files/%s", pid, found.range);
		r = search->fn(path, search->context);
		if (r < 0)
			return r;
	}
	return 0;
}

int library_each(bool (*is_wanted)(const char *name), int (*fn)(const char *path, void *context), void *context)
{
	struct search search = {
		.is_wanted = is_wanted, .fn = fn, .context = context, .seen = MAP_INIT(0, 1, FILES_MAX)};
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			r = search_process(&search, entry->d_name);
	(void)closedir(proc);
	map_done(&search.seen);
	return r;
}
