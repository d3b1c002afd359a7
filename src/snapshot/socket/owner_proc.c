/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Owners of sockets from /proc. Processes and descriptors may vanish during the scan: that is not an error.
 *
 * fstatat() identifies a descriptor faster than readlink() or statx(). AT_STATX_DONT_SYNC, which fstatat() also
 * accepts, avoids requests to a file server that may hang. Descriptor tables are mostly dense, so numbers are tried in
 * order instead of reading the directory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/parse.h"
#include "snapshot/socket/owner.h"

/* After this many unused numbers in a row, reads the directory, whose first two entries are "." and "..". */
#define HOLE_MAX    16
#define DIR_ENTRIES 2

#define LOOK_FLAGS  (AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT)

/* /proc/PID/fd of a process. */
struct table {
	int dir;
	dev_t sockets;
	struct owner_record owner;
	struct owner_list *list;
};

/* 1: exists, 0: does not; -EACCES: the directory is readable but its entries are not. */
static int check_fd(struct table *table, const char *name, uint32_t fd)
{
	struct stat stat;

	if (fstatat(table->dir, name, &stat, LOOK_FLAGS) < 0)
		return errno == EACCES ? -EACCES : 0;
	if (!S_ISSOCK(stat.st_mode) || stat.st_dev != table->sockets || table->list->count >= OWNER_LIST_MAX)
		return 1;
	table->owner.inode = (uint32_t)stat.st_ino;
	table->owner.fd = fd;
	vec_push(table->list, table->owner);
	return 1;
}

/* Starting at descriptor `from`. */
static int scan_by_name(struct table *table, uint32_t from)
{
	_cleanup_close_ int fd = dup(table->dir);
	struct dirent *entry;
	DIR *dir;
	int r = 0;

	if (fd < 0 || lseek(fd, from ? from + DIR_ENTRIES : 0, SEEK_SET) < 0)
		return 0;
	dir = fdopendir(fd);
	if (!dir)
		return 0;
	(void)take_fd(&fd);
	while (r >= 0 && (entry = readdir(dir))) {
		uint64_t number;

		if (entry->d_name[0] != '.' && parse_u64(entry->d_name, 0, INT32_MAX, &number) == 0)
			r = check_fd(table, entry->d_name, (uint32_t)number);
	}
	closedir(dir);
	return r;
}

/* Increments a decimal number in place; there is room before its first digit. */
static char *count_up(char *first, char *last)
{
	for (char *digit = last; digit >= first; digit--) {
		if (*digit < '9') {
			(*digit)++;
			return first;
		}
		*digit = '0';
	}
	*--first = '1';
	return first;
}

/* Up to LEFT descriptors. */
static int scan_by_number(struct table *table, uint64_t left)
{
	char text[] = "          0", *last = text + sizeof(text) - 2, *name = last;
	uint32_t hole = 0;

	for (uint32_t fd = 0; left > 0; fd++) {
		int r;

		if (hole == HOLE_MAX)
			return scan_by_name(table, fd);
		r = check_fd(table, name, fd);
		if (r < 0)
			return r;
		left -= (uint64_t)r;
		hole = r ? 0 : hole + 1;
		name = count_up(name, last);
	}
	return 0;
}

/* False: not readable. */
static bool scan_process(struct table *table, uint32_t pid)
{
	char path[40];
	struct stat stat;
	int r;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	table->owner.pid = pid;
	table->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (table->dir < 0)
		return errno != EACCES && errno != EPERM;
	/* Linux 6.2 and later report the number of descriptors as the size. */
	r = fstat(table->dir, &stat) == 0 && stat.st_size > 0 ? scan_by_number(table, (uint64_t)stat.st_size)
							      : scan_by_name(table, 0);
	(void)close(table->dir);
	return r >= 0;
}

static int find_sockets(dev_t *ret_device)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct stat stat;
	char path[40];

	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstatat(AT_FDCWD, path, &stat, LOOK_FLAGS) < 0)
		return -errno;
	*ret_device = stat.st_dev;
	return 0;
}

int owner_walk_begin(struct owner_walk *walk, struct why *why)
{
	struct dirent *entry;
	DIR *proc;
	int r;

	r = find_sockets(&walk->sockets);
	if (r < 0)
		return why_set(why, r, "cannot stat a socket: %s", strerror(-r));
	walk->pids.count = 0;
	walk->next = 0;
	walk->hidden = 0;
	proc = opendir("/proc");
	if (!proc)
		return why_set(why, -errno, "cannot read /proc: %s", strerror(errno));
	while ((entry = readdir(proc))) {
		uint64_t pid;

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    parse_u64(entry->d_name, 1, INT32_MAX, &pid) == 0)
			vec_push(&walk->pids, (uint32_t)pid);
	}
	closedir(proc);
	return 0;
}

void owner_scan_proc(struct owner_walk *walk, struct owner_list *list)
{
	struct table table = {.sockets = walk->sockets, .list = list};

	for (;;) {
		size_t next = __atomic_fetch_add(&walk->next, 1, __ATOMIC_RELAXED);

		if (next >= walk->pids.count)
			return;
		if (!scan_process(&table, walk->pids.items[next]))
			__atomic_fetch_add(&walk->hidden, 1, __ATOMIC_RELAXED);
	}
}

static bool is_hidden(uint32_t pid)
{
	char path[40];
	struct dirent *entry;
	struct stat stat;
	bool hidden = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	if (!dir)
		return errno == EACCES || errno == EPERM;
	do
		entry = readdir(dir);
	while (entry && entry->d_name[0] == '.');
	if (entry)
		hidden = fstatat(dirfd(dir), entry->d_name, &stat, LOOK_FLAGS) < 0 && errno == EACCES;
	closedir(dir);
	return hidden;
}

uint64_t owner_count_hidden(void)
{
	struct owner_walk walk = {};
	uint64_t count = 0;
	struct why why;

	if (owner_walk_begin(&walk, &why) == 0)
		vec_each(&walk.pids, pid)
			count += is_hidden(*pid);
	vec_done(&walk.pids);
	return count;
}
