/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of the live source: shared by its files only. */
#pragma once

#include "base/clock.h"
#include "event/core/live.h"
#include "event/core/live_stack.h"
#include "kernel/first_process.h"

/* The maps that are being filled; -1: none. */
struct live_group_maps {
	int groups;
	int fronts; /* the tables in front of it */
};

enum live_probe_state {
	LIVE_PROBE_OPEN,
	LIVE_PROBE_LOADED, /* the kernel takes it, but it was not attached yet */
	LIVE_PROBE_ATTACHED
};

struct live_probed {
	const char *program;
	enum live_probe_state state;
	uint32_t kind; /* a bit; 0: of no kind of which one speaks for all */
};

/* A program that waits for a variable to be set. */
struct live_late {
	const struct event_hook *hook;
	const char *program;
	const uint32_t *wanted;
};

struct live {
	struct event_request *requests;
	unsigned count;
	struct kernel_object *object;
	struct hook_plan plan;
	bool with_owner;
	unsigned release; /* of the kernel: 6001 for 6.1 */
	uint32_t ring_bytes;
	uint32_t groups_max;
	uint64_t read_ns; /* how often the buffer is looked at while events come */
	struct live_group_maps *groups;
	/* Why an attempt failed, and with which program. */
	struct why why;
	char failed[64];
	/* When only to see what works: what was seen, and the programs of which state are tried now. */
	bool probing;
	enum live_probe_state probing_state;
	VEC(struct live_probed) probed;
	uint32_t proven_kinds; /* one of them was attached */
	/* Memory shared with the programs. */
	uint32_t *reader_awake;
	uint64_t *boot_offset_ns;
	const uint64_t *unfollowed;
	const struct event_losses **losses;
	VEC(struct live_late) late; /* not attached yet */
	void (*late_refused)(const char *reason);
	/* Reading. */
	struct ring_buffer *ring;
	struct event_sink sink;
	bool finishes;
	void **finishing; /* of each request, the state of its event's finisher; NULL: it has none */
	struct loop *loop;
	struct loop_source *timer; /* while events come */
	unsigned idle_looks;
	unsigned batch;
	uint64_t boot_to_real_ns;
	struct event_head head;
	struct live_stacks stacks;
	struct first_process *first; /* NULL: what it hides is not known */
	struct loop_source *first_watch, *first_rest;
	uint64_t hidden_ns; /* at the end */
	void *data;         /* a copy of what follows it, for events that the program completes */
};

/* Chooses hooks, and opens and configures the object with their programs. */
int live_open_object(struct live *live, struct why *why) _must_check_;
/* A hook_program_fn; the reason is in live->why. */
int live_attach(const struct event_hook *hook, const char *program, void *live);
/* Whether or not the hook is for later; the reason is in live->why, too. */
int live_attach_now(struct live *live, const struct event_hook *hook, const char *program) _must_check_;

/* Programs that most runs need not pay for: remembered instead of attached, and attached as soon as they are wanted. */
int live_late_add(struct live *live, const struct event_hook *hook, const char *program) _must_check_;
void live_late_look(struct live *live);

/* Of requests with by_cgroup: this group, those below it, and those that will be made there. */
int live_cgroup_seed(struct live *live, const char *directory, struct why *why) _must_check_;

/* Of events that come half finished: event_finisher. */
int live_finishers_begin(struct live *live, struct why *why) _must_check_;
void live_finishers_stop(struct live *live);
void live_finishers_end(struct live *live, bool pass);

/* What is hidden by pid 1: begins to look, goes on while the loop runs, and knows at the end. */
void live_hidden_begin(struct live *live);
void live_hidden_watch(struct live *live);
void live_hidden_end(struct live *live);

/* Settles which hooks work; the object is that of the last attempt. */
int live_probe(struct live *live, struct why *why) _must_check_;
/* Whether a program is to be loaded in this attempt. */
bool live_probe_wants(struct live *live, const char *program);
