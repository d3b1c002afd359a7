/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tools and events that were started from the page: each is a process of nest whose JSON lines are a stream. One that
 * nobody reads for a while is ended; so are all when the server ends.
 */
#pragma once

#include "http/http_server.h"
#include "show/nest_process.h"

struct serve;

/* What to run; texts may be NULL. Texts come from a client: none of them becomes an option. */
struct tool_run_request {
	const char *what;      /* name of a tool, of an event, or path */
	const char *where;     /* filter */
	const char *by;        /* group by these fields */
	const char *hist;      /* histogram of this field */
	const char *recording; /* path */
	const char *netns;
};

struct tool_run {
	struct serve *serve;
	char *key; /* what was asked for, so that two readers share it */
	char *what;
	struct nest_words words;
	uint64_t id;
	struct nest_process *process; /* NULL: it has ended */
	struct http_stream stream;
	struct buf line;    /* that has not ended */
	uint64_t unread_ns; /* since when nobody reads it; 0: somebody does */
};

/*
 * Starts it, or finds one that runs already. -ENOENT: no such tool or event, -EINVAL: wrong words, -ENOTSUP: not
 * available here, -EAGAIN: too many.
 */
int tool_run_start(struct serve *serve, const struct tool_run_request *request, struct tool_run **ret_run,
		   struct why *why) _must_check_;
/* Whether the filter is one of the tool's or event's records; -EINVAL, and the byte at which the error is. */
int tool_run_check_where(const char *what, const char *where, size_t *ret_at, struct why *why) _must_check_;
struct tool_run *tool_run_find(const struct serve *serve, const char *id);
/* Ends and forgets it. */
void tool_run_stop(struct tool_run *run);
/* Every second: ends those that nobody reads. all: at the end. */
void tool_run_sweep(struct serve *serve, bool all);
