/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that commands make for the file system: pages, completions. Both say on standard error what went wrong. */
#pragma once

#include "base/buf.h"

/* dir/name; what was there is replaced. */
int files_write(const char *dir, const char *name, const struct buf *content) _must_check_;
/* The directory, and those above it, where they are missing. */
int files_make_dirs(const char *path) _must_check_;
