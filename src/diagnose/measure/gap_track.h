/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When connections stopped and moved on, from samples alone. The kernel keeps the age of the last ACK and of the last
 * data received in milliseconds, so the begin of a gap is known far better than the distance of two samples; its end
 * lies between the last sample without progress and the first one with it.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "snapshot/core/snapshot.h"

struct tcp_record;

enum gap_kind {
	GAP_NONE,
	GAP_UNACKED,     /* data in flight, and a retransmission timeout without an ACK of new data */
	GAP_ZERO_WINDOW, /* unsent data, and the peer's window is closed */
	GAP_SILENT,      /* a steady stream of received data stopped; nothing says that there was more */
};

struct gap {
	uint64_t begin_ns; /* CLOCK_BOOTTIME, as the others: last progress before it */
	uint64_t since_ns; /* first sample of it */
	uint64_t known_ns; /* last sample of it */
	uint64_t end_ns;   /* no later than this there was progress again; 0: it goes on */
	uint8_t kind;
	bool heard;             /* the peer sent something meanwhile, but acknowledged nothing new */
	uint64_t path_quiet_ns; /* longest part of it in which no connection to the same host made progress */
	uint64_t host_quiet_ns; /* the same of any connection */
	uint32_t timeouts;      /* retransmission timeouts */
	uint32_t retrans;       /* segments retransmitted until progress was seen again */
};

/* Gaps of a connection that are remembered, and windows over which retransmissions are. */
#define GAPS_KEPT    4
#define GAPS_WINDOWS 3

struct gap_conn {
	uint64_t cookie;
	struct addr laddr, raddr;
	uint16_t lport, rport;
	struct gap now;                 /* kind GAP_NONE: none */
	struct gap past[GAPS_KEPT];     /* by number, the oldest overwritten */
	unsigned past_count;            /* of all that have ended */
	uint32_t outside[GAPS_WINDOWS]; /* segments retransmitted outside of gaps, newest window first */
	/* Inside. */
	unsigned sample;
	uint64_t sample_ns, acked_ns, received_ns, idle_ns;
	uint64_t bytes_acked, bytes_received;
	uint32_t total_retrans, retrans_before;
	uint16_t total_rto, rto_before;
	unsigned streak, quiet;
	bool outstanding, recovers;
};

/* One that has ended in the last sample. */
struct gap_ended {
	uint64_t cookie;
	unsigned number;
};

struct gap_tracks {
	struct map conns; /* cookie -> struct gap_conn */
	struct map paths; /* remote address -> uint64_t: last progress of any of its connections */
	VEC(uint64_t) open;
	VEC(struct gap_ended) ended;
	unsigned sample;
	uint64_t moved_ns; /* last progress of any connection */
	uint64_t lost;
};

#define GAP_TRACKS_INIT                                                                                                \
	{                                                                                                              \
		.conns = MAP_INIT(sizeof(uint64_t), sizeof(struct gap_conn), 1000000),                                 \
		.paths = MAP_INIT(sizeof(struct addr), sizeof(uint64_t), 100000)                                       \
	}

/* The next sample of one namespace. */
void gap_tracks_add(struct gap_tracks *tracks, const struct snapshot *snapshot);
void gap_tracks_end_window(struct gap_tracks *tracks);
void gap_tracks_done(struct gap_tracks *tracks);

/* Nothing outstanding, nothing sent or received for a while: most connections of a large host, and no news. */
bool gap_is_at_rest(const struct tcp_record *tcp);

/* Of the gaps of a connection that ended at or after a moment, the next one, newest first; NULL: no more. *at is 0. */
const struct gap *gap_next(const struct gap_conn *conn, uint64_t since_ns, unsigned *at);

/* A gap in which nothing was heard from the peer, going on or not. */
struct gap_entry {
	const struct gap_conn *conn;
	const struct gap *gap;
};

/* Those that ended at or after a moment or go on, at most max; returns how many. */
size_t gap_tracks_list(const struct gap_tracks *tracks, uint64_t since_ns, struct gap_entry *ret_entries, size_t max);

/* Other connections with such a gap at the same time: to the same host, and to others. */
struct gap_company {
	uint64_t path, others;
};

/* Streams that paused must have done so at the same time, and not all be of one service. */
struct gap_company gap_company_of(const struct gap_conn *conn, const struct gap *gap, const struct gap_entry *entries,
				  size_t count);

/* How long it lasted at least. */
static inline uint64_t gap_span(const struct gap *gap)
{
	return gap->known_ns > gap->begin_ns ? gap->known_ns - gap->begin_ns : 0;
}
