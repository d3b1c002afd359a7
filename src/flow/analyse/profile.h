/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where calls were made and how long they took: a tree of places, where a place is a function at the end of a call
 * path. A recursive function, direct or indirect, is one place: that of its outermost call. Figures are kept for
 * several groups of sessions at once, for comparison place by place.
 *
 * The time between a session's segments is also kept: it belongs to the place of the last operation, where the program
 * gave up control to wait. Where sessions are compared (profile_new_examined, profile_cells), turn.h decides what it
 * counts as.
 */
#pragma once

#include "flow/analyse/pair_map.h"
#include "flow/analyse/session.h"
#include "flow/analyse/turn.h"

#define PROFILE_GROUPS 3 /* two to compare, and the rest */
#define PROFILE_SEEN   4096

struct profile_figures {
	uint64_t calls;
	uint64_t self_ticks; /* without callees */
	uint64_t wait_ticks; /* of sessions with their last operation here; examined: only what turn.h counts */
	uint64_t waits;
	uint64_t pause_ticks; /* part of wait_ticks: between segments, not for the client */
	uint64_t max_ticks;   /* of a call, including callees */
};

struct profile_place {
	uint32_t fn;
	uint32_t parent; /* 0: root */
	uint32_t depth;
	uint32_t first_child, last_child, next; /* in order of first occurrence */
	bool is_dispatcher;
	bool polls, moves_bytes; /* its operations: waits, reads and writes */
	struct profile_figures group[PROFILE_GROUPS];
};

/* Scheduling delays of the threads: time in which a session was not served for lack of a CPU. */
struct profile_delays {
	SPILL(uint64_t) of;  /* by session index: nanoseconds */
	SPILL(double) all;   /* per time that a thread was given a CPU, nanoseconds, also those of no session */
	SPILL(uint64_t) cpu; /* by session index: CPU time, nanoseconds */
	bool is_known;       /* the trace has them */
	bool has_cpu;        /* and CPU times */
};

struct profile {
	const struct flow_trace *trace;
	VEC(struct profile_place) places; /* [0] is the root of all stacks */
	struct pair_map index;            /* parent and function -> place */
	/*
	 * Which of the first sessions of each group pass a place: a row of words by place per 64 sessions, so that data
	 * of one session is close together. The first half of the rows is group 0's; NULL: no sessions.
	 */
	uint64_t *seen[2 * PROFILE_SEEN / 64];
	size_t seen_room;        /* places */
	uint32_t looked_at[2];   /* sessions of each group with a bit */
	uint32_t *weights;       /* sessions per bit; NULL: one each */
	uint32_t *order[2];      /* profile_order; NULL: not examined */
	size_t order_room;       /* places */
	uint32_t pause_order[2]; /* the same for the longest pause of a session, the latest of each group; 0: none */
	SPILL(uint64_t) spent;   /* by session index: ticks of all PROFILE_TIMES; empty: not examined */
	struct profile_delays delays; /* examined */
	bool is_full;                 /* place limit reached: deeper calls count in their callers */
};

/*
 * group_of: group of each session of sessions->list (PROFILE_GROUPS: exclude); rest_group: for calls outside sessions.
 * NULL: all in group 0.
 */
struct profile *profile_new(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group);
/* The same, also recording which sessions of groups 0 and 1 pass which place. */
struct profile *profile_new_seen(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group);
/* The same, with only the time that turn.h counts. */
struct profile *profile_new_examined(struct flow_sessions *sessions, const uint8_t *group_of, uint8_t rest_group);
void profile_free(struct profile *profile);
/* Without places, to be filled by the caller. */
void profile_init(struct profile *profile);
void profile_done(struct profile *profile);

static inline void profile_freep(struct profile **profile)
{
	profile_free(*profile);
}

/* For what fills them (profile.c): an array with room for more places, and profile.seen for them. */
void *profile_grown(void *items, size_t old, size_t room, size_t size);
void profile_make_room(struct profile *profile, size_t room);

/* Place of fn called from `parent`; created if missing. */
uint32_t profile_place_at(struct profile *profile, uint32_t parent, uint32_t fn);
/* The same without creating it; 0: missing. */
uint32_t profile_place_find(const struct profile *profile, uint32_t parent, uint32_t fn);

/* Adds figures of another trace; fn_of maps its functions. Groups and bits are unchanged. */
void profile_merge(struct profile *profile, const struct profile *other, const uint32_t *fn_of);

void profile_delays_done(struct profile_delays *delays);

/* One session at one place. */
struct profile_cell {
	uint32_t place;
	uint16_t slot;
	bool has_others; /* operations on other sockets than the client's */
	uint64_t calls;
	uint64_t ticks[PROFILE_TIMES]; /* without callees */
	uint64_t delay_ticks;          /* part of its own time: the thread was on the run queue */
	uint64_t late_ticks;           /* and in which the recorder was late (lateness.h) */
	uint64_t window_ticks;         /* own time since the last look at that, while the trace is read, */
	uint64_t window_long_ticks;    /* and that of calls with much of it */
};

/*
 * Own time of the thread without its scheduling delay, and without that of whoever it waited for: the time in which the
 * recorder was late as well, unless the thread was on a CPU. The two are mostly the same time.
 */
static inline uint64_t profile_cell_own(const struct profile_cell *cell)
{
	uint64_t own = cell->ticks[PROFILE_OWN], late = (int64_t)cell->late_ticks > 0 ? cell->late_ticks : 0;

	late = min_of(late, own - min_of(own, cell->ticks[PROFILE_CPU]));
	return own - min_of(own, max_of(cell->delay_ticks, late));
}

/*
 * Per-session figures: all places of each session with a slot. At most PROFILE_SLOTS have one: the longest, and of the
 * others every N-th.
 */
struct profile_cells {
	uint32_t slots;
	SPILL(uint32_t) slot_of;         /* by session index; DEMUX_NONE: none */
	uint32_t *session_of;            /* by slot: session index */
	SPILL(struct profile_cell) list; /* by place, then slot, unique */
	SPILL(uint64_t) own_ticks;       /* by session index, for all sessions */
	struct profile_delays delays;
	uint32_t *reads;    /* by slot: reads from the client, */
	uint32_t *answers;  /* and writes to it; consecutive ones of a segment are one */
	uint64_t *wrote_in; /* by slot, while reading: segment of the last write, 0: another socket since */
	bool *is_client;    /* by place: operation on a socket of the session */
	bool *has_client;   /* by place: there or below */
	bool *is_push;      /* by place: a value is pushed */
	bool *is_upstream;  /* by place: operation on another socket of the session */
	size_t *first;      /* by place: start of its cells, plus an end entry */
	size_t place_count; /* places with cells */
};

/* The cells of a place, by slot. */
static inline const struct profile_cell *profile_cells_at(const struct profile_cells *cells, uint32_t place,
							  size_t *ret_count)
{
	/* Places added later by another trace have none. */
	if (place >= cells->place_count) {
		*ret_count = 0;
		return NULL;
	}
	*ret_count = cells->first[place + 1] - cells->first[place];
	return vec_from(&cells->list, cells->first[place]);
}

/* Selection for per-session figures. */
struct profile_view {
	struct flow_sessions *sessions;
	const uint32_t *fn_of;    /* as in profile_merge; NULL: the profile's own trace */
	const uint64_t *since_ns; /* by session index: ignore calls that ended before; NULL: none */
	const uint8_t *group_of;  /* by session index: half of the slots for each of groups 0 and 1; NULL: no groups */
};

#define PROFILE_SLOTS 4096

/* Reads the trace again. Uses the places of the profile. */
void profile_cells_fill(struct profile_cells *cells, struct profile *profile, const struct profile_view *view);
void profile_cells_done(struct profile_cells *cells);
/* Its parts before and after the trace is read (profile_cells.c). */
void profile_cells_begin(struct profile_cells *cells, const struct profile_view *view);
void profile_cells_end(struct profile_cells *cells, const struct profile *profile);

/* Examined sessions of the group that pass the place. */
uint32_t profile_seen(const struct profile *profile, uint32_t place, unsigned group);

/* How early a session of the group calls the place: number of calls before it; UINT32_MAX: never. */
static inline uint32_t profile_order(const struct profile *profile, unsigned group, uint32_t place)
{
	return profile->order[group] && place < profile->order_room ? profile->order[group][place] : UINT32_MAX;
}
void profile_order_room(struct profile *profile, size_t room);

/* Calls and waits of a place and everything below. Children have larger numbers than their parents. */
struct profile_sums {
	uint64_t *ticks[PROFILE_GROUPS]; /* by place: time inside and waiting, including callees */
	uint64_t *waits[PROFILE_GROUPS];
};

void profile_sum(const struct profile *profile, struct profile_sums *ret_sums);
void profile_sums_done(struct profile_sums *sums);
