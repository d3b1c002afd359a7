/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "snapshot/proc/cgroup_path.h"
#include "tool/core/cgroups.h"

/* Handle type of a cgroup id for open_by_handle_at(). */
#define FILEID_KERNFS_ 0xfe

static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

/* Mount point of the unified hierarchy; NULL if not mounted in a usual place. */
static const char *unified_mount(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		struct statfs fs;

		if (statfs(mounts[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return mounts[i];
	}
	return NULL;
}

void cgroups_done(struct cgroups *cgroups)
{
	const void *key;
	void *value;
	size_t at = 0;

	while (map_next(&cgroups->known, &at, &key, &value)) {
		struct cgroup_known *known = value;

		free(known->path);
		free(known->container);
	}
	map_done(&cgroups->known);
	closep(&cgroups->mount_fd);
}

static void set_path(struct cgroup_known *known, const char *path)
{
	struct cgroup_names names;

	known->path = xstrdup(*path ? path : "/");
	cgroup_path_names(known->path, &names);
	if (names.container[0])
		known->container = xstrdup(names.container);
}

/* -EPERM without CAP_DAC_READ_SEARCH. */
static int look_up(int mount_fd, uint64_t id, struct cgroup_known *known)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + sizeof(id)];
	} by = {.handle = {.handle_bytes = sizeof(id), .handle_type = FILEID_KERNFS_}};
	const char *mount = unified_mount();
	_cleanup_close_ int fd = -1;
	char link[64], path[4096];
	ssize_t n;

	memcpy(by.room + offsetof(struct file_handle, f_handle), &id, sizeof(id));
	fd = open_by_handle_at(mount_fd, &by.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	if (!mount || strncmp(path, mount, strlen(mount)) != 0)
		return -ENOENT;
	set_path(known, path + strlen(mount));
	return 0;
}

/* The directory below this one whose inode number is the id; true: found. */
static bool search(int parent_fd, const char *name, struct buf *path, uint64_t id)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;

	if (fd >= 0 && !directory)
		(void)close(fd);
	for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
		size_t len = path->len;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		buf_add_format(path, "/%s", entry->d_name);
		found = entry->d_ino == id || search(dirfd(directory), entry->d_name, path, id);
		if (!found)
			buf_truncate(path, len);
	}
	if (directory)
		(void)closedir(directory);
	return found;
}

static void search_all(int mount_fd, uint64_t id, struct cgroup_known *known)
{
	_cleanup_buf_ struct buf path = BUF_INIT(4096);
	struct stat root;

	if ((fstat(mount_fd, &root) == 0 && root.st_ino == id) || search(mount_fd, ".", &path, id))
		set_path(known, buf_text(&path));
}

const struct cgroup_known *cgroups_find(struct cgroups *cgroups, uint64_t id)
{
	struct cgroup_known *known;
	bool is_new;

	if (id == 0)
		return NULL;
	if (cgroups->mount_fd == -1) {
		const char *mount = unified_mount();

		cgroups->mount_fd = mount ? open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -2;
		if (cgroups->mount_fd < 0)
			cgroups->mount_fd = -2;
	}
	known = map_put(&cgroups->known, &id, &is_new);
	if (!known)
		return NULL;
	if (is_new && cgroups->mount_fd >= 0 && look_up(cgroups->mount_fd, id, known) == -EPERM)
		search_all(cgroups->mount_fd, id, known);
	return known->path ? known : NULL;
}

int cgroups_find_directory(const char *path, char **ret_directory, struct why *why)
{
	const char *mount = unified_mount();
	_cleanup_free_ char *full = NULL;
	struct stat st;

	if (!mount)
		return why_set(why, -ENOENT, "-C: the unified cgroup hierarchy (cgroup2) is not mounted");
	full = strncmp(path, mount, strlen(mount)) == 0 ? xstrdup(path)
							: xasprintf("%s%s%s", mount, path[0] == '/' ? "" : "/", path);
	if (stat(full, &st) < 0 || !S_ISDIR(st.st_mode))
		return why_set(why, -ENOENT, "-C: there is no cgroup %s", full);
	*ret_directory = take_ptr(full);
	return 0;
}

/* cgroup v1: one hierarchy per controller, mounted side by side. */
static bool is_in_other_hierarchy(const char *path)
{
	DIR *directory = opendir("/sys/fs/cgroup");
	bool found = false;

	if (!directory)
		return false;
	for (struct dirent *entry; !found && (entry = readdir(directory));) {
		_cleanup_free_ char *full = NULL;
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		full = xasprintf("/sys/fs/cgroup/%s/%s", entry->d_name, path);
		found = stat(full, &st) == 0 && S_ISDIR(st.st_mode);
	}
	(void)closedir(directory);
	return found;
}

int cgroups_check(const char *path, struct why *why)
{
	_cleanup_free_ char *directory = NULL;

	return is_in_other_hierarchy(path) ? 0 : cgroups_find_directory(path, &directory, why);
}
