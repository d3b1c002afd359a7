/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The running kernel as event source: loads and attaches what the requests need, reads the ring buffer, collects
 * groups, counts losses. Nothing is pinned: closing, or any exit of the process, leaves nothing behind.
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
	uint64_t read_ns;      /* poll interval of the ring buffer while events arrive; 0: the default */
	const char *cgroup;    /* for by_cgroup: directory of the cgroup; NULL: none */
	void (*late_refused)(const char *reason); /* called if a late hook cannot be attached; may be NULL */
	bool finish;                              /* pass only complete events to the sink (event_finisher) */
	bool groups_later;                        /* groups begin in the background, before the first live_read */
	bool probe;                               /* probe only: an unsupported event is not an error */
};

struct live;

/* Loads and attaches. -EPERM, -ENOENT etc. with a message that names what is missing. */
int live_open(const struct event_request *requests, unsigned count, const struct live_options *options,
	      struct live **ret_live, struct why *why) _must_check_;
void live_close(struct live *live);
static inline void live_closep(struct live **live)
{
	live_close(*live);
}

/* From now on the loop passes events to the sink. */
int live_start(struct live *live, struct loop *loop, const struct event_sink *sink, struct why *why) _must_check_;
/* For by_tree: follows this process and its future children. */
int live_follow(struct live *live, uint32_t pid) _must_check_;
/* Passes on the groups since the last call. Concurrent events go to the next interval. */
int live_collect(struct live *live, struct why *why) _must_check_;
/*
 * For samples of running totals, without a loop: the sink, then the groups since the last live_collect, which stay.
 * Costs no grace period; a group that is being added to may be a few events behind.
 */
void live_set_sink(struct live *live, const struct event_sink *sink);
int live_read(struct live *live, struct why *why) _must_check_;
/* Detaches, then passes on the rest. */
int live_finish(struct live *live, struct why *why) _must_check_;

/* Memory of a BPF variable, by name. */
int live_variable(const struct live *live, const char *name, size_t size, void **ret_address) _must_check_;

/* File descriptor of a map, by name; negative errno. */
int live_map(const struct live *live, const char *name) _must_check_;
/* CLOCK_MONOTONIC to CLOCK_REALTIME. */
uint64_t live_real_ns(const struct live *live, uint64_t monotonic_ns);

/* Run time of all programs so far, while the kernel counts it (bpf_enable_stats). */
uint64_t live_run_ns(const struct live *live);

/* Losses of one request so far. */
struct event_loss live_loss(const struct live *live, unsigned request);
/* After the end: time in which pid 1 hid events. */
uint64_t live_hidden_ns(const struct live *live);
/* Whether a hook remains that is attached once it is needed. */
bool live_has_late(const struct live *live);
/* Hooks in use. */
const struct hook_plan *live_hooks(const struct live *live);
/* Addresses of a stack, innermost first; returns their number. live as in struct stacks (tool/core/stacks.h). */
unsigned live_read_stack(const void *live, int32_t id, uint64_t *addresses, unsigned max);
