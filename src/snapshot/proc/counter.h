/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's protocol counters (what nstat shows): type "counter", named as nstat names them. */
#pragma once

#include "snapshot/core/snapshot.h"

struct counter_record {
	uint32_t netns;
	const char *counter;
	uint64_t value;
	bool gauge; /* a state or a setting: it may go down */
};

extern const struct record_type counter_type;

/* /proc/net/snmp and netstat: a line of names and a line of values, each with the group in front. */
void counter_parse_pairs(struct snapshot *snapshot, const char *text);
/* /proc/net/snmp6 and xfrm_stat: a name and a value a line. */
void counter_parse_lines(struct snapshot *snapshot, const char *text);
/* /proc/net/stat/NAME: names, then a line of hexadecimal values for each processor; summed up. */
void counter_parse_columns(struct snapshot *snapshot, const char *group, const char *text);
/* The last of that name in a namespace; UINT64_MAX when there is none. */
uint64_t counter_find(const struct snapshot *snapshot, uint32_t netns, const char *name);
