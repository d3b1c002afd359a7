/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace taken apart into the sessions that the program served: for each what it was, how long it took, what it called
 * and in which class it is. What belongs to no session (start-up, timers) is kept apart, counted by tree.
 */
#pragma once

#include "flow/analyse/forest.h"
#include "flow/analyse/walk.h"

/* What a user sees and filters by: flow_session_type. Made from a row when it is wanted (flow_session_at). */
struct flow_session {
	uint32_t session; /* from 1, in the order of their beginning */
	uint32_t request; /* of the connection, from 1; 0: not split by requests */
	uint32_t pid;
	uint32_t tid;     /* where most of its calls were made */
	const char *comm; /* that thread's name */
	bool is_open;     /* when the recording ended */
	uint16_t lport, rport;
	struct addr laddr, raddr;
	uint64_t cookie;
	const char *function; /* that its first segment begins with */
	uint64_t start_ns;
	uint64_t span_ns;
	uint64_t busy_ns; /* inside its calls */
	uint64_t wait_ns; /* between them: nobody worked for it */
	uint64_t calls;
	uint64_t distinct; /* functions in its shape, once each place */
	uint64_t segments;
	uint64_t threads;
	uint64_t requests;
	uint64_t tx_bytes;
	uint64_t rx_bytes;
	uint64_t errors; /* operations that failed, waiting for more not counted */
	uint32_t class;  /* from 1, the most frequent first */
	uint64_t count;  /* sessions that it stands for: more than 1 when they were summarised while the program ran */
};

extern const struct record_type flow_session_type;

/* What is kept of a session, and cannot be told from its tree and its socket. There may be millions. */
struct flow_row {
	uint64_t start_ticks, end_ticks;
	uint64_t busy_ticks, wait_ticks;
	uint64_t tx_bytes, rx_bytes;
	uint32_t id; /* number in demux.sessions */
	union {
		uint32_t tree;   /* its segments as a FOREST_BLOCK node */
		uint32_t strand; /* while it is put together: the last one met of its strands; 0: none */
	};
	union {
		uint32_t class;
		uint32_t most_calls; /* while it is put together: of a segment */
	};
	uint32_t thread;   /* index of the one that made most of its calls */
	uint32_t function; /* that its first segment begins with; FLOW_NO_FUNCTION: it has none */
	uint32_t requests;
	uint32_t errors;
	uint16_t threads;
	bool is_open;   /* when the recording ended */
	bool is_closed; /* its socket was closed */
};
_Static_assert(sizeof(struct flow_row) == 80, "kept small");

#define FLOW_NO_FUNCTION UINT32_MAX

/* What one thread did for a session. */
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
	double apart;     /* from the class most like it among those that are larger: 0 the same, 1 nothing in common */
	uint32_t nearest; /* that class; itself when there is none */
};

struct flow_sessions {
	const struct flow_trace *trace;
	struct demux *demux;
	struct forest forest;
	uint32_t *shape_of;                /* node of the forest -> node of the shapes */
	struct forest shapes;              /* summarised: loops and recursion once, noise left out */
	uint32_t *distinct_of;             /* node of the shapes -> places in it */
	SPILL(struct flow_row) list;       /* in the order of their beginning */
	SPILL(struct flow_strand) strands; /* while sessions are put together; [0] is none */
	VEC(struct flow_rest) rest;        /* what belongs to no session, the most frequent first */
	VEC(struct flow_class) classes;    /* in the order of their numbers */
	SPILL(uint32_t) list_index;        /* number in demux.sessions -> index in list, DEMUX_NONE */
	struct map noise;                  /* caller << 32 | function of calls that say nothing about a session */
	uint64_t calls;                    /* all that were seen */
	uint64_t rest_calls;               /* of these, in the rest */
	uint64_t dispatch_calls;           /* and of functions that go from session to session */
	uint64_t lost;
};

int flow_sessions_new(const struct flow_trace *trace, const struct demux_options *options,
		      struct flow_sessions **ret_sessions, struct why *why) _must_check_;
void flow_sessions_free(struct flow_sessions *sessions);

static inline void flow_sessions_freep(struct flow_sessions **sessions)
{
	flow_sessions_free(*sessions);
}

/* The session at this place of the list, as it is shown. */
struct flow_session flow_session_at(const struct flow_sessions *sessions, size_t index);

/* How many sessions it stands for. */
uint64_t flow_row_count(const struct flow_sessions *sessions, const struct flow_row *row);

static inline uint64_t flow_row_span_ns(const struct flow_sessions *sessions, const struct flow_row *row)
{
	return flow_span_ns(sessions->trace, row->end_ticks - row->start_ticks);
}

static inline uint32_t flow_row_shape(const struct flow_sessions *sessions, const struct flow_row *row)
{
	return row->tree ? sessions->shape_of[row->tree] : 0;
}

/* Index in the list of the session with this number in demux.sessions, DEMUX_NONE. */
static inline uint32_t flow_sessions_find(const struct flow_sessions *sessions, uint32_t id)
{
	return id < sessions->list_index.count ? sessions->list_index.items[id] : DEMUX_NONE;
}

/* A number that so many sessions have. */
struct flow_weighed {
	uint64_t value;
	uint64_t count;
	uint32_t class; /* of these, where several are looked at; all others before it */
};
typedef SPILL(struct flow_weighed) flow_weighed_table;

/* By class, then by value. */
void flow_weighed_sort(flow_weighed_table *table);

/* Of items in order. 0 when there are none. */
uint64_t flow_median(const struct flow_weighed *items, size_t count);

/* A number for each session of the list: which group it is in. 0 in the beginning. */
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

/* Gives every session its shape and its class (class.c); part of flow_sessions_new. */
void flow_sessions_classify(struct flow_sessions *sessions);
