/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose turn it is. While none of its calls runs, or while one waits, a session's time is one of these:
 *
 * - own: the program works, or waits for something that is not the client (an upstream, a lock, a timer);
 * - drip: it waits for the client to send, and the last bytes went the same way: the request is incomplete;
 * - stall: it waits for the client to take what it could not write at once;
 * - none of them: the answer is complete, or nothing was asked yet (an idle client is no difference), or the session
 *   is in a queue between two threads: others are served first.
 *
 * What ends a wait decides, together with what was before it: a wait that a read ends was for the client to send.
 */
#pragma once

#include "flow/analyse/demux.h"

/* PROFILE_CPU: part of the own time, on a CPU; known from looks at the thread. */
enum profile_time { PROFILE_OWN, PROFILE_DRIP, PROFILE_STALL, PROFILE_CPU, PROFILE_TIMES };

enum turn_op {
	TURN_NONE,
	TURN_READ,  /* from the client, or its end */
	TURN_WRITE, /* to the client */
	TURN_OTHER, /* bytes on another socket of the session */
	TURN_START, /* another connection of the session begins */
	TURN_CLOSE, /* of the client's socket, without bytes before */
};

/* What of a segment matters for the waits around it. */
struct turn_segment {
	uint64_t start_ticks, end_ticks;
	uint64_t op_ticks; /* last operation, or the end */
	/* When the thread last waited for all of its sessions, for how long, and the end of its wait before that. */
	uint64_t ready_ticks, idle_ticks, polled_ticks;
	uint64_t patient_sum;  /* time up to waits in which the thread had no work, so far */
	uint64_t lead_ticks;   /* inside, waiting for the client, before the first bytes */
	uint64_t served_ticks; /* when the thread last worked for any session before */
	/* Time that the thread worked for sessions: before, with this one, and up to polled_ticks. */
	uint64_t before_sum, served_sum, polled_sum;
	uint64_t asked_ticks;  /* is_writable: since then, at the latest, its waits would have reported it */
	uint32_t index;        /* of the session in the list */
	uint32_t calls_before; /* of the session */
	uint32_t thread;
	uint32_t first_place;
	uint32_t place;   /* of the last operation that could move bytes, or push; 0: none */
	uint8_t first;    /* enum turn_op */
	uint8_t last;     /* the same, of the client: TURN_READ, TURN_WRITE, or none */
	bool is_partial;  /* the client has yet to take bytes */
	bool is_writable; /* it begins because a wait reported that the client can take bytes */
	bool is_taken;    /* it begins with a value that was passed to the thread */
};

struct turn_wait {
	enum profile_time time;
	uint32_t place;
	uint64_t ticks;
	bool is_pause;        /* own, and for no socket */
	uint64_t late_ticks;  /* part of it in which the recorder was late (lateness.h) */
	uint64_t queue_ticks; /* part of it in a queue between two threads: counts only for groups that were given */
};

/* An operation on the client's own socket. Returns what the time of it and of the wait before counts as, if it does. */
bool turn_client(struct turn_segment *segment, const struct flow_operation *operation, uint32_t place,
		 const struct turn_wait *before, struct turn_wait *ret_wait);
/* The same for another socket of the session: its time is the program's own. */
void turn_other(struct turn_segment *segment, const struct flow_operation *operation, uint32_t place);
/* The wait between two segments. False: it counts nowhere. */
bool turn_between(const struct turn_segment *before, const struct turn_segment *after, struct turn_wait *ret_wait);
/* The wait from the last segment to the end of the recording. */
bool turn_open_end(const struct turn_segment *last, uint64_t end_ticks, struct turn_wait *ret_wait);
/* The two as one. */
void turn_join(struct turn_segment *before, const struct turn_segment *after);
