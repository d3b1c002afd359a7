/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which process holds a TUN device: found by looking at every open /dev/net/tun, and remembered for a while. */
#pragma once

#include "base/vec.h"
#include "snapshot/netlink/tunnel.h"

struct tun_owner {
	char dev[16];
	uint32_t netns; /* of the process */
	uint32_t pid;
	uint32_t fd;
};

struct tun_owners {
	VEC(struct tun_owner) items;
	uint64_t scanned_ns;
};

/* Fills pid and fd; leaves them unknown when nobody holds it. While samples follow each other an old answer will do. */
void tun_owner_find(struct tun_owners *owners, bool repeated, struct tunnel_record *tunnel);
void tun_owners_done(struct tun_owners *owners);
