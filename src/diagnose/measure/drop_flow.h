/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drops of one flow in the last windows, from the running totals of the snapshot (probe/drop_tally.h). */
#pragma once

#include "diagnose/graph/window.h"
#include "diagnose/measure/drop_class.h"
#include "probe/drop_tally.h"

/* Windows, the present one included. */
#define DROP_FLOW_KEEP 4

struct drop_flow_key {
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint8_t proto, dir;
	uint8_t unused[2];
	uint64_t cookie; /* of packets without addresses */
};

struct drop_flow {
	struct track track;
	struct drop_flow_key key;
	uint64_t sample; /* to which now belongs */
	uint64_t now[DROP_CLASSES], base[DROP_CLASSES];
	uint64_t now_bytes, base_bytes;
	uint64_t moved[DROP_FLOW_KEEP][DROP_CLASSES];
	uint64_t moved_bytes;              /* in this window */
	uint64_t moved_ns[DROP_FLOW_KEEP]; /* the last of each window; 0: none */
	uint64_t first_ns, last_ns;
	uint64_t cookie;
	bool has_data;
	bool opens;   /* among them is a SYN of a client */
	bool is_open; /* among them is an ACK without a SYN: both ends have sent before, or a stray */
	char dev[16];
	char reason[32];
};

/* Adds a record of the snapshot to its flow. sample: number of the snapshot. */
void drop_flow_sample(struct window *window, struct map *flows, uint64_t sample, const struct drop_record *drop);
/* At the end of a window: what moved in it. Afterwards it becomes the past. */
void drop_flow_settle(struct drop_flow *flow);
void drop_flow_age(struct drop_flow *flow);
/* Packets of the last windows, of one class and of all. */
uint64_t drop_flow_class(const struct drop_flow *flow, enum drop_class class);
uint64_t drop_flow_sum(const struct drop_flow *flow);
/* Moment of the first drop of the last windows, as far as it is known. */
uint64_t drop_flow_from_ns(const struct window *window, const struct drop_flow *flow);
