/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "event/core/attach.h"
#include "kernel/proctext.h"

int event_attach_cgroups(struct kernel_object *object, const char *program, struct why *why)
{
	_cleanup_buf_ struct buf mounts = BUF_INIT(1 << 20);
	_cleanup_close_ int fd = -1;
	char path[2048];

	if (buf_read_file(&mounts, "/proc/self/mountinfo") < 0 ||
	    proctext_cgroup2_mount(buf_text(&mounts), path, sizeof(path)) < 0)
		return why_set(why, -ENOENT, "no cgroup2 file system is mounted");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return why_set(why, -errno, "cannot open %s: %s", path, strerror(errno));
	return kernel_object_keep_link(object, program,
				       bpf_program__attach_cgroup(kernel_object_program(object, program), fd), why);
}
