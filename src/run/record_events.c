/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "event/core/live.h"
#include "run/live_words.h"
#include "run/record_events.h"
#include "tool/core/keep.h"
#include "tool/core/pipeline.h"

#define REQUESTS_MAX 64

/* What one name stands for. */
struct part {
	struct trace_plan plan;
	struct pipeline session;
};

struct event_recorder {
	const struct trace_options *options;
	struct store *store;
	VEC(struct part *) parts;
	struct event_request requests[REQUESTS_MAX];
	struct {
		struct pipeline *session;
		unsigned number;
	} targets[REQUESTS_MAX];
	unsigned count;
	struct live *live;
	uint64_t lost;
};

static int make_plan(struct part *part, const char *name, const struct trace_options *options, struct why *why)
{
	const struct tool *tool = tool_find(name);
	_cleanup_buf_ struct buf shown = BUF_INIT(256);

	part->plan = (struct trace_plan){.name = name, .where = BUF_INIT(65536), .silent = true};
	if (tool) {
		memcpy(part->plan.events, tool->events, sizeof(part->plan.events));
		if (tool->where)
			trace_where_add(&part->plan.where, "%s", tool->where);
	} else if (event_find(name)) {
		part->plan.events[0] = name;
	} else {
		text_add_terminal(&shown, name, strnlen(name, 60));
		return why_set(why, -EINVAL, "'%s' is neither an event nor a tool (nest events, nest tools)",
			       buf_text(&shown));
	}
	return pipeline_open(&part->session, &part->plan, options, why);
}

static bool is_requested(const struct event_recorder *recorder, const struct event *event)
{
	for (unsigned i = 0; i < recorder->count; i++)
		if (recorder->requests[i].event == event)
			return true;
	return false;
}

static int add_part(struct event_recorder *recorder, const char *name, struct why *why)
{
	struct part *part = xzalloc(sizeof(*part));
	int r;

	vec_push(&recorder->parts, part);
	r = make_plan(part, name, recorder->options, why);
	for (unsigned i = 0; r == 0 && i < part->session.count; i++) {
		/* Twice the same event would be two rows for one thing. */
		if (is_requested(recorder, part->session.requests[i].event))
			return why_set(why, -EINVAL, "%s is asked for twice", part->session.requests[i].event->name);
		if (recorder->count == REQUESTS_MAX)
			return why_set(why, -EINVAL, "at most %d events together", REQUESTS_MAX);
		recorder->targets[recorder->count].session = &part->session;
		recorder->targets[recorder->count].number = i;
		recorder->requests[recorder->count++] = part->session.requests[i];
	}
	return r;
}

int event_recorder_new(const char *const *names, size_t count, const struct trace_options *options,
		       struct event_recorder **ret_recorder, struct why *why)
{
	struct event_recorder *recorder = xzalloc(sizeof(*recorder));
	int r = 0;

	recorder->options = options;
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_part(recorder, names[i], why);
	if (r < 0)
		event_recorder_free(recorder);
	else
		*ret_recorder = recorder;
	return r;
}

static void take_event(void *context, unsigned request, struct record *record)
{
	struct event_recorder *recorder = context;

	pipeline_event(recorder->targets[request].session, recorder->targets[request].number, record);
}

int event_recorder_start(struct event_recorder *recorder, struct store *store, struct loop *loop, struct why *why)
{
	struct event_sink sink = {.event = take_event, .context = recorder};
	struct live_options options = {.buffer_bytes = recorder->options->buffer_bytes,
				       .late_refused = live_tell_refused};
	int r = live_open(recorder->requests, recorder->count, &options, &recorder->live, why);

	recorder->store = store;
	vec_each(&recorder->parts, part) {
		if (r < 0)
			return r;
		(*part)->session.stacks.read = live_read_stack;
		(*part)->session.stacks.source = recorder->live;
		r = pipeline_keep(&(*part)->session, store);
		if (r < 0)
			return why_set(why, r, "%s", store_why(store));
	}
	vec_each(&live_hooks(recorder->live)->choices, choice)
		if (!hook_choice_get(choice) && choice->role->without)
			log_warn("%s: %s", choice->role->without, choice->reason);
	return live_start(recorder->live, loop, &sink, why);
}

int event_recorder_result(const struct event_recorder *recorder)
{
	vec_each(&recorder->parts, part)
		if ((*part)->session.kept < 0)
			return (*part)->session.kept;
	return 0;
}

int event_recorder_finish(struct event_recorder *recorder, struct why *why)
{
	int r = live_finish(recorder->live, why);

	live_tell_hidden(recorder->live);
	for (unsigned i = 0; i < recorder->count; i++) {
		struct event_loss loss = live_loss(recorder->live, i);

		recorder->lost += event_loss_total(&loss);
		if (r == 0)
			r = keep_source(recorder->store, recorder->live, i, recorder->requests[i].event);
	}
	return r;
}

uint64_t event_recorder_seen(const struct event_recorder *recorder)
{
	uint64_t sum = 0;

	vec_each(&recorder->parts, part)
		sum += (*part)->session.seen;
	return sum;
}

uint64_t event_recorder_lost(const struct event_recorder *recorder)
{
	return recorder->lost;
}

void event_recorder_free(struct event_recorder *recorder)
{
	if (!recorder)
		return;
	vec_each(&recorder->parts, part) {
		(void)!pipeline_close(&(*part)->session);
		trace_plan_done(&(*part)->plan);
		free(*part);
	}
	vec_done(&recorder->parts);
	live_close(recorder->live);
	free(recorder);
}
