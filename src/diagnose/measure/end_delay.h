/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-way delay of a stream between two recorded ends: when positions of the stream of bytes were reached there, less
 * when here. The difference of the clocks is in it, so that only its changes mean something: they need no clocks.
 */
#pragma once

#include "diagnose/measure/end_track.h"

/* What the positions were compared of. */
enum end_delay_kind {
	END_DELAY_DATA, /* data from FROM: sent there, received at the other end */
	END_DELAY_ACK,  /* ACKs from FROM, of data that it received: with the delay of a delayed ACK */
};

/* Mean over positions, and between what it lies for certain, in ns. Times of recordings are any: no integers. */
struct end_delay {
	double mean, low, high;
};

/* Of what arrived in a time of the receiver's clock. False: nothing that compares. */
bool end_pair_delay(const struct end_pair *pair, enum end_side from, enum end_delay_kind kind, uint64_t begin_ns,
		    uint64_t end_ns, struct end_delay *ret_delay);

/* The change against the lowest delay of the last minutes. */
struct end_delay_base {
	struct end_delay lowest;
	uint64_t time_ns; /* when; 0: none yet */
	enum end_delay_kind kind;
};

struct end_delay_change {
	int64_t change_ns;
	uint64_t error_ns; /* how far off that may be */
};

/* False: the first one, or of another kind than the last. */
bool end_delay_base_note(struct end_delay_base *base, enum end_delay_kind kind, const struct end_delay *now,
			 uint64_t time_ns, struct end_delay_change *ret_change);
