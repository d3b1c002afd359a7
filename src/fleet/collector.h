/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receives batches of agents (POST /api/v1/batches), writes them to the spool, and answers when they are on the disk;
 * the spool's sender merges what many agents sent into large inserts. Everything in a batch is checked before: its
 * frame, its table, every row. A batch that was taken before is acknowledged and not taken again. Several requests are
 * written to the disk at once.
 *
 * It keeps nothing but the spool: what it acknowledged survives a kill; what it did not acknowledge the agent repeats,
 * here or elsewhere.
 */
#pragma once

#include "base/loop.h"
#include "fleet/spool.h"
#include "record/field.h"

struct collector;

struct collector_figures {
	uint64_t requests;    /* that were acknowledged */
	uint64_t rows;        /* taken */
	uint64_t doubles;     /* rows that had been taken before */
	uint64_t refused;     /* rows that no collector will take */
	uint64_t turned_away; /* requests: an agent over its limit, a full spool */
	uint64_t agents;      /* hosts seen, within the last limit period */
	uint64_t waiting_rows, waiting_bytes;
	uint64_t sent_rows;
	uint64_t syncs; /* writes to the disk */
};
extern const struct record_type collector_type;

struct collector_options {
	struct loop *loop;
	struct spool *spool;
	uint64_t agent_rate; /* bytes per second of one host, compressed; 0: no limit */
	/* After something was added to the spool. */
	void (*added)(void *context);
	/* Fills in what the sender knows. */
	void (*fill)(void *context, struct collector_figures *figures);
	void *context;
};

/* Reads the spool: what waits there was taken before. The routes of HTTP_COLLECT work on it. */
int collector_new(const struct collector_options *options, struct collector **ret_collector,
		  struct why *why) _must_check_;
/* Answers what waits with 503. */
void collector_free(struct collector *collector);
/* Writes what waits to the disk and answers. */
void collector_commit(struct collector *collector);
struct collector_figures collector_look(const struct collector *collector);
