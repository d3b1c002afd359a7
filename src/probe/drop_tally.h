/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Dropped packets by reason, place and flow, since the first sample: type "drop". Addresses are from this host's point
 * of view: laddr is the source of what leaves and the destination of what arrives. A forwarded packet arrives (dir rx)
 * and neither address is this host's. Flows beyond the cap are added up by reason, without addresses.
 */
#pragma once

#include "base/addr.h"
#include "record/field.h"

/* As enum packet_dir. */
enum drop_dir { DROP_RX = 1, DROP_TX };

struct drop_record {
	uint32_t netns;
	const char *reason; /* without SKB_DROP_REASON_; "": this kernel gives none */
	const char *place;  /* function that dropped it */
	char dev[16];
	uint8_t dir; /* enum drop_dir */
	uint8_t proto;
	struct addr laddr;
	uint16_t lport;
	struct addr raddr;
	uint16_t rport;
	uint64_t cookie; /* of the socket, where one was found */
	uint8_t state;   /* of that socket; 0: none */
	uint8_t flags;   /* of the TCP header */
	uint64_t packets;
	uint64_t bytes;
	uint64_t first_ns, last_ns; /* CLOCK_REALTIME */
};

extern const struct record_type drop_type;
