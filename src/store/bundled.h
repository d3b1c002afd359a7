/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings embedded in the program; `-f demo:NAME` reads them. */
#pragma once

#include "base/buf.h"

#define BUNDLED_PREFIX "demo:"

struct bundled {
	const char *name;
	const char *story; /* one sentence about the fault */
};

/* Ends with an entry without a name. */
extern const struct bundled bundled_list[];

/* NULL when there is none of that name. */
const struct bundled *bundled_find(const char *name);
/* The uncompressed file. */
int bundled_unpack(const struct bundled *bundled, struct buf *ret_bytes) _must_check_;
