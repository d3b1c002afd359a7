/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retransmissions by connection and kind: type "retransmission", totals since the first sample (tally.h). */
#pragma once

#include "base/addr.h"
#include "record/enum.h"
#include "record/field.h"

/* As the event tcp.retransmit distinguishes them. */
enum retransmission_kind {
	RETRANSMISSION_FAST = 1,
	RETRANSMISSION_TIMEOUT,
	RETRANSMISSION_PROBE,
	RETRANSMISSION_SYN,
	RETRANSMISSION_SYNACK,
};

struct retransmission_record {
	uint32_t netns;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	uint64_t cookie;
	uint8_t kind;
	uint64_t count;
	uint64_t bytes;
	uint64_t first_ns, last_ns;
};

extern struct enum_names retransmission_kind_names;
extern const struct record_type retransmission_type;
