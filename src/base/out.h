/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where output goes. Writers append whole lines to `pending`; out_end_line passes them on when enough has gathered, and
 * out_flush at the end of a batch (the loop's idle moment), so a reader behind a pipe always sees whole lines, none of
 * them late, without a system call for each.
 */
#pragma once

#include "base/buf.h"

struct out {
	int fd;
	bool owns_fd;
	bool is_terminal;
	bool color;      /* escape sequences are welcome */
	bool utf8;       /* so are characters beyond ASCII */
	bool movable;    /* the cursor can be moved: what is shown can be drawn again in its place */
	unsigned width;  /* columns of the terminal; 0 = as wide as it takes */
	unsigned height; /* its lines; 0 = unknown */
	bool wrote;      /* something has gone out already */
	bool kept;       /* lines stay in `pending` until the caller takes them */
	bool stale;      /* the file still has its old content */
	char *made;      /* path of a file that did not exist before; else NULL */
	int error;       /* the first that happened; sticky */
	struct buf pending;
};

/* Looks at the descriptor, NO_COLOR, TERM, COLUMNS and the locale. */
void out_init(struct out *out, int fd);
/* "-" or NULL is standard output. A file keeps its content until the first write, or until out_done. */
int out_open(struct out *out, const char *path) _must_check_;
void out_end_line(struct out *out);
/* Whole lines that were written elsewhere; the text is empty afterwards. */
void out_pass(struct out *out, struct buf *text);
/*
 * Text that begins in that column, folded at blanks where the terminal ends; further lines begin with the prefix. It is
 * escaped already, and the line is not ended.
 */
void out_add_folded(struct out *out, const char *text, size_t at, const char *prefix);
/*
 * A picture that takes the place of the one before: what is written from now on stays pending, and out_end_screen
 * shows as much of it as the terminal has lines. For movable terminals only.
 */
void out_begin_screen(struct out *out);
void out_end_screen(struct out *out);
/* Returns the sticky error: -EPIPE when the reader has gone, -ENOSPC and so on. */
int out_flush(struct out *out);
/* Flushes and closes; returns the sticky error. */
int out_done(struct out *out);
/* Closes without writing what is pending: an old file keeps its content, a new one is removed. */
void out_drop(struct out *out);

enum out_style { OUT_PLAIN, OUT_BOLD, OUT_DIM, OUT_RED, OUT_GREEN, OUT_YELLOW, OUT_CYAN };

/* Escape sequences, or nothing where colour is not welcome. */
const char *out_style_on(const struct out *out, enum out_style style);
const char *out_style_off(const struct out *out, enum out_style style);
