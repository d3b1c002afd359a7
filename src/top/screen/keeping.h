/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last minutes of the host in a temporary recording, from which one key makes a lasting one. */
#pragma once

#include "base/why.h"
#include "store/store.h"

struct keeping {
	char *dir; /* of its own, for this user alone; NULL: nothing is kept */
	char *file;
};

int keeping_open(struct keeping *keeping, struct why *why) _must_check_;
/* What is older goes. */
int keeping_trim(struct store *store, uint64_t age_ns) _must_check_;
/* A copy, in a file that must not exist. */
int keeping_copy(const struct keeping *keeping, struct store *store, const char *path, struct why *why) _must_check_;
/* Removes the temporary file. */
void keeping_close(struct keeping *keeping);
