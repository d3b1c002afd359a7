/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One direction of the relay: loss, then a queue and a link, then a delay line.
 *
 *	arrive -> hole, maxlen, loss, collide, corrupt -> [queue | link of `rate`]
 *		-> dup, delay, jitter, reorder -> send
 *
 * Frames are handled as received. With segmentation offload a frame holds several packets, up to 64 KB: it is lost,
 * duplicated or reordered as a whole, and only `rate`, `limit` and `maxlen` use its length. Tests that count packets
 * turn tso, gso and gro off at all four link ends.
 */
#pragma once

#include "base/vec.h"
#include "base/why.h"
#include "common.h"

/* Memory limit of one direction, queue and delay line together: 100 ms of 8 Gbit/s. */
#define LINE_MEMORY_MAX ((uint64_t)100 << 20)

/* Every member is a word of the command line, see relay_words.c. */
struct line_settings {
	uint64_t delay_ns;
	uint64_t jitter_ns;
	uint64_t loss_ppm;
	uint64_t collide_ppm; /* lost while the other direction transmits */
	uint64_t burst_milli; /* mean length of a loss burst, 1/1000 packet */
	uint64_t dup_ppm;
	uint64_t reorder_ppm;
	uint64_t reorder_ns; /* extra delay of a reordered packet; 0: half of the delay */
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
	uint64_t collided;
	uint64_t duplicated;
	uint64_t reordered;
	uint64_t corrupted;
	uint64_t corrupt_drops; /* of those, dropped instead */
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
	const struct line *other; /* the opposite direction */
	struct line_settings set;
	struct line_stats stats;
	struct rng rng;
	bool in_burst;

	/* Queue of the link; the head is being transmitted until head_done_ns. */
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

void line_init(struct line *line, const char *name, const struct line *other);
void line_done(struct line *line);
/* New settings; a new rate also applies to queued packets. */
void line_configure(struct line *line, const struct line_settings *set, uint64_t now_ns);
/* One frame with its vnet header has arrived. */
void line_arrive(struct line *line, const void *data, size_t len, uint64_t now_ns);
/* Next due packet, owned by the caller until line_recycle(); NULL: none. */
struct packet *line_take_due(struct line *line, uint64_t now_ns);
void line_recycle(struct line *line, struct packet *packet);
/* When line_take_due() is due again; UINT64_MAX: nothing queued. */
uint64_t line_next_ns(const struct line *line);
/* {"packets":..,...} without a line end. */
void line_stats_print(const struct line *line, FILE *out);
