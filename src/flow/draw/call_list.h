/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of one session, one after the other, with their times: what a diagram of it is drawn from. Calls of several
 * threads are in one list, segment by segment in the order of time.
 */
#pragma once

#include "flow/analyse/compare.h"

#define CALL_NONE UINT32_MAX

struct listed_call {
	uint32_t fn;
	uint32_t thread;            /* index */
	uint32_t parent;            /* call, CALL_NONE: none */
	uint32_t first, last, next; /* calls inside, and the one after it; CALL_NONE */
	uint32_t node;              /* its tree: equal calls have equal numbers */
	uint32_t size;              /* calls in it, itself included */
	uint32_t depth;
	uint64_t start_ticks, end_ticks;
	bool is_marked; /* the place that the picture is about */
	bool has_value;
	uint8_t value_kind; /* enum flow_value */
	uint64_t value;     /* handed over in this very call */
};

struct call_list {
	const struct flow_trace *trace;
	const struct flow_row *session;
	int32_t fd; /* of its connection; -1: it has none */
	VEC(struct listed_call) calls;
	VEC(uint32_t) roots; /* in the order of time */
	struct forest forest;
};

/* marked: a place of the comparison's profile that is to be marked, with that profile; NULL: none. */
struct call_list *call_list_new(struct flow_sessions *sessions, uint32_t session, const struct profile *profile,
				uint32_t marked);
/* Of the marked calls, only those that take the time stay marked, if calls do: a place may be passed in no time. */
void call_list_mark_long(struct call_list *list);
void call_list_free(struct call_list *list);

static inline void call_list_freep(struct call_list **list)
{
	call_list_free(*list);
}
