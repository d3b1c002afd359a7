/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorders (nest record, nest agent) that run on this host. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"

/* Calls back for each; a negative result ends it and is returned, as is an error of /proc. */
int recorders_each(int (*found)(uint64_t pid, void *context), void *context) _must_check_;
bool recorders_has(uint64_t pid);
/*
 * The file that it writes, to be freed; NULL if there is none that may be trusted: recorder and file must belong to
 * root or to this user, and nobody else may write the file.
 */
char *recorders_file(uint64_t pid);
/* That of the first one that has one; NULL: there is none. */
char *recorders_find(void);
