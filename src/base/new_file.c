/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"

#define MODE 0600
/* More than any command reads. */
#define INPUTS_MAX 64

/* Open, so that no other file gets their inode numbers; O_PATH, so that locks on the file outlive the descriptor. */
static int inputs[INPUTS_MAX];
static size_t input_count;

/* --- inputs --- */

void new_file_note_input_path(const char *path)
{
	struct stat info;
	int fd = input_count < INPUTS_MAX ? open(path, O_PATH | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
		inputs[input_count++] = fd;
	else
		close(fd);
}

void new_file_note_input(int fd)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	new_file_note_input_path(self);
}

void new_file_forget_inputs(void)
{
	while (input_count > 0)
		close(inputs[--input_count]);
}

static bool is_input(const struct stat *file)
{
	struct stat input;

	for (size_t i = 0; i < input_count; i++)
		if (fstat(inputs[i], &input) == 0 && input.st_dev == file->st_dev && input.st_ino == file->st_ino)
			return true;
	return false;
}

/* --- names --- */

static char *dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? xasprintf("%.*s", slash == path ? 1 : (int)(slash - path), path) : xstrdup(".");
}

static char *fresh_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	uint64_t number = 0;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = (uint64_t)getpid();
	/* Long names leave room for the rest. */
	return xasprintf("%.*s.%.200s.%016llx", (int)(name - path), path, name, (unsigned long long)number);
}

static int open_fresh(struct new_file *file)
{
	_cleanup_free_ char *dir = dir_of(file->path);
	/* A program with file capabilities cannot use its own descriptors there, nor one without /proc. */
	bool nameable = access("/proc/self/fd", X_OK) == 0;
	int fd = nameable ? open(dir, O_TMPFILE | O_WRONLY | O_CLOEXEC, MODE) : -1;

	/* Not every file system has files without a name. */
	if (fd < 0 && (!nameable || (errno != EACCES && errno != EROFS && errno != ENOSPC))) {
		file->fresh = fresh_name(file->path);
		fd = open(file->fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
		if (fd < 0)
			free(take_ptr(file->fresh));
	}
	return fd;
}

static int name_it(struct new_file *file)
{
	char self[32];

	if (file->fresh)
		return 0;
	file->fresh = fresh_name(file->path);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (linkat(AT_FDCWD, self, AT_FDCWD, file->fresh, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	free(take_ptr(file->fresh));
	return -errno;
}

/* --- life --- */

/* The directory may be closed to us while the file is not. */
static int open_old(struct new_file *file)
{
	file->fd = open(file->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	file->published = file->stale = true;
	return file->fd < 0 ? -errno : 0;
}

bool new_file_is_descriptor(const char *path)
{
	char target[16] = "";

	if (readlink(path, target, sizeof(target) - 1) < 0)
		return false;
	return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0 || strncmp(target, "/dev/", 5) == 0 ||
	       strncmp(target, "/proc/", 6) == 0;
}

static int open_directly(struct new_file *file, bool stale)
{
	file->fd = open(file->path, O_WRONLY | O_CLOEXEC);
	file->published = true;
	file->stale = stale;
	return file->fd < 0 ? -errno : 0;
}

static int open_any(struct new_file *file)
{
	struct stat old;
	bool exists = stat(file->path, &old) == 0;

	if (exists && (!S_ISREG(old.st_mode) || new_file_is_descriptor(file->path)))
		return open_directly(file, S_ISREG(old.st_mode));
	if (exists && is_input(&old))
		return -ETXTBSY;
	if (exists && access(file->path, W_OK) < 0)
		return -errno;
	file->fd = open_fresh(file);
	if (file->fd >= 0 && exists && fchmod(file->fd, old.st_mode & 0777) < 0)
		return -errno;
	if (file->fd < 0 && exists && (errno == EACCES || errno == EROFS))
		return open_old(file);
	return file->fd < 0 ? -errno : 0;
}

int new_file_open(struct new_file *file, const char *path)
{
	int r;

	*file = (struct new_file){.fd = -1, .path = xstrdup(path)};
	r = *path ? open_any(file) : -ENOENT;
	if (r < 0)
		(void)new_file_done(file);
	return r;
}

int new_file_publish(struct new_file *file)
{
	struct stat old;
	int r;

	if (file->published)
		return 0;
	if (stat(file->path, &old) == 0 && is_input(&old))
		return -ETXTBSY;
	r = name_it(file);
	if (r == 0 && rename(file->fresh, file->path) < 0)
		r = -errno;
	if (r < 0)
		return r;
	file->published = true;
	return 0;
}

int new_file_done(struct new_file *file)
{
	int r = 0;

	if (file->fresh && !file->published)
		(void)unlink(file->fresh);
	if (file->fd >= 0 && close(file->fd) < 0)
		r = -errno;
	file->fd = -1;
	free(take_ptr(file->fresh));
	free(take_ptr(file->path));
	return r;
}

const char *new_file_error(int r)
{
	return r == -ETXTBSY ? "it is the input of this command" : strerror(-r);
}
