/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP connections that pass this host, each direction by itself, with running totals since the first sample of a
 * repeated request: type "passing". Only of namespaces that forward, and only what left: a segment that this host drops
 * before the queue of the outgoing interface is in the table "drop". The record without addresses counts forwarded
 * packets of no flow: other protocols, and flows beyond the room for them. Empty without BPF, and once more than
 * 100,000 packets per second pass.
 */
#pragma once

#include "base/addr.h"
#include "record/field.h"

struct passing_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	struct addr source, target;
	uint16_t sport, dport;
	uint64_t packets, segments, bytes;
	uint64_t repeats, repeat_bytes, fills, fill_bytes;
	uint64_t reordered, syns;
	uint64_t idle_ns;
};

extern const struct record_type passing_type;
