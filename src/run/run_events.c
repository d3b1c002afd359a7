/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_events.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "kernel/capability.h"
#include "kernel/symbols.h"
#include "run/live_words.h"
#include "tool/core/cgroups.h"
#include "tool/core/keep.h"

#define NO_ROOM "beyond the limit of groups"

/* --- the source --------------------------------------------------------------------------------------------------- */

static void hand_event(void *context, unsigned request, struct record *record)
{
	struct run_events *events = context;

	run_hand_out(events->run, &events->source, &(struct run_event){.request = request, .record = record});
}

static void hand_group(void *context, unsigned request, struct record *record, const struct event_group *group)
{
	struct run_events *events = context;

	run_hand_out(events->run, &events->source, &(struct run_event){request, record, group});
}

/* Missing hooks that do not end the run. */
static void warn_missing_hooks(const struct run_events *events)
{
	vec_each(&live_hooks(events->live)->choices, choice)
		if (!hook_choice_get(choice) && choice->role->without)
			log_warn("%s: %s", choice->role->without, choice->reason);
}

static int follow_one(void *live, uint32_t pid)
{
	return live_follow(live, pid);
}

static int follow(struct run_events *events)
{
	bool wanted = false;

	for (unsigned i = 0; i < events->count; i++)
		wanted |= events->requests[i].config.by_tree;
	return wanted ? run_follow(events->run, follow_one, events->live) : 0;
}

/* What is done while events come: reading maps, unless the request says otherwise. */
static void note_needs(struct run_events *events)
{
	struct run *run = events->run;

	run_needs(run, MAY_USE_MAPS, 0);
	if (events->live && live_has_late(events->live))
		run_needs(run, MAY_ATTACH, 0);
	for (unsigned i = 0; i < events->count; i++) {
		/* Each interval has maps of its own. */
		if (events->requests[i].config.mode != EVENT_STREAM)
			run_needs(run, MAY_MAKE_MAPS, CAP_BIT(CAP_BPF));
		if (events->requests[i].event->sweep)
			run_needs(run, MAY_MAKE_MAPS, CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON));
	}
	/* Names of a process's functions come from its memory map and the files in it. */
	if (events->user_stacks)
		run_needs(run, MAY_INSPECT, CAP_BIT(CAP_SYS_PTRACE) | CAP_BIT(CAP_DAC_READ_SEARCH));
}

static int open_live(struct run_source *source, struct run *run)
{
	struct run_events *events = (struct run_events *)source;
	const struct event_sink sink = {.event = hand_event, .group = hand_group, .context = events};
	struct live_options options = {.buffer_bytes = events->buffer_bytes,
				       .read_ns = events->read_ns,
				       .finish = true,
				       .late_refused = live_warn_refused};
	_cleanup_free_ char *cgroup = NULL;
	int r = events->cgroup ? cgroups_find_directory(events->cgroup, &cgroup, &run->why) : 0;

	options.cgroup = cgroup;
	if (r == 0)
		r = live_open(events->requests, events->count, &options, &events->live, &run->why);
	if (r < 0 && events->without) {
		log_warn("%s: %s", events->without, run->why.text);
		run->why = (struct why){};
		return 0;
	}
	if (r == 0)
		r = follow(events);
	if (r == 0)
		r = live_start(events->live, run->loop, &sink, &run->why);
	if (r == 0)
		warn_missing_hooks(events);
	note_needs(events);
	return r;
}

static int open_recorded(struct run_source *source, struct run *run)
{
	struct run_events *events = (struct run_events *)source;
	int r = recording_check_interface(run->recording, events->iface, &run->why);

	if (r < 0)
		return r;
	return recorded_open(run->recording, &run->range, events->requests, events->count, &events->recorded,
			     &run->why);
}

static int next(struct run_source *source, struct run *run _unused_, uint64_t *ret_ns)
{
	*ret_ns = recorded_next_ns(((struct run_events *)source)->recorded);
	return *ret_ns != UINT64_MAX;
}

static int give(struct run_source *source, struct run *run)
{
	struct run_events *events = (struct run_events *)source;
	int r = recorded_pass(events->recorded, &(struct event_sink){.event = hand_event, .context = events},
			      &run->why);

	return min_of(r, 0);
}

static int collect(struct run_source *source, struct run *run)
{
	struct run_events *events = (struct run_events *)source;

	return events->live ? live_collect(events->live, &run->why) : 0;
}

static int finish(struct run_source *source, struct run *run)
{
	struct run_events *events = (struct run_events *)source;
	int r = events->live ? live_finish(events->live, &run->why) : 0;

	if (!events->live)
		return 0;
	/* Which hooks were used, and what was lost: part of what a recording says. An error stays with it. */
	for (unsigned i = 0; run->store && i < events->count; i++)
		(void)!keep_source(run->store, events->live, i, events->requests[i].event);
	return r;
}

static void add_reason(struct run_account *account, uint64_t count, const char *reason)
{
	account->lost += count;
	if (count)
		buf_add_format(&account->more, "%s%" PRIu64 " %s", account->more.len ? ", " : "", count, reason);
}

static void account_loss(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	struct run_events *events = (struct run_events *)source;
	struct event_loss all = {};

	if (events->recorded) {
		account->lost += recorded_lost(events->recorded);
		return;
	}
	if (!events->live)
		return;
	for (unsigned i = 0; i < events->count; i++) {
		struct event_loss loss = live_loss(events->live, i);

		event_loss_add(&all, &loss);
	}
	add_reason(account, all.ring, "ring buffer full (--buffer)");
	add_reason(account, all.groups, NO_ROOM);
	add_reason(account, all.rooms, "too many events written at once");
	add_reason(account, all.memory, "started, but their end was not seen (map full, or too many calls at a time)");
	add_reason(account, all.missed, "at most, missed while their BPF program was running");
	live_warn_hidden(events->live);
	if (kernel_symbols_missing())
		log_warn("kernel functions are shown as addresses: %s", kernel_symbols_missing());
}

static void close_events(struct run_source *source)
{
	struct run_events *events = (struct run_events *)source;

	live_close(events->live);
	recorded_close(events->recorded);
}

static const struct run_source_ops events_ops = {
	.open = open_live,
	.open_recorded = open_recorded,
	.next = next,
	.give = give,
	.collect = collect,
	.finish = finish,
	.account = account_loss,
	.close = close_events,
};

void run_events_init(struct run_events *events, struct run *run, const struct trace_options *options)
{
	*events = (struct run_events){.source = {.ops = &events_ops},
				      .run = run,
				      .buffer_bytes = options->buffer_bytes,
				      .cgroup = options->cgroup,
				      .iface = options->iface,
				      .user_stacks = options->user_stack};
	run_add_source(run, &events->source);
}

/* --- a session as a sink ------------------------------------------------------------------------------------------ */

/* Twice the same event would be two rows of a recording for one thing. */
static bool is_recorded_twice(const struct run_events *events, const struct event *event)
{
	for (unsigned i = 0; i < events->count; i++)
		if (events->requests[i].event == event)
			return true;
	return false;
}

static int add_requests(struct run_session *session, struct why *why)
{
	struct run_events *events = session->events;

	session->first = events->count;
	for (unsigned i = 0; i < session->session.count; i++) {
		const struct event_request *request = &session->session.requests[i];

		if (session->plan->silent && is_recorded_twice(events, request->event))
			return why_set(why, -EINVAL, "%s is given twice", request->event->name);
		if (events->count == RUN_EVENTS_MAX)
			return why_set(why, -EINVAL, "at most %d events at a time", RUN_EVENTS_MAX);
		events->requests[events->count++] = *request;
	}
	return 0;
}

static int prepare_session(struct run_sink *sink, struct run *run)
{
	struct run_session *session = (struct run_session *)sink;
	const struct trace_plan *plan = session->plan;
	int r;

	if (session->options->interval_ns && plan->aggregate.kind == AGGREGATE_NONE)
		return why_set(&run->why, -EINVAL,
			       "an interval needs an aggregation; events are printed as they happen");
	r = pipeline_open(&session->session, plan, session->options, &run->why);
	sink->output = session->session.output;
	if (r == 0)
		r = add_requests(session, &run->why);
	/* Anything but the output file is a mistake on the command line; -ECANCELED: the fields were listed. */
	return r < 0 && r != -EIO && r != -ECANCELED ? -EINVAL : r;
}

static int begin_session(struct run_sink *sink, struct run *run)
{
	struct run_session *session = (struct run_session *)sink;

	session->session.repeated = run->options.interval_ns > 0;
	if (session->events->live) {
		session->session.stacks.read = live_read_stack;
		session->session.stacks.source = session->events->live;
		session->session.shown_ns = clock_real_ns();
	} else {
		session->session.span_ns = run->options.interval_ns;
	}
	return run->store ? run_stored(run, pipeline_keep(&session->session, run->store)) : 0;
}

static int take_event(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct run_session *session = (struct run_session *)sink;
	const struct run_event *event = item;
	unsigned request = event->request - session->first;
	/* A session adds its own parts. */
	struct record record = *event->record;

	if (event->request < session->first || request >= session->session.count)
		return 0;
	if (event->group)
		pipeline_group(&session->session, request, &record, event->group);
	else
		pipeline_event(&session->session, request, &record);
	return 0;
}

static void show_interval(struct run_sink *sink, struct run *run _unused_, uint64_t now_ns)
{
	pipeline_show_groups(&((struct run_session *)sink)->session, now_ns);
}

static void account_session(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	const struct pipeline *session = &((struct run_session *)sink)->session;

	account->events += session->seen;
	add_reason(account, session->aggregate ? aggregate_lost(session->aggregate) : 0, NO_ROOM);
}

static void close_session(struct run_sink *sink)
{
	struct run_session *session = (struct run_session *)sink;

	session->session.output = NULL;
	(void)!pipeline_close(&session->session);
}

static const struct run_sink_ops session_ops = {
	.prepare = prepare_session,
	.begin = begin_session,
	.take = take_event,
	.interval = show_interval,
	.account = account_session,
	.close = close_session,
};

void run_events_add(struct run_events *events, struct run_session *session, const struct trace_plan *plan,
		    const struct trace_options *options)
{
	*session =
		(struct run_session){.sink = {.ops = &session_ops}, .events = events, .plan = plan, .options = options};
	run_add_sink(events->run, &events->source, &session->sink);
}

/* --- a plan ------------------------------------------------------------------------------------------------------- */

struct run_options run_options_of(const char *name, const struct trace_options *options)
{
	return (struct run_options){.name = name,
				    .duration_ns = options->duration_ns,
				    .interval_ns = options->interval_ns,
				    .count = options->count,
				    .command = options->command,
				    .pid = options->pid,
				    .children = options->children,
				    .input = options->input,
				    .save = options->save,
				    .max_loss = options->max_loss,
				    .netns = options->netns,
				    .attaches = true};
}

int run_trace(const struct trace_plan *plan, const struct trace_options *options)
{
	struct run run = {.options = run_options_of(plan->name, options)};
	struct run_session session;
	struct run_events events;

	/* A tool's own interval is for runs without an end: others show everything at the end. */
	if (!options->interval_ns && !options->duration_ns && !options->command.argc && !options->input.file)
		run.options.interval_ns = plan->interval_ns;
	run_events_init(&events, &run, options);
	run_events_add(&events, &session, plan, options);
	return run_carry_out(&run);
}
