/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/recorders.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/parse.h"
#include "run/agent_ask.h"

#define SUFFIX_OF_LOG "-wal" /* SQLite's write-ahead log stands beside the file and is open as well */

/* The process that samples for a recorder has the same command line (sampler.h). */
static bool is_helper(uint64_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(4096);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)pid);
	return buf_read_file(&text, path) == 0 && strncmp(buf_text(&text), "nest-", 5) == 0;
}

/* nest record or nest agent; with options before its name it is none of ours. */
bool recorders_has(uint64_t pid)
{
	_cleanup_buf_ struct buf text = BUF_INIT(1 << 20);
	const char *name, *word;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%llu/cmdline", (unsigned long long)pid);
	if (buf_read_file(&text, path) < 0 || text.len == 0)
		return false;
	word = text.data + strlen(text.data) + 1;
	name = strrchr(text.data, '/');
	name = name ? name + 1 : text.data;
	return strcmp(name, "nest") == 0 && word < text.data + text.len &&
	       (strcmp(word, "record") == 0 || strcmp(word, "agent") == 0) && !is_helper(pid);
}

int recorders_each(int (*found)(uint64_t pid, void *context), void *context)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!proc)
		return -errno;
	while (r >= 0 && (entry = readdir(proc))) {
		uint64_t pid;

		if (parse_decimal(entry->d_name, 1, INT32_MAX, &pid) == 0 && recorders_has(pid))
			r = found(pid, context);
	}
	(void)closedir(proc);
	return min_of(r, 0);
}

/* The recording whose log the descriptor is; NULL: it is another file, or not to be trusted. */
static char *file_behind(const char *link)
{
	struct stat open_file, log_file, file;
	char target[PATH_MAX], *end;
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	if (length <= (ssize_t)strlen(SUFFIX_OF_LOG))
		return NULL;
	target[length] = '\0';
	end = target + length - strlen(SUFFIX_OF_LOG);
	/* The name may mean another file in this mount namespace. */
	if (strcmp(end, SUFFIX_OF_LOG) != 0 || stat(link, &open_file) < 0 || stat(target, &log_file) < 0 ||
	    open_file.st_dev != log_file.st_dev || open_file.st_ino != log_file.st_ino)
		return NULL;
	*end = '\0';
	if (stat(target, &file) < 0 || !S_ISREG(file.st_mode) || !agent_ask_trusts(file.st_uid) ||
	    file.st_mode & (S_IWGRP | S_IWOTH))
		return NULL;
	return xstrdup(target);
}

static int find_file(uint64_t pid, void *context)
{
	char **file = context;

	if (!*file)
		*file = recorders_file(pid);
	return 0;
}

char *recorders_find(void)
{
	char *file = agent_ask_file();

	if (!file)
		(void)!recorders_each(find_file, &file);
	return file;
}

char *recorders_file(uint64_t pid)
{
	const struct dirent *entry;
	struct stat process;
	char *file = NULL;
	char path[64];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%llu/fd", (unsigned long long)pid);
	if (stat(path, &process) < 0 || !agent_ask_trusts(process.st_uid))
		return NULL;
	fds = opendir(path);
	while (fds && !file && (entry = readdir(fds))) {
		char link[sizeof(path) + sizeof(entry->d_name)];

		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		file = file_behind(link);
	}
	if (fds)
		(void)closedir(fds);
	return file;
}
