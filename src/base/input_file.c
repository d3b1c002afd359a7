/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/new_file.h"

int input_file_open(const char *path)
{
	/* Without O_NONBLOCK, opening a FIFO waits. */
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat info;
	int opened;

	if (fd < 0 || fstat(fd, &info) < 0)
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EBADMSG;
	new_file_note_input(fd);
	opened = fd;
	fd = -1;
	return opened;
}

const char *input_file_error(int r)
{
	return r == -EBADMSG ? "not a regular file" : strerror(-r);
}
