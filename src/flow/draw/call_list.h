/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls of one session, one after the other, with their times: what a diagram of it is drawn from. Calls of several threads
 * are in one list, segment by segment in the order of time.
 */
#pragma once

#include "flow/analyse/compare.h"
#include "view/sequence.h"

#define STORY_NONE UINT32_MAX

struct story_call {
	uint32_t fn;
	uint32_t thread;            /* index */
	uint32_t parent;            /* call, STORY_NONE: none */
	uint32_t first, last, next; /* calls inside, and the one after it; STORY_NONE */
	uint32_t node;              /* its tree: equal calls have equal numbers */
	uint32_t size;              /* calls in it, itself included */
	uint32_t depth;
	uint64_t start_ticks, end_ticks;
	bool is_marked; /* the place that the picture is about */
	bool has_value;
	uint8_t value_kind; /* enum flow_value */
	uint64_t value;     /* handed over in this very call */
};

struct story {
	const struct flow_trace *trace;
	const struct flow_row *session;
	int32_t fd; /* of its connection; -1: it has none */
	VEC(struct story_call) calls;
	VEC(uint32_t) roots; /* in the order of time */
	struct forest forest;
};

/* marked: a place of the comparison's profile that is to be marked, with that profile; NULL: none. */
struct story *story_new(struct flow_sessions *sessions, uint32_t session, const struct profile *profile,
			uint32_t marked);
/* Of the marked calls only those stay marked that take the time, if calls do: a place may be passed in no time as well. */
void story_mark_long(struct story *story);
void story_free(struct story *story);

static inline void story_freep(struct story **story)
{
	story_free(*story);
}

enum story_lines { STORY_FUNCTIONS, STORY_MODULES, STORY_THREADS };

extern const char *const story_line_names[];

struct story_options {
	enum story_lines lines;
	uint64_t depth;     /* calls nested deeper are folded; 0: as deep as fits */
	uint64_t max_lines; /* life lines; 0: 16 */
	uint64_t max_items; /* rows; 0: 4000 */
	bool *is_hidden;    /* by function: folded into their callers; NULL: none */
	const char *mark;   /* what to write at the marked place */
	double least_share; /* calls that take less of the session are folded, segments not; 0: none are */
	bool is_unfolded;   /* what repeats is drawn as often as it was there, unless that is very often */
	const char *prefix; /* of the life lines' names; NULL: none */
};

void story_draw(const struct story *story, const struct story_options *options, struct sequence *ret_sequence);
