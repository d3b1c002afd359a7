/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings that are part of the program; `-f demo:NAME` reads them. */
#pragma once

#include "base/buf.h"

#define BUNDLED_PREFIX "demo:"

struct bundled {
	const char *name;
	const char *story; /* what was wrong */
};

/* The last one has no name. */
extern const struct bundled bundled_list[];

/* NULL when there is none of that name. */
const struct bundled *bundled_find(const char *name);
/* The file itself. */
int bundled_unpack(const struct bundled *bundled, struct buf *ret_bytes) _must_check_;
