/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of CPUs as /sys and /proc write them. */
#pragma once

#include "base/buf.h"

#define CPU_LIST_MAX 8192

struct cpu_list {
	uint64_t bits[CPU_LIST_MAX / 64];
};

/* "0-3,8"; false and empty when it is none. */
bool cpu_list_parse(const char *text, struct cpu_list *ret_list);
/* "ff,ffffffff": a mask, the highest CPUs first. */
bool cpu_list_parse_mask(const char *text, struct cpu_list *ret_list);
unsigned cpu_list_count(const struct cpu_list *list);
bool cpu_list_has(const struct cpu_list *list, unsigned cpu);
void cpu_list_add(struct cpu_list *list, unsigned cpu);
/* Whether they have a CPU in common. */
bool cpu_list_meets(const struct cpu_list *a, const struct cpu_list *b);
/* "0-3,8" */
void cpu_list_format(const struct cpu_list *list, struct buf *text);
