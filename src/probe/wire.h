/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that no kernel table keeps: DNS queries and replies (type "lookup", one record per name server), refused or
 * reset connections (type "refusal", one record per remote service), and UDP requests (datagram.h). A packet socket
 * with a filter for only these captures them; it is open only while counters or sockets show a sign of them. All counts
 * start when it opens.
 */
#pragma once

#include "snapshot/core/snapshot.h"

struct lookup_record {
	uint32_t netns;
	struct addr raddr;
	uint64_t queries;
	uint64_t answers;
	uint64_t slow_answers; /* of these, later than WIRE_SLOW_NS */
	uint64_t failures;     /* of these, with a server error RCODE */
	uint64_t unreachable;  /* queries answered by an ICMP error */
	uint64_t answer_ns;    /* total reply latency */
	uint64_t pending;      /* queries without a reply now */
	uint64_t oldest_ns;    /* age of the oldest of these */
	uint64_t overdue;      /* queries that had no reply after WIRE_OVERDUE_NS */
};

struct refusal_record {
	uint32_t netns;
	struct addr raddr;
	uint16_t rport;
	uint64_t refused;   /* SYNs answered by a reset or an ICMP error */
	uint64_t resets;    /* other resets */
	uint64_t here;      /* SYNs answered by this host on its behalf (firewall reject) */
	uint64_t datagrams; /* UDP datagrams of this host answered by an ICMP error */
};

extern const struct record_type lookup_type;
extern const struct record_type refusal_type;

#define WIRE_SLOW_NS    UINT64_C(200000000)
#define WIRE_OVERDUE_NS UINT64_C(300000000)
#define WIRE_PACKET_MAX 192 /* captured bytes of a packet */

enum wire_kind {
	WIRE_OTHER,
	WIRE_QUERY,       /* DNS query */
	WIRE_ANSWER,      /* DNS reply */
	WIRE_UNREACHABLE, /* ICMP error about a DNS query */
	WIRE_REFUSED,     /* reset in reply to a SYN, or ICMP error about a connection */
	WIRE_REJECTED,    /* ICMP error about a UDP datagram that is no DNS query */
	WIRE_RESET,       /* any other reset */
	WIRE_DATAGRAM,    /* any other UDP datagram */
	WIRE_SEGMENT,     /* any other received segment */
};

struct wire_packet {
	enum wire_kind kind;
	struct addr raddr; /* name server, or sender of the segment */
	struct addr laddr; /* of an ICMP error: who sent what it is about; of a datagram: the address of this host */
	uint16_t lport, rport;
	uint16_t id;       /* DNS query id */
	uint8_t rcode;     /* of a DNS reply */
	uint32_t digest;   /* of the first bytes of a datagram, and its length */
	bool outgoing;     /* sent by this host */
	bool via_loopback; /* received over loopback */
};

/* An IP packet from its header, possibly truncated. outgoing: sent by this host. */
void wire_parse(const uint8_t *bytes, size_t len, bool outgoing, struct wire_packet *ret_packet);
