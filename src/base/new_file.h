/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that replaces another one only when it is whole. It is written without a name, in the directory of the file it
 * will be, and takes the name when it is published. Whatever fails before leaves the old file as it was, and a link
 * that somebody put in its place is replaced, not followed. Files that this process reads are never replaced: -o onto
 * its own input is refused. Pipes, terminals and devices are written directly.
 *
 *	r = new_file_open(&file, path);
 *	write(file.fd, ...);
 *	r = new_file_publish(&file);    at the end; or early, where a reader may follow what is written
 *	new_file_done(&file);           without publishing: nothing happened
 */
#pragma once

#include <sys/stat.h>

#include "base/macros.h"

struct new_file {
	int fd;
	char *path;
	char *fresh;    /* its name until it is published; NULL: it has none, or none of its own */
	bool published; /* it is the file, or writes directly to it */
	bool stale;     /* writes to an old file that could not be replaced: truncate before writing */
};

/* -ETXTBSY: the file is an input of this process. */
int new_file_open(struct new_file *file, const char *path) _must_check_;
int new_file_publish(struct new_file *file) _must_check_;
/* Closes it; an unpublished one is gone. close may be the first to report a full disk. */
int new_file_done(struct new_file *file);

/* For readers: this file is input. */
void new_file_note_input(int fd);
void new_file_note_input_path(const char *path);
/* For tests, which read what they wrote and write it again. */
void new_file_forget_inputs(void);

/* /dev/stdout, /proc/self/fd/3: another name of a descriptor, not a place for a file. */
bool new_file_is_descriptor(const char *path);
/* strerror for these functions. */
const char *new_file_error(int r);
