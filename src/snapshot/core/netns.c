/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"
#include "kernel/capability.h"
#include "kernel/mounts.h"
#include "snapshot/core/netns.h"

#define NETNS_MAX 4096

static const struct field netns_fields[] = {
	FIELD(struct netns_record, netns, ID, "inode number of the network namespace", .zero_is_unknown = true),
	FIELD(struct netns_record, name, TEXT, "name in /run/netns"),
	FIELD(struct netns_record, pid, ID, "a process in the namespace", .zero_is_unknown = true),
	FIELD(struct netns_record, container_of, ID, "namespace of the host whose container it is",
	      .zero_is_unknown = true),
	FIELD(struct netns_record, empty, BOOL,
	      "no process, no socket, no interface up but loopback: only listed, not sampled"),
	FIELD(struct netns_record, port, TEXT, "interface of that host that leads to it"),
};
RECORD_TYPE(netns_type, "netns", struct netns_record, netns_fields, "a sampled network namespace");

void netns_list_done(struct netns_list *list)
{
	vec_each(&list->items, netns)
		closep(&netns->fd);
	vec_done(&list->items);
}

static struct netns *find_inum(struct netns_list *list, uint32_t inum)
{
	vec_each(&list->items, netns)
		if (netns->inum == inum)
			return netns;
	return NULL;
}

/* To open a device may have an effect, and a FIFO waits: nothing is opened but a namespace, whatever -N names. */
static int open_namespace(int dir, const char *path)
{
	_cleanup_close_ int found = openat(dir, path, O_PATH | O_CLOEXEC);
	struct statfs fs;
	char self[64];
	int fd;

	if (found < 0 || fstatfs(found, &fs) < 0)
		return -errno;
	if (fs.f_type != NSFS_MAGIC)
		return -EINVAL;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", found);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Opens and adds it unless already listed; *ret_netns (may be NULL) is the entry in either case. */
static int add_at(struct netns_list *list, int dir, const char *path, struct netns **ret_netns)
{
	_cleanup_close_ int fd = open_namespace(dir, path);
	struct netns *netns;
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	netns = find_inum(list, (uint32_t)st.st_ino);
	if (!netns) {
		if (list->items.count >= NETNS_MAX)
			return -E2BIG;
		netns = vec_add(&list->items);
		netns->inum = (uint32_t)st.st_ino;
		netns->fd = take_fd(&fd);
	}
	if (ret_netns)
		*ret_netns = netns;
	return 0;
}

/* Truncates a name that is too long. */
static void set_name(struct netns *netns, const char *name)
{
	memcpy(netns->name, name, strnlen(name, sizeof(netns->name) - 1));
}

static void add_named(struct netns_list *list)
{
	DIR *dir = opendir("/run/netns");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct netns *netns;

		/* Skip a file that is not a mounted namespace: creation or deletion in progress. */
		if (entry->d_name[0] == '.' || add_at(list, dirfd(dir), entry->d_name, &netns) < 0)
			continue;
		if (!netns->name[0])
			set_name(netns, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* stat() identifies a namespace without opening it: most processes share one. */
static void add_of_process(struct netns_list *list, const char *pid_text)
{
	struct netns *netns;
	struct stat st;
	char path[64];
	uint64_t pid;

	if (parse_u64(pid_text, 1, INT32_MAX, &pid) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/%u/ns/net", (unsigned)pid);
	if (stat(path, &st) < 0) {
		list->hidden += errno == EACCES || errno == EPERM;
		return;
	}
	netns = find_inum(list, (uint32_t)st.st_ino);
	if (!netns && add_at(list, AT_FDCWD, path, &netns) < 0)
		return;
	netns->processes++;
	if (netns->pid == 0)
		netns->pid = (uint32_t)pid;
}

static void add_of_processes(struct netns_list *list)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_of_process(list, entry->d_name);
	if (dir)
		closedir(dir);
}

char *netns_path(const char *spec)
{
	uint64_t pid;

	if (strchr(spec, '/'))
		return xstrdup(spec);
	return xasprintf(parse_u64(spec, 1, INT32_MAX, &pid) == 0 ? "/proc/%s/ns/net" : "/run/netns/%s", spec);
}

static int find_one(const char *spec, struct netns_list *list, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(512);
	_cleanup_free_ char *path = netns_path(spec);
	char refusal[160] = "";
	struct netns *netns;
	uint64_t pid = 0;
	int r;

	text_add_terminal(&shown, spec, strnlen(spec, 100));
	if (parse_u64(spec, 1, INT32_MAX, &pid) < 0)
		pid = 0;
	r = add_at(list, AT_FDCWD, path, &netns);
	if (r == -ENOENT)
		return why_set(why, r, pid ? "there is no process %s" : "there is no network namespace '%s'",
			       buf_text(&shown));
	if (pid && (r == -EACCES || r == -EPERM))
		capability_refusal(CAP_BIT(CAP_SYS_PTRACE), refusal, sizeof(refusal));
	if (r < 0)
		return why_set(why, r, "cannot open network namespace %s'%s': %s%s%s%s", pid ? "of process " : "",
			       buf_text(&shown), strerror(-r), *refusal ? " (process of another user: " : "", refusal,
			       *refusal ? ")" : "");
	netns->pid = (uint32_t)pid;
	if (!pid && !strchr(spec, '/'))
		set_name(netns, spec);
	return 0;
}

int netns_find(const char *spec, struct netns_list *ret_list, struct why *why)
{
	_cleanup_netns_ struct netns_list list = {};
	struct netns *own;
	int r;

	if (!spec || !*spec || strcmp(spec, "all") == 0) {
		r = add_at(&list, AT_FDCWD, "/proc/thread-self/ns/net", &own);
		/* Nothing that was asked for is missing, but /proc: not -ENOENT. */
		if (r < 0)
			return why_set(why, -EPERM, "cannot open /proc/thread-self/ns/net: %s%s", strerror(-r),
				       mounts_hint("/proc/thread-self/ns/net"));
		if (spec && *spec) {
			add_named(&list);
			add_of_processes(&list);
		}
	} else {
		r = find_one(spec, &list, why);
		if (r < 0)
			return r;
	}
	*ret_list = list;
	list = (struct netns_list){};
	return 0;
}

int netns_enter(const struct netns *netns, struct netns_guard *ret_guard, struct why *why)
{
	_cleanup_close_ int back = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	struct stat here;

	if (back < 0 || fstat(back, &here) < 0)
		return why_set(why, -errno, "cannot open /proc/thread-self/ns/net: %s", strerror(errno));
	ret_guard->fd = -1;
	if ((uint32_t)here.st_ino == netns->inum)
		return 0;
	if (setns(netns->fd, CLONE_NEWNET) < 0)
		return why_set(why, -errno, "cannot enter network namespace %s%s%u: %s%s", netns->name,
			       netns->name[0] ? " " : "", netns->inum, strerror(errno),
			       errno == EPERM    ? " (needs CAP_SYS_ADMIN)"
			       : errno == EINVAL ? " (not a network namespace)"
						 : "");
	ret_guard->fd = take_fd(&back);
	return 0;
}

void netns_leave(struct netns_guard *guard)
{
	if (guard->fd < 0)
		return;
	if (setns(guard->fd, CLONE_NEWNET) < 0)
		log_abort("cannot return to the original network namespace: %s", strerror(errno));
	(void)close(guard->fd);
	guard->fd = -1;
}

/* Under this name, not under another that it also has: everything shown has the first. */
static bool has_interface(const char *dev)
{
	char name[IF_NAMESIZE];
	unsigned ifindex = if_nametoindex(dev);

	return ifindex && if_indextoname(ifindex, name) && strcmp(name, dev) == 0;
}

int netns_check_interface(const struct netns_list *list, const char *dev, struct why *why)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256);
	bool hidden = list->hidden > 0;

	vec_each(&list->items, netns) {
		struct netns_guard guard;
		struct why ignored;
		bool found;

		if (netns_enter(netns, &guard, &ignored) < 0) {
			hidden = true;
			continue;
		}
		found = has_interface(dev);
		netns_leave(&guard);
		if (found)
			return 0;
	}
	if (hidden)
		return 0;
	text_add_terminal(&shown, dev, strnlen(dev, 40));
	return why_set(why, -ENOENT, "there is no interface '%s'", buf_text(&shown));
}
