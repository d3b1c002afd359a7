/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What path.rx and path.tx have in common on the program's side: names, and the record that both make. */
#pragma once

#include "record/field.h"

extern struct enum_names path_end_names;

#define PATH_FIELDS 18
extern const struct field path_fields[PATH_FIELDS];
/* What a packet tells when it is first seen. */
extern const char *const path_early[];

struct event_head;
/* Adds up what the kernel has told stage by stage. */
void path_complete(const struct event_head *head, void *data);
