/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "event/core/attach.h"
#include "kernel/mounts.h"
#include "kernel/proctext.h"

static int open_root(struct why *why)
{
	_cleanup_buf_ struct buf mounts = BUF_INIT(1 << 20);
	char path[2048];
	int fd;

	if (buf_read_file(&mounts, "/proc/self/mountinfo") < 0 ||
	    proctext_cgroup2_mount(buf_text(&mounts), path, sizeof(path)) < 0)
		return why_set(why, -ENOENT, "no cgroup2 file system is mounted%s",
			       mounts_hint("/proc/self/mountinfo"));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? why_set(why, -errno, "%s cannot be opened: %s", path, strerror(errno)) : fd;
}

int event_check_cgroups(struct why *why)
{
	_cleanup_close_ int fd = open_root(why);

	return min_of(fd, 0);
}

int event_attach_cgroups(struct kernel_object *object, const char *program, struct why *why)
{
	_cleanup_close_ int fd = open_root(why);

	if (fd < 0)
		return fd;
	return kernel_object_keep_link(object, program,
				       bpf_program__attach_cgroup(kernel_object_program(object, program), fd), why);
}

int event_attach_walk(struct kernel_object *object, const char *program, struct why *why)
{
	struct bpf_link *link = bpf_program__attach_iter(kernel_object_program(object, program), NULL);
	int link_fd = link ? bpf_link__fd(link) : -1;
	_cleanup_close_ int fd = -1;
	char nothing[64];
	int r = kernel_object_keep_link(object, program, link, why);

	if (r < 0)
		return r;
	fd = bpf_iter_create(link_fd);
	if (fd < 0)
		return why_set(why, -errno, "cannot iterate over the sockets of all processes: %s", strerror(errno));
	while (read(fd, nothing, sizeof(nothing)) > 0)
		;
	return 0;
}

int event_attach_later(struct kernel_object *object _unused_, const char *program _unused_, struct why *why _unused_)
{
	return 0;
}
