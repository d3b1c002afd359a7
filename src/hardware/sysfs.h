/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files of /sys and /proc, below a root that tests and collected trees replace. */
#pragma once

#include "base/buf.h"
#include "base/vec.h"

/* One line of a file, without its end; false: it cannot be read, or is empty. */
bool sysfs_line(struct buf *ret_line, const char *format, ...) _printf_(2, 3);
/* The whole file, up to the cap of the buffer. */
bool sysfs_text(struct buf *ret_text, const char *format, ...) _printf_(2, 3);
/* A number in decimal, or hexadecimal with 0x; UINT64_MAX: unknown. */
uint64_t sysfs_number(const char *format, ...) _printf_(1, 2);
bool sysfs_exists(const char *format, ...) _printf_(1, 2);
/* The last part of a symbolic link's target. */
bool sysfs_link(struct buf *ret_name, const char *format, ...) _printf_(2, 3);

/* Names in a directory, sorted: by the number that they end with where they have one. */
struct sysfs_names {
	VEC(char *) items;
};
void sysfs_names_read(struct sysfs_names *names, const char *format, ...) _printf_(2, 3);
void sysfs_names_done(struct sysfs_names *names);
#define _cleanup_names_ _cleanup_(sysfs_names_done)
