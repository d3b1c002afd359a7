/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frame contents, as far as the relay needs them. */
#pragma once

#include "base/macros.h"

/* Length of the vnet header in front of every frame (PACKET_VNET_HDR). */
#define FRAME_VNET_LEN 10u

/*
 * ARP and IPv6 neighbour discovery. Neither crosses a router, so a relay that emulates a path must not turn loss on the
 * path into an unreachable neighbour.
 */
bool frame_is_neighbour(const uint8_t *data, size_t len);
/* Length of the IP packet, or of one segment of a GSO frame. */
size_t frame_ip_len(const uint8_t *data, size_t len);
/*
 * Flips a bit (modulo the payload length) after the IP header, after completing an offloaded checksum so that the
 * receiver detects it. -EOPNOTSUPP: a GSO frame, whose checksums do not exist yet. -ENODATA: no payload.
 */
int frame_corrupt(uint8_t *data, size_t len, uint64_t bit) _must_check_;
