/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * UDP requests and their answers, by service: type "datagram". Those of programs of this host to a remote service, and
 * those of all clients to a service of this host. UDP keeps no state of them; the tap of wire.c captures them, while
 * few datagrams move. All counts start when it opens. Without DNS (type "lookup"), multicast and services at ephemeral
 * ports.
 *
 * Whether an answer is expected at all no packet tells. A program that only sends does not read from its socket; one
 * that repeats a request does so before the next one, while a sign of life never changes.
 */
#pragma once

#include "base/map.h"
#include "probe/wire.h"

struct datagram_record {
	uint32_t netns;
	struct addr raddr;
	uint16_t rport;
	uint16_t lport; /* of the oldest request without an answer; 0: there is none. Of a service here, its port */
	bool serves;    /* the service is here: raddr and rport are none */
	bool is_read;   /* a program reads from such a port */
	uint32_t pid;   /* the program that waits for that answer and nothing else; 0: none does */
	char comm[16];
	uint64_t requests;     /* other ones than the one before on the same port */
	uint64_t repeats;      /* the same as the one before, 0.1 s later or more, where requests differ at all */
	uint64_t unheeded;     /* of these, though there was an answer in between: it was one to an earlier request */
	uint64_t answers;      /* first datagrams after a request */
	uint64_t slow_answers; /* of these, later than WIRE_SLOW_NS after the last request or repeat */
	uint64_t answer_ns;    /* their total time since the first request */
	uint64_t pending;      /* ports with a request and no answer now */
	uint64_t oldest_ns;    /* age of the oldest of these */
	uint64_t overdue;      /* requests that had no answer after WIRE_OVERDUE_NS */
};

extern const struct record_type datagram_type;

/* The accounts of one namespace. */
struct datagrams {
	struct map services; /* struct endpoint -> its record */
	struct map flows;    /* ports and remote address -> what was sent last */
	uint64_t lost;       /* datagrams beyond the room for them */
};

void datagrams_init(struct datagrams *datagrams);
void datagrams_done(struct datagrams *datagrams);
/* One whose local address is this host's. time_ns as of all packets: CLOCK_REALTIME. */
void datagrams_take(struct datagrams *datagrams, const struct wire_packet *packet, uint64_t time_ns);
/* Packets have been missed: an answer may be among them, so nothing counts as unanswered. */
void datagrams_miss(struct datagrams *datagrams);
/* Ages of requests without an answer; forgets what has been silent for long. */
void datagrams_age(struct datagrams *datagrams, uint64_t now_ns);
/* Whether that descriptor is to be read, by what /proc/PID/fdinfo/N says of an epoll instance. */
bool datagram_epoll_reads(const char *text, uint32_t fd);
/* Of requests without an answer. Looks at sockets, owners and threads of the snapshot. */
void datagrams_find_readers(struct datagrams *datagrams, const struct snapshot *snapshot, uint32_t netns);
void datagrams_add(const struct datagrams *datagrams, struct snapshot *snapshot, uint32_t netns);
