/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files embedded in the program by the build (see the Makefile): BPF objects, rules, pages. */
#pragma once

#include "base/macros.h"

struct embedded_file {
	const char *name;
	const unsigned char *begin;
	const unsigned char *end;
};

REGISTRY(embedded_file, struct embedded_file);

/* By exact name, or NULL. */
const struct embedded_file *embed_find(const char *name);

struct buf;
/* What is in a file that was compressed by gzip. -ENOENT: there is none of that name, -EBADMSG. */
int embed_unpack(const char *name, struct buf *ret_bytes) _must_check_;
