/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TRACE.live, beside a trace that is being recorded: what the observed processes, the recorder and readers share. It is
 * mapped by all of them. A header with the options and the counters, then a slot for each thread: its state, the calls
 * that are open, and the chunk that is being filled. A thread writes its chunk to the trace when it is full; what a
 * killed program left in its slots is still here.
 */
#pragma once

#include "flow/trace/digest.h"
#include "flow/trace/trace_format.h"

#define FLOW_LIVE_MAGIC   UINT64_C(0x3230455649464e00) /* "\0NFIVE02" */
#define FLOW_LIVE_ENV     "NEST_FLOW_TRACE"
#define FLOW_LIVE_SUFFIX  ".live"
#define FLOW_FN_SLOTS     (1u << 16)
#define FLOW_FILTER_BYTES 16384u

enum flow_clock { FLOW_CLOCK_NS = 0, FLOW_CLOCK_COUNTER = 1 };

struct flow_live {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* where the first slot begins */
	uint32_t slot_bytes;
	uint32_t slot_count;
	uint32_t clock;  /* enum flow_clock */
	uint32_t paused; /* recording is off */
	/* Counters of what was handed out: the last number given. */
	uint32_t last_thread;
	uint32_t last_fn;
	uint32_t last_module;
	uint32_t last_socket;
	uint32_t slot_hint;
	uint32_t recorder_pid;
	/* Options. */
	uint32_t max_depth;   /* calls deeper than this are left out */
	uint32_t stamp_depth; /* calls deeper than this carry no time */
	uint64_t min_ticks;   /* shorter calls are left out */
	uint64_t max_bytes;   /* of the trace; 0: as large as it takes */
	uint32_t sample;      /* of so many sockets one is recorded; 0, 1: all */
	uint32_t sockets_off;
	uint32_t gather_bytes; /* at the end of each slot: short chunks wait there to be written together; 0: none */
	uint32_t reserved;
	uint64_t digest_at; /* where the digest begins: chunks are folded into it, not written; 0: there is none */
	/* Figures. */
	uint64_t written_bytes; /* of chunks of events */
	uint64_t lost;          /* events of threads that found no slot */
	uint64_t dropped;       /* events of chunks that could not be written */
	uint32_t last_error;    /* errno of the last chunk that could not be written */
	uint32_t toggle_signal; /* pauses and resumes; 0: none */
	/* Names of functions to record or leave out: "+glob\0-glob\0...\0"; empty: all. */
	char filters[FLOW_FILTER_BYTES];
	/* Which number a function has: module and offset, in an open hash table. */
	uint64_t fn_keys[FLOW_FN_SLOTS];
	uint32_t fn_ids[FLOW_FN_SLOTS];
	/* Of each slot: enum flow_slot_state. A slot is not touched before it has blocks on the disk. */
	uint32_t states[];
};

/* Addresses in here mean something to the owner alone; differences of them to everybody. */
struct flow_slot {
	uint32_t pid;
	uint32_t tid;
	uint32_t index; /* of this slot */
	uint32_t reserved;
	/* Both in one, so that the hooks look at them at once, and leave with the store that they need anyway. */
	union {
		uint64_t state;
		struct {
			uint32_t depth; /* open calls, those that are not recorded included */
			uint32_t busy;  /* the owner is in the recorder: low half of its stack's address, or 0 */
		};
	};
	uint32_t *at;    /* next word */
	uint32_t *limit; /* beyond it the long way is taken; NULL makes it so at once */
	uint32_t *base;  /* first word */
	uint64_t last;   /* time of the last event */
	uint64_t stamp_depth;
	uint64_t untimed; /* so many levels from stamp_depth on carry no time */
	uint32_t noted;   /* calls open after the last event that was written; returns since then are to be written */
	/*
	 * Calls in this chunk, and its words beyond one for each event: of those before `counted`. What the hooks'
	 * short ways wrote behind it shows in the words and the depth (flow_slot_count). NULL: both are kept up to
	 * date, the long way is taken.
	 */
	uint64_t calls;
	uint64_t extra;
	uint32_t *counted;
	uint32_t counted_noted;    /* what `noted` was there */
	uint32_t returns;          /* words behind it that are not calls */
	uint64_t lost;             /* since the last chunk, marked in this one */
	uint64_t unmarked;         /* lost, and not marked yet */
	uint64_t skipped;          /* left out on purpose since recording was paused */
	uint32_t why;              /* enum flow_lost of unmarked */
	uint32_t muted;            /* this thread works for a socket that is not recorded */
	uint32_t resync;           /* the open calls must be written down before the next event */
	uintptr_t deep;            /* the stack's address when the calls became too deep */
	struct flow_frame *frames; /* beside the functions that are open, where calls may be taken back */
	char name[16];             /* of the thread, as far as the trace knows */
	uintptr_t self;            /* of the thread, as the C library calls it */
	struct pack_room *pack;    /* for making a chunk shorter before it is written; NULL: it is not */
	/* Bytes of chunks that wait to be written; in the upper half the number of the first chunk not among them. */
	uint64_t gathered;
};

enum flow_slot_state {
	FLOW_SLOT_FREE = 0,
	FLOW_SLOT_TAKEN = 1,
	FLOW_SLOT_USED = 2,
	FLOW_SLOT_MASK = 3,
	FLOW_SLOT_BACKED = 4, /* a flag beside: the slot has blocks on the disk */
};

/* What it takes to take a call back that turns out too short. */
struct flow_frame {
	uint32_t *at;   /* where its word stands; NULL when it was not recorded */
	uint64_t last;  /* time of the event before it */
	uint64_t start; /* its own */
	uint32_t seq;   /* of the chunk */
	uint32_t reserved;
};

/*
 * Where things lie in a slot. The header of the chunk stands right before its words. The stack is no multiple of 4096
 * away from the slot, so that no processor takes stores of one for stores of the other; on ours that made no difference
 * to be measured.
 */
#define FLOW_SLOT_STACK   (4096u + 512u)
#define FLOW_SLOT_PAYLOAD (8192u + FLOW_STACK_MAX * (uint32_t)sizeof(void *))
#define FLOW_SLOT_CHUNK   (FLOW_SLOT_PAYLOAD - (uint32_t)sizeof(struct flow_chunk))

/*
 * Brings the counters up to date. A call adds one word, and one to the depth after it took away the returns that it
 * counts; a word of returns adds one word and takes away what it stands for. So the number of returns shows in how far
 * words and depth differ.
 */
static inline void flow_slot_count(struct flow_slot *slot)
{
	uint64_t words = (uint64_t)(slot->at - slot->counted);

	if (!slot->counted)
		return;
	slot->calls += words - slot->returns;
	slot->extra -= words - (uint64_t)((int64_t)slot->noted - slot->counted_noted) - 2 * (uint64_t)slot->returns;
	slot->counted = NULL;
}

/* The same from the words themselves, wherever they come from. */
static inline void flow_words_count(const uint32_t *words, size_t count, uint64_t *ret_calls, uint64_t *ret_extra)
{
	uint64_t calls = 0, extra = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t word = words[i], tag = word & 3, kind = word >> 2 & 63, more = word >> 8 & 255;

		calls += tag == FLOW_TAG_CALL || tag == FLOW_TAG_CALL_LONG;
		if (tag == FLOW_TAG_CALL && word & FLOW_MANY)
			extra -= (word & ~FLOW_MANY) >> 14;
		else if (tag == FLOW_TAG_RETURN && word & FLOW_MANY)
			extra -= ((word & ~FLOW_MANY) >> 2) - 1;
		more = tag == FLOW_TAG_OTHER ? more : tag == FLOW_TAG_CALL_LONG;
		extra += more;
		if (tag == FLOW_TAG_OTHER && (kind == FLOW_O_TIME || kind == FLOW_O_LOST || kind == FLOW_O_STACK))
			extra++;
		i += more;
	}
	*ret_calls = calls;
	*ret_extra = extra;
}

static inline struct flow_slot *flow_slot_at(const struct flow_live *live, uint32_t index)
{
	return (struct flow_slot *)((uintptr_t)live + live->header_bytes + (size_t)index * live->slot_bytes);
}

static inline struct flow_chunk *flow_slot_chunk(const struct flow_slot *slot)
{
	return (struct flow_chunk *)((uintptr_t)slot + FLOW_SLOT_CHUNK);
}

/* Words of a chunk that a slot has room for. What a thread has to remember for the digest stands behind them. */
static inline uint32_t flow_slot_room(const struct flow_live *live)
{
	size_t digest = live->digest_at ? sizeof(struct digest_thread) : 0;

	return (uint32_t)((live->slot_bytes - FLOW_SLOT_PAYLOAD - digest - live->gather_bytes) / sizeof(uint32_t));
}

static inline uint64_t flow_slot_gather_offset(const struct flow_live *live)
{
	return live->slot_bytes - live->gather_bytes;
}

static inline uint64_t flow_slot_digest_offset(const struct flow_live *live)
{
	return live->slot_bytes - sizeof(struct digest_thread);
}

static inline uint32_t *flow_slot_words(const struct flow_slot *slot)
{
	return (uint32_t *)((uintptr_t)slot + FLOW_SLOT_PAYLOAD);
}
