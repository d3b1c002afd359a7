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
	uint64_t rate; /* bytes per second */
	uint64_t ceil; /* rate up to which a class may borrow */
	uint64_t burst_bytes;
	uint64_t delay_ns; /* netem */
	double loss;       /* netem, as a share */
};

extern const struct record_type qdisc_type;
extern const struct record_type class_type;

nl_parse_fn qdisc_parse_message;

/* Limits and rates from the options of a kind; pure. */
struct nlattr;
void qdisc_parse_options(struct qdisc_record *qdisc, const struct nlattr *options, bool is_class);
