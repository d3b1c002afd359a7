/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which firewall rule dropped a flow's packets: the one whose counter moves alike, or the only policy that drops. */
#pragma once

#include "base/map.h"
#include "snapshot/core/snapshot.h"

/* Windows, the present one included. */
#define DROP_RULE_KEEP 4

struct drop_rules {
	bool begun;
	bool rejects, drops; /* the rules of the last sample do, or a policy does */
	struct map rules;    /* name -> struct drop_rule */
	struct map policies; /* name of a chain whose policy drops -> its hook */
};

#define DROP_RULES_INIT                                                                                                \
	{                                                                                                              \
		.rules = {.value_size = sizeof(struct drop_rule), .cap = 20000},                                       \
		.policies = {.value_size = sizeof(uint8_t), .cap = 1000},                                              \
	}

struct drop_rule {
	uint64_t last;
	bool seen; /* in this sample */
	uint64_t moved[DROP_RULE_KEEP];
};

void drop_rules_sample(struct drop_rules *rules, const struct snapshot *snapshot);
void drop_rules_age(struct drop_rules *rules);
void drop_rules_done(struct drop_rules *rules);
/*
 * Writes its name, or "a firewall rule": packets of the flow, packets dropped by firewalls altogether, and the hook
 * that they passed (enum nf_inet_hooks).
 */
void drop_rules_name(const struct drop_rules *rules, uint64_t packets, uint64_t all, uint8_t hook, char *text,
		     size_t size);
