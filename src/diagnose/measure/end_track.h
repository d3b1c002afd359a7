/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Both ends of TCP connections: what each end had sent and received at each of its samples. Positions in the stream of
 * bytes compare without clocks: the segments sent up to a position at one end, less those that arrived up to it at the
 * other, were lost between them. The same positions bound the difference of the two clocks, because nothing arrives
 * before it is sent.
 */
#pragma once

#include "base/addr.h"
#include "base/map.h"
#include "base/vec.h"
#include "snapshot/core/snapshot.h"

/*
 * The kernel keeps the moments of the last segments in ticks, of 10 ms where they are longest. Reading all sockets of a
 * sample takes about as long.
 */
#define END_TICK_NS 10000000

enum end_side { END_HERE, END_THERE };

/* One end at one sample; UINT64_MAX: unknown. */
struct end_sample {
	uint64_t time_ns;       /* CLOCK_REALTIME of its host */
	uint64_t sent;          /* bytes, without retransmissions */
	uint64_t sent_segs;     /* with data, retransmissions included */
	uint64_t retrans_segs;  /* of them */
	uint64_t twice_segs;    /* of those, reported by the receiver as received twice */
	uint64_t acked;         /* bytes */
	uint64_t received;      /* bytes, in order */
	uint64_t received_segs; /* with data */
	/* Moments of the last segment with data that was sent and received, and of the last ACK; 0: none. */
	uint64_t last_sent_ns, last_received_ns, last_ack_ns;
};

struct end_history {
	uint64_t cookie; /* 0: no sample yet */
	VEC(struct end_sample) samples;
};

/* A connection as END_HERE names it. */
struct end_key {
	struct addr laddr, raddr;
	uint16_t lport, rport;
};

/* A connection on the other side of a NAT, one step nearer to END_HERE. */
struct end_name {
	struct end_key key;
	bool reused; /* stood for several connections in the course of the recordings */
};

struct end_pair {
	struct end_history sides[2];
	bool reused; /* another connection had the same addresses and ports: positions do not compare */
};

struct end_pairs {
	struct map pairs; /* struct end_key -> struct end_pair * */
	struct map names; /* struct end_key -> struct end_name: what NAT makes of END_THERE's connections */
	uint64_t samples; /* kept, of all */
	uint64_t refused; /* beyond the limit */
};

/* The clock of END_THERE less that of END_HERE lies between these. */
struct clock_bound {
	int64_t low_ns, high_ns;
	bool has_low, has_high;
};

/* Segments from one end to the other in a stretch of the stream. */
struct end_loss {
	uint64_t sent_segs;
	uint64_t arrived_segs;
};

#define END_PAIRS_INIT                                                                                                 \
	{                                                                                                              \
		.pairs = MAP_INIT(sizeof(struct end_key), sizeof(struct end_pair *), 1000000),                         \
		.names = MAP_INIT(sizeof(struct end_key), sizeof(struct end_name), 1000000)                            \
	}

struct end_key end_key_make(const struct addr *laddr, uint16_t lport, const struct addr *raddr, uint16_t rport);
/* Adds what conntrack says in a sample of any host between the ends; before the connections of END_THERE. */
void end_pairs_translate(struct end_pairs *pairs, const struct snapshot *snapshot);
/* How END_HERE names a connection of END_THERE: turned round, and through NAT where that was recorded. */
struct end_key end_pairs_name(const struct end_pairs *pairs, const struct addr *laddr, uint16_t lport,
			      const struct addr *raddr, uint16_t rport);
/* Adds the connections of a sample; of END_THERE only those that END_HERE has. */
void end_pairs_add(struct end_pairs *pairs, enum end_side side, const struct snapshot *snapshot);
/* Forgets connections that only one end has; returns the number that is left. */
size_t end_pairs_match(struct end_pairs *pairs);
struct end_pair *end_pairs_find(const struct end_pairs *pairs, const struct end_key *key);
void end_pairs_done(struct end_pairs *pairs);

/* What all exchanges say about the clocks. */
struct clock_bound end_pairs_align(const struct end_pairs *pairs);
/*
 * An offset within the bound, and how far off that may be; UINT64_MAX: unbounded. None where that is possible, because
 * most hosts synchronize their clocks; else the middle.
 */
int64_t clock_bound_offset(const struct clock_bound *bound, uint64_t *ret_error_ns);

/* The last sample of a side up to a time of its own clock; NULL: none yet. */
const struct end_sample *end_history_at(const struct end_history *history, uint64_t time_ns);
/* How far the stream from FROM had got at that time of its clock, as far as the other end ever received it. */
uint64_t end_pair_position(const struct end_pair *pair, enum end_side from, uint64_t time_ns);
/* Share of the segments of a time of the sender's clock that were retransmissions and needed; NAN: unknown. */
double end_history_repeated(const struct end_history *sender, uint64_t begin_ns, uint64_t end_ns);
/* Of the stream from FROM, between two positions. False when it cannot be known. */
bool end_pair_loss(const struct end_pair *pair, enum end_side from, uint64_t begin, uint64_t end,
		   struct end_loss *ret_loss);
