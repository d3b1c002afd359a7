/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queueing disciplines and their classes: types "qdisc" and "class", the same fields for both. */
#pragma once

#include "snapshot/core/nl.h"

struct qdisc_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	char kind[16];
	char handle[12]; /* "8001:", of a class "1:10" */
	char parent[12]; /* the same, or "root", "ingress", "clsact" */
	uint64_t bytes;
	uint64_t packets;
	uint32_t qlen;
	uint32_t backlog_bytes;
	uint32_t drops;
	uint32_t overlimits;
	uint32_t requeues;
	uint64_t limit_packets;
	uint64_t limit_bytes;
	uint64_t rate; /* of a shaper, bytes per second */
	uint64_t ceil; /* what a class may borrow up to */
	uint64_t burst_bytes;
	uint64_t delay_ns; /* of netem */
	double loss;       /* of netem, a share */
};

extern const struct record_type qdisc_type;
extern const struct record_type class_type;

nl_parse_fn qdisc_parse_message;

/* What the options of a kind say about limits; pure. */
struct nlattr;
void qdisc_parse_options(struct qdisc_record *qdisc, const struct nlattr *options, bool is_class);
