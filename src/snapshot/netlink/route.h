/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The routing tables: type "route"; and the route that packets to remote addresses in use take: type "destination". */
#pragma once

#include "snapshot/core/nl.h"

struct route_record {
	uint32_t netns;
	uint8_t family;
	struct addr dst; /* family unknown: the default route */
	uint8_t prefix;  /* bits of the address's own family */
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
	uint32_t nexthops; /* of a route with several; the first is shown */
};

struct destination_record {
	uint32_t netns;
	struct addr raddr;
	struct addr laddr; /* the source, where the sockets have one */
	uint32_t sockets;  /* how many use it */
	uint16_t error;    /* why there is no way; 0 when there is one */
	uint8_t route_type;
	struct addr gateway;
	uint32_t ifindex;
	char dev[16];
	struct addr prefsrc;
	uint32_t table;
	uint32_t path_mtu;   /* learnt from the path or set on the route */
	uint64_t expires_ns; /* of what was learnt */
};

extern const struct record_type route_type;
extern const struct record_type destination_type;
extern struct enum_names route_kind_names;

nl_parse_fn route_parse_message;
/* context: the destination that was asked about. */
nl_parse_fn destination_parse_message;
