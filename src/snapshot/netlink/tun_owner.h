/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the process that holds a TUN device by a scan for open /dev/net/tun; the result is cached. */
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

/* Fills pid and fd; unknown if no process holds it. repeated: a cached result is acceptable. */
void tun_owner_find(struct tun_owners *owners, bool repeated, struct tunnel_record *tunnel);
void tun_owners_done(struct tun_owners *owners);
