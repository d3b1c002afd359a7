/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that processes have mapped: finds every copy of a library in use, also in containers and deleted ones. */
#pragma once

#include "base/macros.h"

/*
 * Calls fn once for each different file of which the question is answered with yes, until one call returns a negative
 * errno. The path leads to the very file, whatever has happened to its name: /proc/PID/map_files/...
 */
int library_each(bool (*is_wanted)(const char *name), int (*fn)(const char *path, void *context),
		 void *context) _must_check_;

/* One line of /proc/PID/maps, split in place; false when it is not one, or of no file. */
struct library_line {
	const char *range;  /* "7f00-7f10" */
	const char *number; /* device and inode: the same file has the same everywhere */
	const char *name;   /* without folders, without " (deleted)" */
};
bool library_line_parse(char *line, struct library_line *ret_line);

/* A C library with a resolver: glibc's or musl's. */
bool library_is_libc(const char *name);
