/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TRACE.live, next to a trace being recorded: memory shared by the observed processes, the recorder and readers, and
 * mapped by all of them. A header with options and counters, then one slot per thread: its state, its open calls, and
 * the chunk being filled. A thread writes its chunk to the trace when it is full; slots of a killed program remain
 * here.
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
	uint32_t header_bytes; /* offset of the first slot */
	uint32_t slot_bytes;
	uint32_t slot_count;
	uint32_t clock;  /* enum flow_clock */
	uint32_t paused; /* recording is paused */
	/* Last number assigned. */
	uint32_t last_thread;
	uint32_t last_fn;
	uint32_t last_module;
	uint32_t last_socket;
	uint32_t slot_hint;
	uint32_t recorder_pid;
	/* Options. */
	uint32_t max_depth;   /* omit deeper calls */
	uint32_t stamp_depth; /* deeper calls carry no time */
	uint64_t min_ticks;   /* omit shorter calls */
	uint64_t max_bytes;   /* limit of the trace; 0: none */
	uint32_t sample;      /* record one socket in N; 0, 1: all */
	uint32_t sockets_off;
	uint32_t gather_bytes; /* at the end of each slot: short chunks collected for one write; 0: none */
	uint32_t delay_ticks;  /* minimum time between two looks at a thread's run-queue delay; 0: none */
	uint64_t digest_at;    /* offset of the digest into which chunks are folded; 0: none */
	/* Statistics. */
	uint64_t written_bytes; /* of event chunks */
	uint64_t lost;          /* events of threads without a slot */
	uint64_t dropped;       /* events of chunks that could not be written */
	uint32_t last_error;    /* errno of the last failed write */
	uint32_t toggle_signal; /* pauses and resumes; 0: none */
	/* Functions to record or omit: "+glob\0-glob\0...\0"; empty: all. */
	char filters[FLOW_FILTER_BYTES];
	/* Numbers of functions: module and offset, in an open hash table. */
	uint64_t fn_keys[FLOW_FN_SLOTS];
	uint32_t fn_ids[FLOW_FN_SLOTS];
	/* enum flow_slot_state per slot. A slot is not touched before its disk blocks are allocated. */
	uint32_t states[];
};

/* Addresses in here are valid only in the owner; their differences are valid everywhere. */
struct flow_slot {
	uint32_t pid;
	uint32_t tid;
	uint32_t index; /* of this slot */
	uint32_t reserved;
	/* Combined, so that the hooks check both at once and leave with one store. */
	union {
		uint64_t state;
		struct {
			uint32_t depth; /* open calls, unrecorded ones included */
			uint32_t busy;  /* the owner is in the recorder: low half of its stack pointer, or 0 */
		};
	};
	uint32_t *at;    /* next word */
	uint32_t *limit; /* beyond it the slow path is taken; NULL: at once */
	uint32_t *base;  /* first word */
	uint64_t last;   /* time of the last event */
	uint64_t stamp_depth;
	uint64_t untimed; /* number of levels from stamp_depth on without time */
	uint32_t noted;   /* calls open after the last written event; returns since then are pending */
	/*
	 * Calls in this chunk, and its words beyond one per event, up to `counted`. What the fast paths wrote after it
	 * follows from words and depth (flow_slot_count). NULL: both are current, the slow path is taken.
	 */
	uint64_t calls;
	uint64_t extra;
	uint32_t *counted;
	uint32_t counted_noted;    /* `noted` at that point */
	uint32_t returns;          /* words after it that are not calls */
	uint64_t lost;             /* since the last chunk, marked in this one */
	uint64_t unmarked;         /* lost and not yet marked */
	uint64_t skipped;          /* omitted on purpose since recording was paused */
	uint32_t why;              /* enum flow_lost of unmarked */
	uint32_t muted;            /* the thread works for a socket that is not sampled */
	uint32_t resync;           /* write the open calls before the next event */
	uintptr_t deep;            /* stack pointer when the calls became too deep */
	struct flow_frame *frames; /* parallel to the open functions, when calls may be taken back */
	char name[16];             /* thread name last recorded */
	uintptr_t self;            /* pthread_t of the thread */
	struct pack_room *pack;    /* buffer to pack chunks before they are written; NULL: no packing */
	/* Bytes of collected chunks; upper half: number of the first chunk not among them. */
	uint64_t gathered;
	uint64_t delay_at;  /* time of the last look at the run-queue delay; 0: none yet */
	uint64_t delay_ns;  /* known then */
	uint64_t runs;      /* the same: times that the thread was given a CPU, */
	uint64_t cpu_ns;    /* and the time that it had one */
	uint64_t own_ticks; /* time that the recorder itself took since then, to write chunks */
	/* Socket that the last operation could not use at once, or gave to epoll; 0: none. */
	uint32_t asked_socket;
	int32_t asked_fd;
};

enum flow_slot_state {
	FLOW_SLOT_FREE = 0,
	FLOW_SLOT_TAKEN = 1,
	FLOW_SLOT_USED = 2,
	FLOW_SLOT_MASK = 3,
	FLOW_SLOT_BACKED = 4, /* flag: disk blocks are allocated */
};

/* State to take back a call that turns out too short. */
struct flow_frame {
	uint32_t *at;   /* its word; NULL: not recorded */
	uint64_t last;  /* time of the previous event */
	uint64_t start; /* its own time */
	uint32_t seq;   /* of the chunk */
	uint32_t reserved;
};

/*
 * Layout of a slot. The chunk header directly precedes its words. The distance from slot to stack is not a multiple of
 * 4096, to avoid 4K aliasing of stores; no difference was measured here.
 */
#define FLOW_SLOT_STACK   (4096u + 512u)
#define FLOW_SLOT_PAYLOAD (8192u + FLOW_STACK_MAX * (uint32_t)sizeof(void *))
#define FLOW_SLOT_CHUNK   (FLOW_SLOT_PAYLOAD - (uint32_t)sizeof(struct flow_chunk))

/*
 * Updates the counters. A call adds one word, and one to the depth after subtracting its counted returns; a word of
 * returns adds one word and subtracts its count. So the difference between words and depth gives the returns.
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

/* The same by scanning the words. */
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

/* Words of a chunk that fit into a slot. The thread's digest state follows them. */
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
