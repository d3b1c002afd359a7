/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What changed between two samples: interfaces, neighbours, addresses and routes, from rtnetlink notifications. Type
 * "net_change", one record per change, in order. The first sample of a run only begins to listen.
 */
#pragma once

#include "base/map.h"
#include "snapshot/core/nl.h"

enum net_change_kind {
	NET_CHANGE_LINK_ADDED,
	NET_CHANGE_LINK_REMOVED,
	NET_CHANGE_LINK_UP,
	NET_CHANGE_LINK_DOWN,
	NET_CHANGE_CARRIER_UP,
	NET_CHANGE_CARRIER_DOWN,
	NET_CHANGE_MTU,
	NET_CHANGE_NEIGHBOUR_FAILED,
	NET_CHANGE_NEIGHBOUR_BACK,
	NET_CHANGE_ADDRESS_ADDED,
	NET_CHANGE_ADDRESS_REMOVED,
	NET_CHANGE_ROUTE_ADDED,
	NET_CHANGE_ROUTE_REMOVED,
};

struct net_change_record {
	uint32_t netns;
	uint64_t time_ns; /* of the sample that read it; it happened after the sample before */
	uint8_t change;
	uint32_t ifindex;
	char dev[16];
	struct addr addr; /* neighbour, address or destination */
	uint8_t prefix;
	uint32_t before, after; /* MTU */
};

extern const struct record_type net_change_type;

/* What is known of a namespace: the notifications say how it is, not how it was. */
struct net_changes {
	struct map links;      /* ifindex -> struct net_change_link */
	struct map neighbours; /* struct net_change_neighbour -> nothing: those that failed */
	bool is_dump;          /* what is parsed is no change yet */
};

void net_changes_init(struct net_changes *changes);
void net_changes_done(struct net_changes *changes);

/* context: struct net_changes. */
nl_parse_fn net_change_parse_message;
