/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routing tables: type "route"; route lookups for remote addresses in use: type "destination". */
#pragma once

#include "snapshot/core/nl.h"

struct route_record {
	uint32_t netns;
	uint8_t family;
	struct addr dst; /* family unknown: the default route */
	uint8_t prefix;  /* in bits of the address family */
	uint8_t route_type;
	struct addr gateway;
	uint32_t ifindex;
	char dev[16];
	struct addr prefsrc;
	uint32_t metric;
	uint32_t table;
	uint8_t protocol;
	uint8_t scope;
	uint32_t route_mtu;
	uint32_t nexthops; /* of a multipath route; the record shows the first */
};

struct destination_record {
	uint32_t netns;
	struct addr raddr;
	struct addr laddr; /* source address, if the sockets have one */
	uint32_t sockets;  /* that use it */
	uint16_t error;    /* errno of the lookup; 0: a route exists */
	uint8_t route_type;
	struct addr gateway;
	uint32_t ifindex;
	char dev[16];
	struct addr prefsrc;
	uint32_t table;
	uint32_t path_mtu;   /* learnt or set on the route */
	uint64_t expires_ns; /* of a learnt path MTU */
};

extern const struct record_type route_type;
extern const struct record_type destination_type;
extern struct enum_names route_kind_names;

nl_parse_fn route_parse_message;
/* context: the destination of the lookup. */
nl_parse_fn destination_parse_message;
