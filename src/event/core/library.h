/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files mapped by processes: finds every copy of a library in use, also in containers and deleted ones. */
#pragma once

#include "base/macros.h"

/*
 * Calls fn once for each distinct file that is_wanted accepts, until a call returns a negative errno. The path is
 * /proc/PID/map_files/..., which works for renamed and deleted files.
 */
int library_each(bool (*is_wanted)(const char *name), int (*fn)(const char *path, void *context),
		 void *context) _must_check_;

/* A line of /proc/PID/maps, split in place; false if malformed or without a file. */
struct library_line {
	const char *range;  /* "7f00-7f10" */
	const char *number; /* device and inode: identify the file */
	const char *name;   /* base name, without " (deleted)" */
};
bool library_line_parse(char *line, struct library_line *ret_line);

/* A C library with a resolver: glibc's or musl's. */
bool library_is_libc(const char *name);
