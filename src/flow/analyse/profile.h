/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where calls were made and how long they took: a tree of places, a place being a function at the end of a path of
 * callers. A function that calls itself, directly or through others, is at one place: where it was called first.
 * Figures are kept for several groups of sessions at once, so that groups can be compared place by place.
 *
 * The time between a session's segments is kept, too: it belongs to the place of its last operation, where the program
 * gave up control to wait for something.
 */
#pragma once

#include "flow/analyse/pair_map.h"
#include "flow/analyse/session.h"

#define PROFILE_GROUPS 3 /* two that are compared, and the rest */
#define PROFILE_SEEN   4096

struct profile_figures {
	uint64_t calls;
	uint64_t self_ticks; /* callees left out */
	uint64_t wait_ticks; /* of sessions that had their last operation here */
	uint64_t waits;
	uint64_t max_ticks; /* of a call, callees included */
};

struct profile_place {
	uint32_t fn;
	uint32_t parent; /* 0: the bottom */
	uint32_t depth;
	uint32_t first_child, last_child, next; /* in the order in which they were met */
	bool is_dispatcher;
	struct profile_figures group[PROFILE_GROUPS];
};

struct profile {
	const struct flow_trace *trace;
	VEC(struct profile_place) places; /* [0] is the bottom of all stacks */
	struct pair_map index;            /* parent and function -> place */
	/*
	 * Which of the first sessions of each group were at a place: a row of words by place for every 64 sessions, so
	 * that what one session does stays close together. The first half of the rows is group 0's; a row is NULL when
	 * it has no sessions.
	 */
	uint64_t *seen[2 * PROFILE_SEEN / 64];
	size_t seen_room;      /* places */
	uint32_t looked_at[2]; /* sessions of the groups that have a bit */
	uint32_t *weights;     /* sessions that a bit stands for; NULL: one each */
	bool is_full;          /* there were more places than are kept: deeper calls are counted in their callers */
};

/*
 * group_of has a group for every session of sessions->list (PROFILE_GROUPS: leave it out), rest_group is for what
 * belongs to none. NULL: all are of group 0.
 */
struct profile *profile_new(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group);
/* The same, and which sessions of the groups 0 and 1 were at which place. */
struct profile *profile_new_seen(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group);
void profile_free(struct profile *profile);
/* One without places, to be filled by hand. */
void profile_init(struct profile *profile);
void profile_done(struct profile *profile);

static inline void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

/* The place of fn called from `parent`; made when it is not there. */
uint32_t profile_place_at(struct profile *profile, uint32_t parent, uint32_t fn);
/* The same without making it; 0 when it is not there. */
uint32_t profile_place_find(const struct profile *profile, uint32_t parent, uint32_t fn);

/* Adds another trace's figures; fn_of has its functions in terms of this profile. Groups and bits stay as they are. */
void profile_merge(struct profile *profile, const struct profile *other, const uint32_t *fn_of);

/* What one session did at one place. */
struct profile_cell {
	uint32_t place;
	uint32_t slot;
	uint64_t calls;
	uint64_t ticks; /* its own, callees and waiting for the client left out */
};

/*
 * Session by session: of one session of `stride` (so many that each of at most PROFILE_SLOTS gets a slot) every place
 * it was at. The time that a call waits for its client, in a read as in a write, is the client's and in none of them.
 */
struct profile_cells {
	uint32_t stride;
	uint32_t slots;
	SPILL(struct profile_cell) list; /* by place, then by slot, once each */
	SPILL(uint64_t) own_ticks;       /* by index of a session, of all of them */
	uint32_t *reads;                 /* by slot: from the client */
	bool *is_client;                 /* by place: something was done there to a client's socket */
	bool *has_client;                /* by place: there or below */
	bool *is_push;                   /* by place: a value was handed over there */
	size_t *first;                   /* by place: where its cells begin; one more at the end */
	size_t place_count;              /* of these */
};

/* The cells of a place, by slot. */
static inline const struct profile_cell *profile_cells_at(const struct profile_cells *cells, uint32_t place,
							  size_t *ret_count)
{
	/* Places that were met later, in another trace, have none. */
	if (place >= cells->place_count) {
		*ret_count = 0;
		return NULL;
	}
	*ret_count = cells->first[place + 1] - cells->first[place];
	return vec_from(&cells->list, cells->first[place]);
}

/* What of a trace is laid out session by session. */
struct profile_view {
	struct flow_sessions *sessions;
	const uint32_t *fn_of;    /* as with profile_merge; NULL: it is the profile's own trace */
	const uint64_t *since_ns; /* by index of a session: calls that ended before that do not count; NULL: all do */
};

#define PROFILE_SLOTS 2048

/* Reads the trace again. Places are those of the profile. */
void profile_cells_fill(struct profile_cells *cells, struct profile *profile, const struct profile_view *view);
void profile_cells_done(struct profile_cells *cells);

/* How many of the sessions that were looked at were at the place. */
uint32_t profile_seen(const struct profile *profile, uint32_t place, unsigned group);

/* Calls and waits of a place and everything below it. Children have larger numbers than their parents. */
struct profile_sums {
	uint64_t *ticks[PROFILE_GROUPS]; /* by place: time inside and waiting, callees included */
	uint64_t *waits[PROFILE_GROUPS];
};

void profile_sum(const struct profile *profile, struct profile_sums *ret_sums);
void profile_sums_done(struct profile_sums *sums);
