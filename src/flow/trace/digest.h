/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording that is summarised while the program runs. Instead of being written, a full chunk is folded into the
 * digest: one area in TRACE.live that all threads of all observed processes share, of fixed size. It holds
 *
 *	nodes	  call trees, each different one once;
 *	sessions  the connections that are open, and those that closed lately: threads may have something to add;
 *	rows	  sessions that are over, one row for all with the same tree, port and about the same duration.
 *
 * A node is a state: that of a function which was just called, or the state before and a call (with everything inside
 * it, so many times in a row) that has come to its end since. A call that returns leaves the state it is in, which is
 * its tree, to its caller. So a call costs a step from state to state, and most steps go where they went the last time.
 *
 * This file and digest.c are part of the runtime, too: nothing but the compiler's headers, no allocation, and every
 * loop and every index has a bound. What is taken from the file of a program that was killed is checked first
 * (digest_check).
 */
#pragma once

#include <stdbool.h>

#include "flow/trace/trace_format.h"

#define DIGEST_NODES    (1u << 17)
#define DIGEST_SLOTS    (DIGEST_NODES * 2)
#define DIGEST_SESSIONS (1u << 12)
#define DIGEST_ROWS     (1u << 13)
#define DIGEST_DEPTH    256u /* calls nested deeper are counted, not kept */
#define DIGEST_STRANDS  3u
#define DIGEST_ROW_LONG 256u /* calls in a row, after which it is cut into pieces */
#define DIGEST_FN       65536u
#define DIGEST_VALUES   (1u << 10)
#define DIGEST_BLOCK    UINT32_MAX /* function of a node that is a row of segments, or of such rows */
#define DIGEST_PIECES                                                                                                  \
	(UINT32_MAX - 1) /* of one that is a call with a long row, cut into pieces: calls of that function each */

struct digest_node {
	uint32_t prev;  /* the state before; 0: this is the call of a function that has called nothing yet */
	uint32_t child; /* the tree that was called, or the function */
	uint32_t times; /* in a row; 0: child is a function */
	uint32_t next;  /* where the last step from here went; a guess */
	uint64_t count; /* calls that ended in this state */
	uint64_t ticks; /* that they took */
};

/* A row that grows: a state, and the last tree of it, which may be repeated. */
struct digest_run {
	uint32_t state;
	uint32_t last;
	uint32_t times;
	uint32_t cells;
	uint32_t pieces; /* a state: the row was long, these are its earlier parts; 0: it was not */
};

/* What one thread did for a session. */
struct digest_strand {
	uint32_t thread; /* 0: not used */
	struct digest_run run;
	uint64_t start, end;
};

enum digest_role { DIGEST_OTHER, DIGEST_SERVED, DIGEST_MADE, DIGEST_LISTENING };

struct digest_session {
	uint32_t socket; /* number in the trace; 0: this place is free */
	uint32_t role;   /* enum digest_role */
	uint32_t owner;  /* socket whose session this one belongs to */
	uint32_t closed;
	uint32_t unanswered; /* the last data was received */
	uint32_t requests;
	uint32_t segments;
	uint32_t errors;
	uint32_t pid, tid;
	uint64_t birth;
	uint64_t start, end; /* UINT64_MAX: nothing was done for it */
	uint64_t busy, wait;
	uint64_t tx, rx;
	uint32_t described[FLOW_WORDS(struct flow_socket_words)];
	struct digest_strand strands[DIGEST_STRANDS];
};

/* Sessions that are over. Rows of no session (bucket DIGEST_REST): a segment that belongs to none. Ticks are sums. */
#define DIGEST_REST   UINT16_MAX
#define DIGEST_OTHERS 0u /* the row for everything that found no room */

struct digest_row {
	uint32_t tree;
	uint16_t bucket; /* binary logarithm of the duration, halved */
	uint16_t lport;
	uint64_t count;
	uint64_t open; /* of them, not closed when the recording ended */
	uint64_t span, span_max;
	uint64_t busy, wait;
	uint64_t tx, rx;
	uint64_t requests, errors, segments;
	uint64_t first, last; /* beginning of the first, end of the last one */
	uint32_t pid, tid;    /* of the first */
	uint32_t described[FLOW_WORDS(struct flow_socket_words)];
};

/*
 * Words that a function's call was seen to consist of, all of them calls without time: where they stand again, the tree
 * is known without a look at its calls. The returns that end it are counted in the word after them.
 */
#define DIGEST_MEMO_WORDS 60u

struct digest_memo {
	uint32_t node;
	uint32_t count; /* words; 0: none are known */
	uint32_t returns;
	uint32_t misses;
	uint32_t words[DIGEST_MEMO_WORDS];
};

/* A value on its way from thread to thread. */
struct digest_value {
	uint64_t value;
	uint32_t socket; /* whose work it is; 0: this place is free */
	uint32_t reserved;
};

/* What a chunk of kind SUMMARY begins with; then the nodes, from 0, then the rows. */
struct digest_head {
	uint32_t node_count;
	uint32_t row_count;
	uint32_t untimed;
	uint32_t reserved;
	uint64_t events, calls; /* that were folded */
	uint64_t dispatched;    /* calls of functions that go from session to session: in no tree */
	uint64_t cut;           /* calls that are in no tree: too deep, or there was no room */
	uint64_t late;          /* segments of sessions that were counted already */
	uint64_t lost;
	uint64_t first, last; /* ticks */
	uint64_t threads;
};
_Static_assert(sizeof(struct digest_head) == 88 && sizeof(struct digest_node) == 32 && sizeof(struct digest_row) == 176,
	       "the layout of a summary");

struct digest {
	struct digest_head head;
	uint32_t lock; /* tid of who is at work here */
	uint32_t reserved;
	uint64_t short_ticks;
	uint8_t is_dispatcher[DIGEST_FN]; /* it goes from session to session */
	uint32_t leaves[DIGEST_FN];       /* state after the call of this function */
	uint32_t slots[DIGEST_SLOTS];     /* of all other nodes */
	uint32_t row_slots[DIGEST_ROWS * 2];
	struct digest_memo memos[FLOW_SHORT_FN];
	struct digest_value values[DIGEST_VALUES];
	struct digest_session sessions[DIGEST_SESSIONS];
	struct digest_row rows[DIGEST_ROWS];
	struct digest_node nodes[DIGEST_NODES];
};

struct digest_frame {
	uint32_t fn;
	uint32_t at; /* word of its call, in the chunk at hand; UINT32_MAX: in an earlier one */
	struct digest_run run;
	uint32_t session; /* of a dispatcher: socket of the last operation in this very function */
	uint32_t touched; /* socket it worked for last */
	uint32_t first;   /* cells of the run when it first did so through a call, plus 1; 0: it did not */
	uint32_t waited;
	uint64_t ticks;
};

/* Where a thread is: beside its buffer in its slot. */
struct digest_thread {
	uint32_t thread;
	uint32_t pid, tid;
	uint32_t depth;
	uint32_t root;     /* depth of the open segment's outermost call, UINT32_MAX: none is open */
	uint32_t session;  /* socket of the open segment, 0 */
	uint32_t has_data; /* was exchanged in it */
	uint32_t reserved;
	struct digest_frame frames[DIGEST_DEPTH];
};

void digest_begin(struct digest *digest, uint64_t short_ticks);
void digest_thread_begin(struct digest_thread *thread, const struct flow_chunk *chunk);
/* Folds a chunk of events. */
void digest_fold(struct digest *digest, struct digest_thread *thread, const struct flow_chunk *chunk,
		 const uint32_t *words);
/* Nothing more comes from this thread: what is open ends here. */
void digest_thread_end(struct digest *digest, struct digest_thread *thread, uint64_t ticks);
/* No session lasts longer: they all become rows. */
void digest_end(struct digest *digest, uint64_t ticks);

/* Whether it can be worked with; it may come from a program that was killed, or that writes where it should not. */
bool digest_check(struct digest *digest);
bool digest_thread_check(const struct digest *digest, const struct digest_thread *thread);
