/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conntrack table use and drops: type "conntrack", one record per namespace. */
#pragma once

#include "snapshot/core/snapshot.h"

struct conntrack_record {
	uint32_t netns;
	uint64_t entries;
	uint64_t entries_max;
	uint64_t buckets;
	uint64_t found;
	uint64_t invalid;
	uint64_t insert_count;
	uint64_t insert_failed;
	uint64_t dropped;
	uint64_t early_drop;
	uint64_t icmp_error;
	uint64_t search_restart;
	uint64_t clash_resolve;
	uint64_t chain_too_long;
};

extern const struct record_type conntrack_type;

/* /proc/net/stat/nf_conntrack: column names, then one line per CPU. */
void conntrack_parse(struct conntrack_record *conntrack, const char *text);
