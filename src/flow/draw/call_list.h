/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls of one session in sequence, with times: the input of a diagram. Calls of several threads are in one list,
 * segment by segment in order of time.
 */
#pragma once

#include "flow/analyse/compare.h"

#define CALL_NONE UINT32_MAX

struct listed_call {
	uint32_t fn;
	uint32_t thread;            /* index */
	uint32_t parent;            /* CALL_NONE: none */
	uint32_t first, last, next; /* children, and next sibling; CALL_NONE */
	uint32_t node;              /* its tree: equal calls have equal numbers */
	uint32_t size;              /* calls in it, including itself */
	uint32_t depth;
	uint64_t start_ticks, end_ticks;
	bool is_marked; /* the subject of the diagram */
	bool has_value;
	uint8_t value_kind; /* enum flow_value */
	uint64_t value;     /* passed in this call itself */
};

struct call_list {
	const struct flow_trace *trace;
	const struct flow_row *session;
	int32_t fd; /* of its connection; -1: none */
	VEC(struct listed_call) calls;
	VEC(uint32_t) roots; /* in order of time */
	struct forest forest;
};

/* marked: place of the profile to mark; NULL: none. */
struct call_list *call_list_new(struct flow_sessions *sessions, uint32_t session, const struct profile *profile,
				uint32_t marked);
/* Keeps the mark only on calls that take the time, if any: a place may also be passed quickly. */
void call_list_mark_long(struct call_list *list);
void call_list_free(struct call_list *list);

static inline void call_list_freep(struct call_list **list)
{
	call_list_free(*list);
}
