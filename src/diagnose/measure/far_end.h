/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the other end of a connection recorded meanwhile: measures of both ends of one connection. */
#pragma once

#include "diagnose/graph/module.h"
#include "diagnose/measure/end_delay.h"

struct far_end_measures {
	const char *conn; /* id of the connection here */
	char far_host[65];
	uint32_t far_pid;
	char far_comm[16];
	uint64_t far_clock_error_ns;
	/* From here to there, and from there to here, in the last windows. */
	uint64_t out_segs, out_arrived_segs, out_lost_segs;
	uint64_t in_segs, in_arrived_segs, in_lost_segs;
	double out_lost_share, in_lost_share, out_steady_share, in_steady_share, in_repeated_share;
	uint64_t out_bytes, out_arrived_bytes, in_bytes, in_arrived_bytes; /* of this window */
	uint64_t out_missing_bytes, out_overdue_ns, in_missing_bytes, in_overdue_ns;
	/* Against the lowest of the last minutes. */
	int64_t out_delay_change_ns, in_delay_change_ns;
	uint64_t out_delay_error_ns, in_delay_error_ns;
	/* The other end's socket and program. */
	double far_recvq_share, far_recvq_fill_min, far_sendq_share, far_unacked_share, far_rwnd_share;
	uint64_t far_recvq_max_bytes, far_rcvbuf, far_rto_count;
	double far_stopped_share, far_cpu_wait_share, far_throttled_share;
	uint64_t far_drop_count;
	uint64_t far_owed_ns;
	double far_owed_share;
	/* What the diagnosis of the other end alone says about the connection. */
	char far_cause[32], far_layer[16];
	double far_certainty;
	/* Names of hosts. */
	char window_closed_by[65], waits_for[65];
};

extern const struct record_type far_end_measures_type;

/* Everything unknown. */
void far_end_measures_init(struct far_end_measures *measures, const char *conn);

/* What happened to one connection in the last windows, kept from window to window. */
struct far_end_track {
	/* At the ends of the last windows, newest first: positions of the streams, and times; 0: not yet. */
	uint64_t out[4], in[4], ends_ns[4];
	struct end_delay_base out_delay, in_delay;
};

struct far_end_view {
	const char *own_host, *far_host;
	const struct end_pairs *pairs;
	int64_t offset_ns; /* the other end's clock less this one's */
	uint64_t error_ns;
	struct map tracks; /* struct end_key -> struct far_end_track */
};

/* What the diagnosis of the other end alone says about a connection. */
struct far_end_finding {
	const char *cause, *layer;
	double certainty;
};

/*
 * Adds measures to the connections of HERE that one of the graphs THERE has as well. now_ns: the end of the window on
 * the clock of this end. finding: what the other end alone says about that module of its graph; may be NULL.
 */
void far_end_join(struct far_end_view *view, struct graph *here, const struct graph *const *there, size_t count,
		  uint64_t now_ns,
		  bool (*finding)(const struct graph *graph, const struct module *module, void *context,
				  struct far_end_finding *ret_finding),
		  void *context);
