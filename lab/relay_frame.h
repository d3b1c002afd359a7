/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The little that the relay knows about what is inside a frame. */
#pragma once

#include "base/macros.h"

/* Bytes of the vnet header that stands before every frame on a packet socket that asked for it. */
#define FRAME_VNET_LEN 10u

/*
 * ARP and IPv6 neighbour discovery. A path has routers, and neither crosses a router: a relay that stands for a path
 * must not turn a lossy path into an unreachable neighbour.
 */
bool frame_is_neighbour(const uint8_t *data, size_t len);
/* Length of the IP packet, or of one full segment when the frame still has to be cut. */
size_t frame_ip_len(const uint8_t *data, size_t len);
/*
 * Flips the given bit (counted modulo what there is) behind the IP header, after filling in a checksum that was left to
 * the hardware, so that the receiver finds out. -EOPNOTSUPP for a frame that has yet to be cut: its checksums do not
 * exist. -ENODATA when there is nothing behind the IP header.
 */
int frame_corrupt(uint8_t *data, size_t len, uint64_t bit) _must_check_;
