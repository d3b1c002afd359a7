/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common to path.rx and path.tx in user space: names, and the record that both fill. */
#pragma once

#include "record/field.h"

extern struct enum_names path_end_names;

#define PATH_FIELDS 18
extern const struct field path_fields[PATH_FIELDS];
/* Fields known when a packet is first seen. */
extern const char *const path_early[];

struct event_head;
/* Sums up the stages reported by the kernel. */
void path_complete(const struct event_head *head, void *data);
