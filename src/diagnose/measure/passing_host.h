/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hosts that forwarded connections are with. A connection that passes may lose too little to be judged by, and its
 * host lose as much as several of them; and where nothing comes from a host while its connections retransmit, and then
 * something does, the way to it was interrupted.
 */
#pragma once

#include "base/addr.h"
#include "diagnose/graph/window.h"

/* Windows over which it adds up, the present one included. */
#define PASSING_WINDOWS 4

/* What passed between two samples, of one direction of a connection. */
struct passing_step {
	const struct addr *source, *target;
	uint64_t packets, repeats;
};

struct passing_hosts {
	struct map tracks; /* struct addr -> struct passing_host */
};

struct passing_host {
	unsigned idle_windows; /* since a packet from it or to it */
	uint64_t sample;       /* to which what follows belongs */
	uint64_t from, repeats, flows;
	uint64_t quiet_since_ns;             /* when something came last; 0: in this sample */
	uint64_t quiet_repeats, quiet_flows; /* retransmitted to it since; by how many at most */
	uint64_t gaps[PASSING_WINDOWS];      /* silences that ended, newest window first */
	uint64_t gap_ns[PASSING_WINDOWS];    /* the longest one */
	uint64_t gap_repeats[PASSING_WINDOWS], all_repeats[PASSING_WINDOWS]; /* retransmitted in them, and at all */
};

void passing_hosts_note(struct passing_hosts *hosts, uint64_t sample, const struct passing_step *step);
/* After all steps of a sample; the time is that of the sample, and of the one before. */
void passing_hosts_end_sample(struct passing_hosts *hosts, uint64_t sample, uint64_t now_ns, uint64_t before_ns);
const struct passing_host *passing_hosts_find(const struct passing_hosts *hosts, const struct addr *addr);
void passing_hosts_end_window(struct passing_hosts *hosts);
void passing_hosts_done(struct passing_hosts *hosts);
