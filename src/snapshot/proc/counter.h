/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's SNMP counters, with nstat's names: type "counter". */
#pragma once

#include "snapshot/core/snapshot.h"

struct counter_record {
	uint32_t netns;
	const char *counter;
	uint64_t value;
	bool gauge; /* may decrease: gauge or setting */
};

extern const struct record_type counter_type;

/* /proc/net/snmp and netstat: a line of names and a line of values, each with the group in front. */
void counter_parse_pairs(struct snapshot *snapshot, const char *text);
/* /proc/net/snmp6 and xfrm_stat: one name and value per line. */
void counter_parse_lines(struct snapshot *snapshot, const char *text);
/* /proc/net/stat/NAME: names, then one line of hexadecimal values per CPU; summed. */
void counter_parse_columns(struct snapshot *snapshot, const char *group, const char *text);
/* Value of the last counter of that name in a namespace; UINT64_MAX: not found. */
uint64_t counter_find(const struct snapshot *snapshot, uint32_t netns, const char *name);
