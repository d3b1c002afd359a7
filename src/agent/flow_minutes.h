/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Running totals of flows (probe/tally.h) become rows per minute: what each total has grown by since it was read last,
 * added up by flow. The largest flows have rows of their own; the others are added up by what happened to them.
 */
#pragma once

#include "base/map.h"
#include "fleet/minute.h"

/* Rows per minute with a flow of their own. */
#define FLOW_MINUTES_MAX 256

/* Compared as bytes: no holes. */
struct flow_minutes_key {
	char what[MINUTE_REASON]; /* drop reason, kind of retransmission */
	char place[MINUTE_PLACE];
	char dev[16];
	struct addr laddr, raddr;
	uint8_t dir, proto, state, flags; /* state and flags distinguish totals, as cookie does; not part of a row */
	uint16_t lport;
	uint64_t cookie;
	uint32_t netns;
	uint16_t rport, zero;
};
_Static_assert(sizeof(struct flow_minutes_key) == 160, "no holes");

struct flow_total {
	uint64_t count, bytes;
};

struct flow_minutes {
	struct map totals; /* struct flow_minutes_key -> as it was read last */
	struct map grown;  /* struct flow_minutes_key -> struct flow_total of this minute */
	uint64_t reads;
};

void flow_minutes_init(struct flow_minutes *minutes);
void flow_minutes_done(struct flow_minutes *minutes);
/* Around a reading of all totals: one that is no longer there begins at zero when it comes back. */
void flow_minutes_begin(struct flow_minutes *minutes);
void flow_minutes_read(struct flow_minutes *minutes, const struct flow_minutes_key *key, uint64_t count,
		       uint64_t bytes);
void flow_minutes_end(struct flow_minutes *minutes);
/* Calls back with each row of the minute, the largest first, and begins the next minute; 0 or the first error. */
typedef int flow_minutes_fn(void *context, const struct flow_minutes_key *key, const struct flow_total *total);
int flow_minutes_take(struct flow_minutes *minutes, flow_minutes_fn *fn, void *context) _must_check_;
