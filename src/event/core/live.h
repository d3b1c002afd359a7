/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel as a source of events: loads what the requests need, attaches it, reads the ring buffer, collects
 * groups, counts losses. Closing leaves nothing behind, and neither does any other end of the process: nothing is
 * pinned.
 */
#pragma once

#include "base/loop.h"
#include "event/core/event_source.h"
#include "event/core/hooks.h"

#define LIVE_BUFFER_DEFAULT ((uint64_t)4 << 20)
#define LIVE_GROUPS_DEFAULT 10240

struct live_options {
	uint64_t buffer_bytes; /* rounded up to a power of two; 0: the default */
	uint32_t groups_max;   /* 0: the default */
	uint64_t read_ns;      /* while events come, the buffer is looked at this often; 0: the default */
	const char *cgroup;    /* of requests with by_cgroup: the directory of the group; NULL: none */
	void (*late_refused)(const char *reason); /* called when a hook that is attached late is refused; may be NULL */
	bool finish;                              /* only whole events reach the sink (event_finisher) */
	bool probe;                               /* only to see what works: an event that cannot be told is no error */
};

struct live;

/* Loads and attaches. -EPERM, -ENOENT and so on with a sentence that says what is missing. */
int live_open(const struct event_request *requests, unsigned count, const struct live_options *options,
	      struct live **ret_live, struct why *why) _must_check_;
void live_close(struct live *live);
static inline void live_closep(struct live **live)
{
	live_close(*live);
}

/* Events go to the sink from now on, whenever the loop runs. */
int live_start(struct live *live, struct loop *loop, const struct event_sink *sink, struct why *why) _must_check_;
/* Of requests with by_tree: this process and all that it will start. */
int live_follow(struct live *live, uint32_t pid) _must_check_;
/* Hands out the groups of the time since the last call. Events that happen meanwhile are in the next ones. */
int live_collect(struct live *live, struct why *why) _must_check_;
/* Detaches, then hands out what is left. */
int live_finish(struct live *live, struct why *why) _must_check_;

/* Memory that is shared with the programs, by the variable's name. */
int live_variable(const struct live *live, const char *name, size_t size, void **ret_address) _must_check_;

/* A map's file, by its name; negative errno. */
int live_map(const struct live *live, const char *name) _must_check_;
/* A time of the kernel's clock that stands still while the host sleeps, as time of the day. */
uint64_t live_real_ns(const struct live *live, uint64_t monotonic_ns);

/* How long all programs have run so far, while the kernel counts that (bpf_enable_stats). */
uint64_t live_run_ns(const struct live *live);

/* Of one request, up to now. */
struct event_loss live_loss(const struct live *live, unsigned request);
/* After the end: for how long nothing could be seen because of who ran. */
uint64_t live_hidden_ns(const struct live *live);
/* Which hooks are in use. */
const struct hook_plan *live_hooks(const struct live *live);
/* Addresses of a stack, innermost first; returns how many. live as struct stacks hands it (tool/stacks.h). */
unsigned live_read_stack(const void *live, int32_t id, uint64_t *addresses, unsigned max);
