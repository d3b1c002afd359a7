/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What no table of the kernel keeps: name lookups and their answers (type "lookup", one a name server), and who refused
 * or reset connections (type "refusal", one a remote service). They are seen on the wire, by a packet socket whose
 * filter lets nothing else pass, and that is open only while counters or sockets say that there is something to see.
 * All figures count from when that began.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct lookup_record {
	uint32_t netns;
	struct addr raddr;
	uint64_t queries;
	uint64_t answers;
	uint64_t slow_answers; /* of these, later than WIRE_SLOW_NS */
	uint64_t failures;     /* of these, with a code that says that the server could not or would not */
	uint64_t unreachable;  /* queries that were answered by an ICMP error */
	uint64_t answer_ns;    /* what the answers took, added up */
	uint64_t pending;      /* queries without an answer, now */
	uint64_t oldest_ns;    /* age of the oldest of these */
};

struct refusal_record {
	uint32_t netns;
	struct addr raddr;
	uint16_t rport;
	uint64_t refused; /* SYNs that were answered with a reset or an ICMP error */
	uint64_t resets;  /* other resets */
	uint64_t here;    /* SYNs that were answered in its name by this host itself */
};

extern const struct record_type lookup_type;
extern const struct record_type refusal_type;

#define WIRE_SLOW_NS    UINT64_C(200000000)
#define WIRE_PACKET_MAX 192 /* bytes of a packet that are looked at */

enum wire_kind {
	WIRE_OTHER,
	WIRE_QUERY,       /* a question to a name server */
	WIRE_ANSWER,      /* its answer */
	WIRE_UNREACHABLE, /* an ICMP error about a question */
	WIRE_REFUSED,     /* a reset that answers a SYN, or an ICMP error about a connection */
	WIRE_RESET,       /* any other reset */
	WIRE_SEGMENT,     /* any other segment that arrives */
};

struct wire_packet {
	enum wire_kind kind;
	struct addr raddr; /* the name server; who sent the segment */
	uint16_t lport, rport;
	uint16_t id;       /* of a lookup */
	uint8_t rcode;     /* of an answer */
	bool via_loopback; /* it did not come from outside */
};

/* An IP packet, from its header on, perhaps cut short. Outgoing: sent by this host. */
void wire_parse(const uint8_t *bytes, size_t len, bool outgoing, struct wire_packet *ret_packet);
