/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small files written in one step: pages, completions, state kept between runs. */
#pragma once

#include "base/buf.h"
#include "base/why.h"

/* dir/name; replaces an existing file. */
int files_write(const char *dir, const char *name, const struct buf *content, struct why *why) _must_check_;
/* Creates the directory and missing parents. */
int files_make_dirs(const char *path, struct why *why) _must_check_;
