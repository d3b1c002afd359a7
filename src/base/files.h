/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files that are written at once: pages, completions, what is kept from one run to the next. */
#pragma once

#include "base/buf.h"
#include "base/why.h"

/* dir/name; what was there is replaced. */
int files_write(const char *dir, const char *name, const struct buf *content, struct why *why) _must_check_;
/* The directory, and those above it, where they are missing. */
int files_make_dirs(const char *path, struct why *why) _must_check_;
