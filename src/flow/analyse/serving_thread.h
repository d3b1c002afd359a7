/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Activity of a program while a peer waits for it: the thread that serves a connection, and the function in which it
 * spent a given time range. Works on a trace still being recorded.
 */
#pragma once

#include "base/buf.h"
#include "base/vec.h"
#include "flow/trace/trace.h"

struct serving_question {
	uint32_t pid; /* 0: any */
	struct endpoint local, remote;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
};

struct serving_thread {
	const char *function; /* innermost one with most of the time; points into the trace */
	const char *module;
	double share; /* of the time range */
	uint32_t pid, tid;
	const char *comm;            /* "": unknown */
	VEC(const char *) call_path; /* outermost function first */
	uint64_t calls;              /* calls of it open in that range */
	uint64_t idle_ns;            /* since the thread's last operation on the connection, up to the end */
	/* Socket operation with most of its time, if it ended within the trace. */
	const char *operation; /* "read"; NULL: none has a large share */
	struct endpoint other; /* peer of that socket; family ADDR_UNKNOWN: unknown */
	bool is_same;          /* it is the connection itself */
};

/* -ENODATA with a reason when the connection is not in the trace, or its thread was not recorded in that range. */
int serving_thread_find(const struct flow_trace *trace, const struct serving_question *question,
			struct serving_thread *ret_serving, struct why *why) _must_check_;
void serving_thread_done(struct serving_thread *serving);
/* One sentence. */
void serving_thread_describe(const struct serving_thread *serving, struct buf *out);
