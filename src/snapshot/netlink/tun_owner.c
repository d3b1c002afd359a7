/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/parse.h"
#include "snapshot/netlink/tun_owner.h"

#define DEVICE      "/dev/net/tun"
#define KEPT_MAX_NS (5 * NSEC_PER_SEC)
/* All namespaces of one sample share a scan. */
#define FRESH_MAX_NS (NSEC_PER_SEC / 10)
#define OWNERS_MAX   4096

static void add(struct tun_owners *owners, uint32_t pid, uint32_t fd)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	struct tun_owner owner = {.pid = pid, .fd = fd};
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%u", pid, fd);
	/* No "iff:" line: no device attached yet. */
	if (owners->items.count >= OWNERS_MAX || buf_read_file(&text, path) < 0 ||
	    !tunnel_parse_fdinfo(buf_text(&text), owner.dev, sizeof(owner.dev)))
		return;
	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	if (stat(path, &st) == 0)
		owner.netns = (uint32_t)st.st_ino;
	vec_push(&owners->items, owner);
}

static void scan_process(struct tun_owners *owners, uint32_t pid)
{
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		char link[sizeof(DEVICE) + 1];
		uint64_t fd;

		if (readlinkat(dirfd(dir), entry->d_name, link, sizeof(link)) == (ssize_t)sizeof(DEVICE) - 1 &&
		    memcmp(link, DEVICE, sizeof(DEVICE) - 1) == 0 && parse_u64(entry->d_name, 0, INT32_MAX, &fd) == 0)
			add(owners, pid, (uint32_t)fd);
	}
	if (dir)
		closedir(dir);
}

static void scan(struct tun_owners *owners)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	owners->items.count = 0;
	while (proc && (entry = readdir(proc))) {
		uint64_t pid;

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    parse_u64(entry->d_name, 1, INT32_MAX, &pid) == 0)
			scan_process(owners, (uint32_t)pid);
	}
	if (proc)
		closedir(proc);
	owners->scanned_ns = clock_monotonic_ns();
}

void tun_owner_find(struct tun_owners *owners, bool repeated, struct tunnel_record *tunnel)
{
	uint64_t age = clock_monotonic_ns() - owners->scanned_ns;
	const struct tun_owner *best = NULL;

	if (owners->scanned_ns == 0 || age > (repeated ? KEPT_MAX_NS : FRESH_MAX_NS))
		scan(owners);
	/* Several namespaces may have a device of this name: prefer a process in this one. */
	vec_each(&owners->items, owner)
		if (strcmp(owner->dev, tunnel->dev) == 0 &&
		    (!best || (best->netns != tunnel->netns && owner->netns == tunnel->netns)))
			best = owner;
	if (best) {
		tunnel->pid = best->pid;
		tunnel->fd = best->fd;
	}
}

void tun_owners_done(struct tun_owners *owners)
{
	vec_done(&owners->items);
}
