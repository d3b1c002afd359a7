/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One direction of the relay: a lossy doorway, a link with a queue in front of it, and a delay line behind it.
 *
 *	arrive -> hole, maxlen, loss, corrupt -> [queue | link of `rate`] -> dup, delay, jitter, reorder -> send
 *
 * A frame is handled as the kernel hands it over. With segmentation offload a frame holds up to 64 KB of several
 * packets: it is lost, doubled or overtaken as a whole, and only `rate`, `limit` and `maxlen` look at its bytes. Tests
 * that count packets turn tso, gso and gro off at all four ends of the two cables.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"
#include "common.h"

/* What a direction may hold in memory, queue and delay line together: 100 ms of 8 Gbit/s. */
#define LINE_MEMORY_MAX ((uint64_t)100 << 20)

/* Every member is a word of the command line, see relay_words.c. */
struct line_settings {
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint64_t loss_ppm;
	uint64_t burst_milli; /* mean length of a burst of losses, thousandths of a packet */
	uint64_t dup_ppm;
	uint64_t reorder_ppm;
	uint64_t reorder_ns; /* how long an overtaken packet is held back; 0: half of the delay */
	uint64_t corrupt_ppm;
	uint64_t rate_bps;
	uint64_t limit_bytes;
	uint64_t maxlen;
	uint64_t hole;
	uint64_t neigh;
};

/* Every member is printed, see line_stats_print(). */
struct line_stats {
	uint64_t packets;
	uint64_t bytes;
	uint64_t forwarded;
	uint64_t forwarded_bytes;
	uint64_t lost;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t corrupted;
	uint64_t corrupt_drops; /* of those, frames that could only be dropped */
	uint64_t queue_drops;
	uint64_t too_long;
	uint64_t hole;
	uint64_t send_errors;
	uint64_t send_retries;
	uint64_t recv_drops;
};

struct packet {
	struct packet *next;
	uint64_t due_ns;
	uint64_t order;
	uint32_t len; /* with the vnet header in front */
	uint32_t room;
	uint8_t data[];
};

struct line {
	const char *name;
	struct line_settings set;
	struct line_stats stats;
	struct rng rng;
	bool in_burst;

	/* The queue before the link; the head is the packet that is being sent, until head_done_ns. */
	struct packet *head;
	struct packet *tail;
	uint64_t head_done_ns;
	uint64_t queue_bytes;
	uint64_t queue_packets;

	/* The delay line: a binary heap by due time, ties in order of arrival. */
	VEC(struct packet *) heap;
	uint64_t order;
	uint64_t last_due_ns;
	uint64_t jitter_slot;
	int64_t jitter_from_ns;
	int64_t jitter_to_ns;

	struct packet *spare; /* packets of one full frame, kept for reuse */
	uint64_t held_packets;
	uint64_t held_bytes;
};

void line_init(struct line *line, const char *name);
void line_done(struct line *line);
/* New settings for what comes; what waits at the link feels a new rate at once. */
void line_configure(struct line *line, const struct line_settings *set, uint64_t now_ns);
/* One frame with its vnet header has arrived. */
void line_arrive(struct line *line, const void *data, size_t len, uint64_t now_ns);
/* The next packet that is due, now the caller's until line_recycle(); NULL when there is none. */
struct packet *line_take_due(struct line *line, uint64_t now_ns);
void line_recycle(struct line *line, struct packet *packet);
/* When line_take_due() has to be asked again; UINT64_MAX when nothing waits. */
uint64_t line_next_ns(const struct line *line);
/* {"packets":..,...} without a line end. */
void line_stats_print(const struct line *line, FILE *out);
