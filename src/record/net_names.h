/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of network constants, shared by snapshots and events. */
#pragma once

#include "record/field.h"

extern struct enum_names socket_state_names;
extern struct enum_names socket_proto_names;
/* enum addr_family: ipv4, ipv6. */
extern struct enum_names addr_family_names;
/* The same, and other families as 64 + AF_ number: unix, netlink, packet, vsock. */
#define FAMILY_OTHER(af) (64 + (af))
extern struct enum_names event_family_names;
