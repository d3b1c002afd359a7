/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program did while something else waited for it: the thread that serves a connection, and the function in which
 * that thread spent a given stretch of time. Works on a trace that is still being recorded.
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
	const char *function; /* innermost one that has most of the time; in the trace */
	const char *module;
	double share; /* of the time asked about */
	uint32_t pid, tid;
	const char *comm;            /* "" when not known */
	VEC(const char *) call_path; /* from the outermost function to this one */
	uint64_t calls;              /* of it that were open in that time */
	uint64_t idle_ns;            /* since the thread's last operation on the connection, up to the end */
	/* The operation on a socket that it spent most of its time with, where that ended in the trace. */
	const char *operation; /* "read", NULL: none has a good part of the time */
	struct endpoint other; /* that socket's other end; family ADDR_UNKNOWN when not known */
	bool is_same;          /* it is the connection itself */
};

/* -ENODATA with a sentence when the connection is not in the trace, or its thread was not recorded in that time. */
int serving_thread_find(const struct flow_trace *trace, const struct serving_question *question,
			struct serving_thread *ret_serving, struct why *why) _must_check_;
void serving_thread_done(struct serving_thread *serving);
/* One sentence. */
void serving_thread_describe(const struct serving_thread *serving, struct buf *out);
