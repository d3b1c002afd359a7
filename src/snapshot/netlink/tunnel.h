/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tunnel interfaces, and the process behind a TUN device: type "tunnel". */
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
	uint64_t key; /* key of GRE and VTI, VNI of VXLAN and Geneve */
	uint32_t lower;
	uint32_t pid; /* process that reads and writes a TUN device */
	uint32_t fd;
};

extern const struct record_type tunnel_type;

bool tunnel_is_kind(const char *kind);
/* A reply to RTM_GETLINK; ignores interfaces that are no tunnels. */
nl_parse_fn tunnel_parse_message;
/* Device name in /proc/PID/fdinfo/FD of an open /dev/net/tun ("iff:\ttun0"); false: none. */
bool tunnel_parse_fdinfo(const char *text, char *dev, size_t size);
