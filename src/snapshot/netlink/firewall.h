/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nftables rules with their counters: type "firewall_rule"; chains with their policy: type "firewall_chain". */
#pragma once

#include "snapshot/core/nl.h"

enum rule_verdict {
	VERDICT_DROP = 1,
	VERDICT_ACCEPT,
	VERDICT_REJECT,
	VERDICT_JUMP,
	VERDICT_GOTO,
	VERDICT_RETURN,
	VERDICT_QUEUE,
};

struct firewall_rule_record {
	uint32_t netns;
	uint8_t nf_family;
	const char *nf_table;
	const char *chain;
	uint64_t handle;
	uint64_t packets;
	uint64_t bytes;
	uint8_t verdict;        /* 0: continue with the next rule */
	uint32_t queue, queues; /* first NFQUEUE and their number; unknown: none, or bypass */
	bool unheard;           /* no program listens on any of them */
	const char *comment;
};

struct firewall_chain_record {
	uint32_t netns;
	uint8_t nf_family;
	const char *nf_table;
	const char *chain;
	uint8_t hook; /* unknown: not a base chain, reached by jump */
	int32_t priority;
	uint8_t policy;
	uint64_t packets;
	uint64_t bytes;
};

extern const struct record_type firewall_rule_type;
extern const struct record_type firewall_chain_type;

nl_parse_fn firewall_rule_parse_message;
nl_parse_fn firewall_chain_parse_message;
/* Whether /proc/net/netfilter/nfnetlink_queue lists one of these queues: a program listens. */
bool firewall_is_heard(const char *text, uint32_t queue, uint32_t queues);
