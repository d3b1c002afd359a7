/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the digest; code that folds chunks includes flow/trace/digest.h. */
#pragma once

#include "flow/trace/digest.h"

#define likely(x)    __builtin_expect(!!(x), 1)
#define unlikely(x)  __builtin_expect(!!(x), 0)
#define min_of(a, b) ((a) < (b) ? (a) : (b))
#define max_of(a, b) ((a) > (b) ? (a) : (b))
#define COLD         __attribute__((noinline, cold))

#define NO_ROOT      UINT32_MAX
#define NODE_BLOCK   1u
#define NODE_PIECES  2u
#define PROBES       64u

/* Hidden from the observed program. */
#pragma GCC visibility push(hidden)

/* Finds or creates the node; 0: full. */
uint32_t digest_find_node(struct digest *d, uint32_t prev, uint32_t child, uint32_t times);

/* --- nodes --- */

static inline uint32_t digest_hash(uint32_t a, uint32_t b, uint32_t c)
{
	uint64_t x =
		((uint64_t)a << 32 | b) * UINT64_C(0x9E3779B97F4A7C15) ^ (uint64_t)c * UINT64_C(0xC2B2AE3D27D4EB4F);

	return (uint32_t)((x ^ x >> 29) * UINT64_C(0xBF58476D1CE4E5B9) >> 32);
}

static inline bool digest_node_is(const struct digest_node *node, uint32_t prev, uint32_t child, uint32_t times)
{
	return node->prev == prev && node->child == child && node->times == times;
}

static inline uint32_t digest_leaf(struct digest *d, uint32_t fn)
{
	uint32_t leaf;

	if (unlikely(fn >= DIGEST_FN))
		return digest_find_node(d, 0, fn, 0);
	leaf = d->leaves[fn];
	if (unlikely(!leaf))
		leaf = d->leaves[fn] = digest_find_node(d, 0, fn, 0);
	return leaf;
}

/* State after the tree is called that many times. Without room the calls are omitted. */
static inline uint32_t digest_step(struct digest *d, uint32_t state, uint32_t child, uint32_t times)
{
	uint32_t next = d->nodes[state].next;

	if (likely(digest_node_is(&d->nodes[next], state, child, times)))
		return next;
	next = state ? digest_find_node(d, state, child, times) : 0;
	if (!next) {
		d->head.cut += times;
		return state;
	}
	d->nodes[state].next = next;
	return next;
}

/* --- growing rows --- */

/* Moves a piece of a long row aside and restarts the row. */
static inline void digest_put_piece_aside(struct digest *d, struct digest_run *run, uint32_t fn)
{
	if (!run->pieces)
		run->pieces = fn == DIGEST_BLOCK ? NODE_BLOCK : NODE_PIECES;
	run->pieces = digest_step(d, run->pieces, run->state, 1);
	run->state = digest_leaf(d, fn);
	run->cells = 0;
}

static inline void digest_run_add(struct digest *d, struct digest_run *run, uint32_t child, uint32_t fn)
{
	if (run->last == child && run->times != UINT32_MAX) {
		run->times++;
		return;
	}
	if (run->times) {
		run->state = digest_step(d, run->state, run->last, run->times);
		if (unlikely(++run->cells >= DIGEST_ROW_LONG))
			digest_put_piece_aside(d, run, fn);
	}
	run->last = child;
	run->times = 1;
}

static inline uint32_t digest_run_end(struct digest *d, const struct digest_run *run)
{
	uint32_t state = run->state;

	if (run->times)
		state = digest_step(d, state, run->last, run->times);
	return unlikely(run->pieces) ? digest_step(d, run->pieces, state, 1) : state;
}

/* An operation on a socket. */
struct digest_operation {
	enum flow_op op;
	uint64_t start, end;
	uint32_t socket;
	int32_t result;
	uint64_t aux;
};

static inline struct digest_frame *digest_innermost(struct digest_thread *t)
{
	uint32_t depth = min_of(t->depth, DIGEST_DEPTH);

	return depth ? &t->frames[depth - 1] : NULL;
}

/* --- sessions (digest_session.c) --- */

/* Adds a segment to the thread's session, or to none. */
void digest_add_segment(struct digest *d, const struct digest_thread *t, uint32_t tree, uint64_t start, uint64_t end);
void digest_add_rest(struct digest *d, const struct digest_thread *t, uint32_t tree, uint64_t start, uint64_t end);
void digest_take_operation(struct digest *d, struct digest_thread *t, const struct digest_operation *op);
void digest_take_socket(struct digest *d, const uint32_t *words, uint64_t now);
/* A value is pushed to a queue, or popped from it. */
void digest_take_value(struct digest *d, struct digest_thread *t, enum flow_value kind, uint64_t value, uint64_t ticks);

#pragma GCC visibility pop
