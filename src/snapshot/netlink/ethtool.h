/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Driver settings and statistics (ethtool, and -i -g -l -c -a -k -S -x -T): type "link_detail", only on request. */
#pragma once

#include "snapshot/core/snapshot.h"

enum link_part {
	LINK_PART_DRIVER = 1,
	LINK_PART_RING,
	LINK_PART_CHANNEL,
	LINK_PART_COALESCE,
	LINK_PART_PAUSE,
	LINK_PART_OFFLOAD,
	LINK_PART_STATISTIC,
	LINK_PART_LINK,
	LINK_PART_RSS,
	LINK_PART_TIMESTAMP,
};

struct link_detail_record {
	uint32_t netns;
	char dev[16];
	uint8_t part;
	const char *name;
	uint64_t value;
	uint64_t max;
	const char *text;
	uint8_t fixed; /* offload that cannot be changed */
};

extern const struct record_type link_detail_type;
