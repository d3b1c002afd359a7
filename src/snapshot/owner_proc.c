/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Owners of sockets out of /proc. Processes and descriptors vanish while one looks: that is normal, not an error. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/parse.h"
#include "snapshot/owner.h"

#define PREFIX "socket:["

bool owner_parse_link(const char *link, size_t len, uint32_t *ret_inode)
{
	size_t prefix = sizeof(PREFIX) - 1;
	char digits[24];
	uint64_t inode;

	if (len < prefix + 2 || memcmp(link, PREFIX, prefix) != 0 || link[len - 1] != ']')
		return false;
	len -= prefix + 1;
	if (len >= sizeof(digits))
		return false;
	memcpy(digits, link + prefix, len);
	digits[len] = '\0';
	if (parse_u64(digits, 1, UINT32_MAX, &inode) < 0)
		return false;
	*ret_inode = (uint32_t)inode;
	return true;
}

/* -EACCES when the directory may be read but not what is in it. */
static int look_at(DIR *dir, uint32_t pid, owner_found_fn *found, void *context)
{
	struct owner_record owner = {.pid = pid};
	struct dirent *entry;

	while ((entry = readdir(dir))) {
		char link[64];
		uint64_t fd;
		ssize_t n;

		if (entry->d_name[0] == '.')
			continue;
		n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link));
		if (n < 0 && errno == EACCES)
			return -EACCES;
		if (n <= 0 || !owner_parse_link(link, (size_t)n, &owner.inode) ||
		    parse_u64(entry->d_name, 0, INT32_MAX, &fd) < 0)
			continue;
		owner.fd = (uint32_t)fd;
		found(context, &owner);
	}
	return 0;
}

int owner_scan_proc(struct owner_share *share, owner_found_fn *found, void *context, struct why *why)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned turn = 0;

	share->hidden = 0;
	if (!proc)
		return why_set(why, -errno, "cannot read /proc: %s", strerror(errno));
	while ((entry = readdir(proc))) {
		char path[40];
		uint64_t pid;
		DIR *dir;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    parse_u64(entry->d_name, 1, INT32_MAX, &pid) < 0)
			continue;
		if (turn++ % share->parts != share->index)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/fd", (unsigned)pid);
		dir = opendir(path);
		if (!dir) {
			share->hidden += errno == EACCES || errno == EPERM;
			continue;
		}
		share->hidden += look_at(dir, (uint32_t)pid, found, context) < 0;
		closedir(dir);
	}
	closedir(proc);
	return 0;
}
