/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few sessions among many that differ, found without labels (compare_find_outliers). Two searches over the same
 * table of sessions and places: time (outlier_time.c) and calls (outlier_calls.c). Only clients that exchanged bytes
 * count.
 */
#pragma once

#include "flow/analyse/compare.h"

/* At most this share of the sessions is called different from the rest. */
#define OUTLIER_SHARE 0.15

#define OUTLIER_WORDS (PROFILE_SLOTS / 64)

/* Of the tables that the searches read over and over, what is resident before its pages are released. */
#define OUTLIER_RESIDENT ((size_t)4 << 20)
/* What the kernel maps around a row that is read alone. */
#define OUTLIER_ALONE ((size_t)64 << 10)

struct outlier_set {
	uint64_t words[OUTLIER_WORDS];
	uint32_t count;
};

/* Something that few sessions do, or take time for. */
struct outlier_mark {
	struct outlier_set few;
	uint32_t place; /* 0: the session as a whole */
	uint32_t set;   /* index of the first mark with the same sessions */
	enum divergence_kind kind;
	enum profile_time time;
	double good_calls, bad_calls;
	double good_ns, bad_ns; /* per session */
	double excess;          /* nanoseconds, over all of them */
	double chance;
};

struct outliers {
	struct flow_sessions *s;
	const struct profile *profile;
	const struct profile_cells *cells;
	uint32_t *weight;          /* by slot: sessions it stands for; 0: not examined */
	double all;                /* sum of these */
	uint32_t *height;          /* by place: levels of callees */
	bool *many_callers;        /* by function, in sessions */
	bool *is_shared;           /* the same, anywhere */
	struct outlier_set paced;  /* sessions whose client sent in more pieces than most */
	struct outlier_set begins; /* first session of a thread, or of the recording */
	VEC(struct outlier_mark) marks;
	double seen_own_ns, seen_cpu_ns, seen_client_ns; /* differences that would have been found in two sessions */
	uint32_t looked_at;                              /* places where time was compared */
	size_t read_bytes;                               /* of tables, since pages were released */
};

/* So many bytes of the tables are about to be read: the tables may be larger than memory should be. */
static inline void outlier_will_read(struct outliers *o, size_t bytes)
{
	o->read_bytes += bytes;
	if (o->read_bytes < OUTLIER_RESIDENT)
		return;
	spill_trim();
	o->read_bytes = 0;
}

static inline void outlier_set_add(struct outlier_set *set, uint32_t slot)
{
	uint64_t bit = UINT64_C(1) << slot % 64;

	set->count += !(set->words[slot / 64] & bit);
	set->words[slot / 64] |= bit;
}

static inline bool outlier_set_has(const struct outlier_set *set, uint32_t slot)
{
	return set->words[slot / 64] >> slot % 64 & 1;
}

uint32_t outlier_set_common(const struct outlier_set *a, const struct outlier_set *b);

/* Root call of a segment. */
bool outlier_is_begin(const struct outliers *o, uint32_t place);
/* A call of a dispatcher without a socket: it moves on to the next session. */
bool outlier_is_dispatch(const struct outliers *o, uint32_t place);

static inline const struct profile_cell *outlier_cells(const struct outliers *o, uint32_t place, size_t *ret_count)
{
	return profile_cells_at(o->cells, place, ret_count);
}

/* The best mark of each search; NULL: none. The second one is mentioned, not accused. */
const struct outlier_mark *outlier_find_time(struct outliers *o);
const struct outlier_mark *outlier_find_calls(struct outliers *o);
