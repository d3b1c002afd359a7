/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording summarised while the program runs. Instead of being written, a full chunk is folded into the digest: a
 * fixed-size area in TRACE.live, shared by all threads of all observed processes. It holds
 *
 *  nodes     call trees, each distinct one once;
 *  sessions  open connections, and recently closed ones: threads may still add to them;
 *  rows      finished sessions, one row for all with the same tree, port and similar duration.
 *
 * A node is a state: that of a function just called, or a predecessor state plus a finished call (with everything
 * inside it, repeated N times). A call that returns hands its state, which is its tree, to its caller. So a call costs
 * one state transition, and most transitions repeat the last one.
 *
 * This file and digest.c are also part of the runtime: only the compiler's headers, no allocation, and every loop and
 * index is bounded. A digest from the file of a killed program is checked first (digest_check).
 */
#pragma once

#include <stdbool.h>

#include "flow/trace/trace_format.h"

#define DIGEST_NODES    (1u << 17)
#define DIGEST_SLOTS    (DIGEST_NODES * 2)
#define DIGEST_SESSIONS (1u << 12)
#define DIGEST_ROWS     (1u << 13)
#define DIGEST_DEPTH    256u /* deeper calls are counted, not kept */
#define DIGEST_STRANDS  3u
#define DIGEST_ROW_LONG 256u /* calls in a row before it is split into pieces */
#define DIGEST_FN       65536u
#define DIGEST_VALUES   (1u << 10)
#define DIGEST_BLOCK    UINT32_MAX /* function of a node that is a row of segments, or a row of such rows */
#define DIGEST_PIECES                                                                                                  \
	(UINT32_MAX - 1) /* function of a node that is a call with a split row: its children are the pieces */

struct digest_node {
	uint32_t prev;  /* predecessor state; 0: a function that has called nothing yet */
	uint32_t child; /* called tree, or the function */
	uint32_t times; /* repeat count; 0: child is a function */
	uint32_t next;  /* last transition from here; a prediction */
	uint64_t count; /* calls that ended in this state */
	uint64_t ticks; /* their total time */
};

/* A growing row: a state, and its last tree, which may repeat. */
struct digest_run {
	uint32_t state;
	uint32_t last;
	uint32_t times;
	uint32_t cells;
	uint32_t pieces; /* state of the earlier pieces of a long row; 0: none */
};

/* Work of one thread for a session. */
struct digest_strand {
	uint32_t thread; /* 0: unused */
	struct digest_run run;
	uint64_t start, end;
};

enum digest_role { DIGEST_OTHER, DIGEST_SERVED, DIGEST_MADE, DIGEST_LISTENING };

struct digest_session {
	uint32_t socket; /* number in the trace; 0: free */
	uint32_t role;   /* enum digest_role */
	uint32_t owner;  /* socket of the session it belongs to */
	uint32_t closed;
	uint32_t unanswered; /* the last data was received, not sent */
	uint32_t requests;
	uint32_t segments;
	uint32_t errors;
	uint32_t pid, tid;
	uint64_t birth;
	uint64_t start, end; /* UINT64_MAX: no work yet */
	uint64_t busy, wait;
	uint64_t tx, rx;
	uint32_t described[FLOW_WORDS(struct flow_socket_words)];
	struct digest_strand strands[DIGEST_STRANDS];
};

/* Finished sessions. Rows without a session (bucket DIGEST_REST) hold segments of no session. Ticks are sums. */
#define DIGEST_REST   UINT16_MAX
#define DIGEST_OTHERS 0u /* row for everything that did not fit */

struct digest_row {
	uint32_t tree;
	uint16_t bucket; /* log2 of the duration, halved */
	uint16_t lport;
	uint64_t count;
	uint64_t open; /* of these, still open when the recording ended */
	uint64_t span, span_max;
	uint64_t busy, wait;
	uint64_t tx, rx;
	uint64_t requests, errors, segments;
	uint64_t first, last; /* start of the first, end of the last */
	uint32_t pid, tid;    /* of the first */
	uint32_t described[FLOW_WORDS(struct flow_socket_words)];
};

/*
 * Words of a previous call of a function, all untimed calls: where they repeat, the tree is known without looking at
 * the calls. The returns that end it are counted in the next word.
 */
#define DIGEST_MEMO_WORDS 60u

struct digest_memo {
	uint32_t node;
	uint32_t count; /* words; 0: none */
	uint32_t returns;
	uint32_t misses;
	uint32_t words[DIGEST_MEMO_WORDS];
};

/* A value passed between threads. */
struct digest_value {
	uint64_t value;
	uint32_t socket; /* session it carries; 0: free */
	uint32_t reserved;
};

/* Start of a SUMMARY chunk; the nodes (from 0) and the rows follow. */
struct digest_head {
	uint32_t node_count;
	uint32_t row_count;
	uint32_t untimed;
	uint32_t reserved;
	uint64_t events, calls; /* folded */
	uint64_t dispatched;    /* calls of dispatcher functions: in no tree */
	uint64_t cut;           /* calls in no tree: too deep, or no room */
	uint64_t late;          /* segments of sessions already counted */
	uint64_t lost;
	uint64_t first, last; /* ticks */
	uint64_t threads;
};
_Static_assert(sizeof(struct digest_head) == 88 && sizeof(struct digest_node) == 32 && sizeof(struct digest_row) == 176,
	       "layout of a summary");

struct digest {
	struct digest_head head;
	uint32_t lock; /* tid of the holder */
	uint32_t reserved;
	uint64_t short_ticks;
	uint8_t is_dispatcher[DIGEST_FN]; /* serves several sessions in turn */
	uint32_t leaves[DIGEST_FN];       /* state after a call of this function */
	uint32_t slots[DIGEST_SLOTS];     /* hash table of all other nodes */
	uint32_t row_slots[DIGEST_ROWS * 2];
	struct digest_memo memos[FLOW_SHORT_FN];
	struct digest_value values[DIGEST_VALUES];
	struct digest_session sessions[DIGEST_SESSIONS];
	struct digest_row rows[DIGEST_ROWS];
	struct digest_node nodes[DIGEST_NODES];
};

struct digest_frame {
	uint32_t fn;
	uint32_t at; /* index of its call word in this chunk; UINT32_MAX: in an earlier one */
	struct digest_run run;
	uint32_t session; /* dispatcher: socket of the last operation in this function itself */
	uint32_t touched; /* socket it served last */
	uint32_t first;   /* cells of the run when it first did so through a call, plus 1; 0: never */
	uint32_t waited;
	uint64_t ticks;
};

/* Position of a thread, next to its buffer in the slot. */
struct digest_thread {
	uint32_t thread;
	uint32_t pid, tid;
	uint32_t depth;
	uint32_t root;     /* depth of the open segment's root call; UINT32_MAX: none */
	uint32_t session;  /* socket of the open segment; 0: none */
	uint32_t has_data; /* data was exchanged in it */
	uint32_t reserved;
	struct digest_frame frames[DIGEST_DEPTH];
};

void digest_begin(struct digest *digest, uint64_t short_ticks);
void digest_thread_begin(struct digest_thread *thread, const struct flow_chunk *chunk);
/* Folds a chunk of events. */
void digest_fold(struct digest *digest, struct digest_thread *thread, const struct flow_chunk *chunk,
		 const uint32_t *words);
/* The thread has ended: closes what is open. */
void digest_thread_end(struct digest *digest, struct digest_thread *thread, uint64_t ticks);
/* Ends the recording: turns all sessions into rows. */
void digest_end(struct digest *digest, uint64_t ticks);

/* Whether the digest is consistent; its program may have been killed or have overwritten it. */
bool digest_check(struct digest *digest);
bool digest_thread_check(const struct digest *digest, const struct digest_thread *thread);
