/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the live source, shared by its files only. */
#pragma once

#include "base/clock.h"
#include "base/worker.h"
#include "event/core/live.h"
#include "event/core/live_stack.h"
#include "kernel/first_process.h"

/* The maps in use; -1: none. */
struct live_group_maps {
	int groups;
	int fronts; /* front tables */
};

enum live_probe_state {
	LIVE_PROBE_OPEN,
	LIVE_PROBE_LOADED, /* loaded, not attached yet */
	LIVE_PROBE_ATTACHED
};

struct live_probed {
	const char *program;
	enum live_probe_state state;
	uint32_t kind; /* bit of its kind; 0: must be attached itself */
};

/* A program attached once a variable is set. */
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
	unsigned release; /* of the kernel: 6001 is 6.1 */
	uint32_t ring_bytes;
	uint32_t groups_max;
	uint64_t read_ns; /* poll interval while events arrive */
	struct live_group_maps *groups;
	bool groups_later;
	struct worker groups_begin;
	int groups_error; /* of that worker */
	/* Reason and program of a failed attempt. */
	struct why why;
	char failed[64];
	/* Probing: results, and the state of the programs tested now. */
	bool probing;
	enum live_probe_state probing_state;
	VEC(struct live_probed) probed;
	uint32_t proven_kinds; /* kinds of which one program was attached */
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
	void **finishing; /* finisher state per request; NULL: none */
	struct loop *loop;
	struct loop_source *timer; /* while events arrive */
	unsigned idle_looks;
	unsigned batch;
	uint64_t boot_to_real_ns;
	struct event_head head;
	struct live_stacks stacks;
	struct first_process *first; /* NULL: hidden time unknown */
	struct loop_source *first_watch;
	uint64_t hidden_ns; /* at the end */
	void *data;         /* copy of the event data, for completion */
};

/* Chooses hooks; opens and configures the object. */
int live_open_object(struct live *live, struct why *why) _must_check_;
/* A hook_program_fn; sets live->why on error. */
int live_attach(const struct event_hook *hook, const char *program, void *live);
/* Attaches late hooks also; sets live->why on error. */
int live_attach_now(struct live *live, const struct event_hook *hook, const char *program) _must_check_;

/* Programs that most runs do not need: attached on demand. */
int live_late_add(struct live *live, const struct event_hook *hook, const char *program) _must_check_;
void live_late_look(struct live *live);

/* For by_cgroup: follows this cgroup and its descendants, also future ones. */
int live_cgroup_seed(struct live *live, const char *directory, struct why *why) _must_check_;

/* Runs the sweep of the requests that stream, or of one that aggregates. */
void live_sweep_streams(struct live *live);
void live_sweep(struct live *live, unsigned request);

/* For incomplete events: event_finisher. */
int live_finishers_begin(struct live *live, struct why *why) _must_check_;
void live_finishers_stop(struct live *live);
void live_finishers_end(struct live *live, bool pass);

/* Time hidden by pid 1: starts, watches while the loop runs, and has the result at the end. */
void live_hidden_begin(struct live *live);
void live_hidden_watch(struct live *live);
void live_hidden_end(struct live *live);

/* Finds out which hooks work; the object is that of the last attempt. */
int live_probe(struct live *live, struct why *why) _must_check_;
/* Whether to load a program in this attempt. */
bool live_probe_wants(struct live *live, const char *program);
