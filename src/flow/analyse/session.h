/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace split into the sessions that the program served: identity, duration, calls and class of each. Calls outside
 * all sessions (start-up, timers) are kept separately, counted by tree.
 */
#pragma once

#include "flow/analyse/forest.h"
#include "flow/analyse/walk.h"

/* As shown and filtered: flow_session_type. Built from a row on demand (flow_session_at). */
struct flow_session {
	uint32_t session; /* from 1, in order of start */
	uint32_t request; /* of the connection, from 1; 0: not split by requests */
	uint32_t pid;
	uint32_t tid;     /* with most of its calls */
	const char *comm; /* that thread's name */
	bool is_open;     /* at the end of the recording */
	uint16_t lport, rport;
	struct addr laddr, raddr;
	uint64_t cookie;
	const char *function; /* first function of its first segment */
	uint64_t start_ns;
	uint64_t span_ns;
	uint64_t busy_ns; /* inside its calls */
	uint64_t wait_ns; /* between them: waiting */
	uint64_t calls;
	uint64_t distinct; /* distinct places in its shape */
	uint64_t segments;
	uint64_t threads;
	uint64_t requests;
	uint64_t tx_bytes;
	uint64_t rx_bytes;
	uint64_t errors;             /* failed operations, except EAGAIN */
	uint32_t class;              /* from 1, most frequent first */
	uint64_t count;              /* sessions represented: more than 1 if summarised while recording */
	uint64_t tx_total, rx_total; /* bytes of all of these: means do not add up */
};

extern const struct record_type flow_session_type;

/* Stored part of a session, not derivable from its tree and socket. There may be millions. */
struct flow_row {
	uint64_t start_ticks, end_ticks;
	uint64_t busy_ticks, wait_ticks;
	uint64_t tx_bytes, rx_bytes;
	uint32_t id; /* number in demux.sessions */
	union {
		uint32_t tree;   /* its segments as a FOREST_BLOCK node */
		uint32_t strand; /* while building: last of its strands; 0: none */
	};
	union {
		uint32_t class;
		uint32_t most_calls; /* while building: of a segment */
	};
	uint32_t thread;   /* index of the one with most of its calls */
	uint32_t function; /* first function of its first segment; FLOW_NO_FUNCTION: none */
	uint32_t requests;
	uint32_t errors;
	uint16_t threads;
	bool is_open;   /* at the end of the recording */
	bool is_closed; /* its socket was closed */
};
_Static_assert(sizeof(struct flow_row) == 80, "kept small");

#define FLOW_NO_FUNCTION UINT32_MAX

/* Work of one thread for a session. */
struct flow_strand {
	uint64_t start_ticks;
	uint32_t thread;
	uint32_t next; /* of the same session */
	uint32_t node; /* FOREST_BLOCK of its segments */
};

struct flow_rest {
	uint32_t node;
	uint64_t count;
	uint64_t ticks;
};

struct flow_class {
	uint32_t class;
	uint32_t sessions;
	uint32_t example;   /* index of its first session */
	uint64_t median_ns; /* span */
	double apart;       /* distance to the most similar larger class: 0 identical, 1 nothing in common */
	uint32_t nearest;   /* that class; itself: none */
};

struct flow_sessions {
	const struct flow_trace *trace;
	struct demux *demux;
	struct forest forest;
	uint32_t *shape_of;                /* node of the forest -> node of the shapes */
	struct forest shapes;              /* summarised: loops and recursion once, without noise */
	uint32_t *distinct_of;             /* node of the shapes -> places in it */
	SPILL(struct flow_row) list;       /* ordered by start */
	SPILL(struct flow_strand) strands; /* while building; [0] is unused */
	VEC(struct flow_rest) rest;        /* calls outside sessions, most frequent first */
	VEC(struct flow_class) classes;    /* by number */
	SPILL(uint32_t) list_index;        /* number in demux.sessions -> index in list; DEMUX_NONE */
	struct map noise;                  /* caller << 32 | function of calls that are noise */
	uint64_t calls;                    /* total */
	uint64_t rest_calls;               /* of these, outside sessions */
	uint64_t dispatch_calls;           /* and of dispatchers */
	uint64_t lost;
};

int flow_sessions_new(const struct flow_trace *trace, const struct demux_options *options,
		      struct flow_sessions **ret_sessions, struct why *why) _must_check_;
void flow_sessions_free(struct flow_sessions *sessions);

static inline void flow_sessions_freep(struct flow_sessions **sessions)
{
	flow_sessions_free(*sessions);
}

/* The session at this index of the list, for display. */
struct flow_session flow_session_at(const struct flow_sessions *sessions, size_t index);

/* Number of sessions it represents. */
uint64_t flow_row_count(const struct flow_sessions *sessions, const struct flow_row *row);

static inline uint64_t flow_row_span_ns(const struct flow_sessions *sessions, const struct flow_row *row)
{
	return flow_span_ns(sessions->trace, row->end_ticks - row->start_ticks);
}

static inline uint32_t flow_row_shape(const struct flow_sessions *sessions, const struct flow_row *row)
{
	return row->tree ? sessions->shape_of[row->tree] : 0;
}

/* Index in the list for a number of demux.sessions; DEMUX_NONE. */
static inline uint32_t flow_sessions_find(const struct flow_sessions *sessions, uint32_t id)
{
	return id < sessions->list_index.count ? sessions->list_index.items[id] : DEMUX_NONE;
}

/* A value with its number of sessions. */
struct flow_weighed {
	uint64_t value;
	uint64_t count;
	uint32_t class; /* if several classes are examined; sort key before the value */
};
typedef SPILL(struct flow_weighed) flow_weighed_table;

/* By class, then by value. */
void flow_weighed_sort(flow_weighed_table *table);

/* Of sorted items. 0 when empty. */
uint64_t flow_median(const struct flow_weighed *items, size_t count);

/* A group number per session of the list, initially 0. */
typedef SPILL(uint8_t) flow_groups;

static inline flow_groups flow_groups_of(const struct flow_sessions *sessions)
{
	flow_groups groups = {};

	spill_fill(&groups, sessions->list.count + 1);
	return groups;
}

static inline void flow_groups_done(flow_groups *groups)
{
	spill_done(groups);
}
#define _cleanup_groups_ _cleanup_(flow_groups_done)

/* Assigns shapes and classes (class.c); part of flow_sessions_new. */
void flow_sessions_classify(struct flow_sessions *sessions);
