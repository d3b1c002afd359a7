/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output. Writers append whole lines to `pending`; out_end_line writes them when enough are buffered, and out_flush at
 * the end of a batch (when the loop is idle), so a reader of a pipe always gets whole lines, without delay and without
 * a system call for each.
 */
#pragma once

#include "base/buf.h"
#include "base/new_file.h"

struct out {
	int fd;
	bool owns_fd;
	bool is_terminal;
	bool color;           /* escape sequences are allowed */
	bool utf8;            /* non-ASCII characters are allowed */
	bool movable;         /* the cursor can be moved: output can be redrawn in place */
	unsigned width;       /* columns of the terminal; 0: no limit */
	unsigned height;      /* lines of the terminal; 0: unknown */
	bool wrote;           /* some output has been written */
	bool kept;            /* lines stay in `pending` until the caller takes them */
	struct new_file file; /* where owns_fd */
	int error;            /* the first error; sticky */
	struct buf pending;
};

/* Checks the descriptor, NO_COLOR, TERM, COLUMNS, NEST_WIDTH (columns of output that is no terminal) and the locale. */
void out_init(struct out *out, int fd);
/*
 * "-" or NULL is standard output. A file replaces the old one with out_done, or with out_publish if that comes first
 * (new_file.h, also for the errors).
 */
int out_open(struct out *out, const char *path) _must_check_;
/* From here on the file has its name, if something was written: for output that others follow. */
int out_publish(struct out *out);
void out_end_line(struct out *out);
/* Appends whole lines from another buffer, and empties it. */
void out_pass(struct out *out, struct buf *text);
/*
 * Adds text that starts in column `at`, wrapped at blanks to the terminal's width; further lines start with the prefix.
 * The text must be escaped; the last line is not ended.
 */
void out_add_folded(struct out *out, const char *text, size_t at, const char *prefix);
/*
 * A screen that replaces the previous one: output from now on stays pending, and out_end_screen shows as much of it as
 * the terminal has lines. Only for movable terminals.
 */
void out_begin_screen(struct out *out);
void out_end_screen(struct out *out);
/* Returns the sticky error: -EPIPE when the reader is gone, -ENOSPC and so on. */
int out_flush(struct out *out);
/* Flushes, publishes and closes; returns the sticky error, after which nothing is published. */
int out_done(struct out *out);
/* Closes without writing what is pending, and without publishing. */
void out_drop(struct out *out);

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_RED, OUT_GREEN, OUT_YELLOW, OUT_CYAN };

/* Escape sequences, or "" without colour. */
const char *out_style_on(const struct out *out, enum out_style style);
const char *out_style_off(const struct out *out, enum out_style style);
