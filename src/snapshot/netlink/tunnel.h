/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interfaces that wrap packets into others, and the process behind a TUN device: type "tunnel". */
#pragma once

#include "snapshot/core/nl.h"

struct tunnel_record {
	uint32_t netns;
	uint32_t ifindex;
	char dev[16];
	char kind[16];
	struct addr laddr;
	struct addr raddr;
	uint16_t rport;
	uint64_t key; /* of GRE and VTI, VNI of VXLAN and Geneve */
	uint32_t lower;
	uint32_t pid; /* of a TUN device: who reads and writes its packets */
	uint32_t fd;
};

extern const struct record_type tunnel_type;

bool tunnel_is_kind(const char *kind);
/* An answer to RTM_GETLINK; interfaces of other kinds are passed over. */
nl_parse_fn tunnel_parse_message;
/* The name of the device in /proc/PID/fdinfo/FD of an open /dev/net/tun ("iff:\ttun0"); false when there is none. */
bool tunnel_parse_fdinfo(const char *text, char *dev, size_t size);
