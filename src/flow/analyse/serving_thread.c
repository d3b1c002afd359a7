/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/analyse/serving_thread.h"

#include <errno.h>

#include "flow/analyse/profile.h"
#include "view/format.h"

/* Minimum share of the time for a function or operation to be reported. */
#define MOST 0.5

/* --- the thread that serves the connection --- */

struct served {
	size_t thread;
	uint32_t socket;
	uint64_t last_ticks; /* of its last operation */
	bool found;
};

static bool is_end(const struct endpoint *seen, const struct endpoint *wanted)
{
	return seen->port == wanted->port && addr_equal(&seen->addr, &wanted->addr);
}

/* Another thread than the user of the socket may have described it; numbers are global. */
static uint32_t find_socket(const struct flow_trace *trace, const struct serving_question *q)
{
	uint64_t last = 0;
	uint32_t found = 0;

	for (size_t i = 0; i < trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;
		struct flow_socket seen;

		flow_cursor_begin(&cursor, trace, i);
		while (flow_cursor_next_notable(&cursor, &event))
			if (flow_event_socket(&event, &seen) && is_end(&seen.local, &q->local) &&
			    is_end(&seen.remote, &q->remote) && event.ticks >= last) {
				found = seen.socket;
				last = event.ticks;
			}
	}
	return found;
}

static void find_thread(const struct flow_trace *trace, uint32_t pid, uint64_t end, struct served *served)
{
	for (size_t i = 0; i < trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;
		struct flow_operation op;

		if (pid && trace->threads[i].pid != pid)
			continue;
		flow_cursor_begin(&cursor, trace, i);
		while (flow_cursor_next_notable(&cursor, &event)) {
			if (!flow_event_operation(&event, &op) || op.socket != served->socket || op.start_ticks > end ||
			    (served->found && op.end_ticks < served->last_ticks))
				continue;
			served->found = true;
			served->thread = i;
			served->last_ticks = min_of(op.end_ticks, end);
		}
	}
}

/* --- activity of that thread --- */

struct watcher {
	const struct flow_trace *trace;
	uint64_t start, end;
	struct profile profile;
	VEC(uint32_t) open; /* places of the open calls */
	uint64_t now;       /* time is counted up to here */
	/* By place: the longest operation. */
	struct longest {
		uint64_t ticks;
		uint32_t place;
		uint32_t socket;
		enum flow_op op;
	} longest;
};

static uint32_t place_now(const struct watcher *w)
{
	return w->open.count ? w->open.items[w->open.count - 1] : 0;
}

/* Assigns elapsed time within the question to the innermost open call. */
static void pass_time(struct watcher *w, uint64_t ticks)
{
	uint64_t from = max_of(w->now, w->start), to = min_of(ticks, w->end);

	if (to > from)
		w->profile.places.items[place_now(w)].group[0].self_ticks += to - from;
	w->now = max_of(w->now, ticks);
}

static void enter(struct watcher *w, uint32_t fn)
{
	uint32_t place = profile_place_at(&w->profile, place_now(w), fn);

	vec_push(&w->open, place);
	if (w->now >= w->start && w->now <= w->end)
		w->profile.places.items[place].group[0].calls++;
}

static void watch_operation(struct watcher *w, const struct flow_event *event)
{
	struct flow_operation op;
	uint64_t from, to;

	if (!flow_event_operation(event, &op))
		return;
	from = max_of(op.start_ticks, w->start);
	to = min_of(op.end_ticks, w->end);
	if (to > from && to - from > w->longest.ticks)
		w->longest = (struct longest){to - from, place_now(w), op.socket, op.op};
}

static void watch_event(struct watcher *w, const struct flow_event *event)
{
	if (event->kind == FLOW_CALL) {
		enter(w, event->fn);
	} else if (event->kind == FLOW_RETURN) {
		w->open.count -= w->open.count > 0;
	} else if (event->kind == FLOW_OPERATION) {
		watch_operation(w, event);
	} else if (event->kind == FLOW_UNWIND) {
		w->open.count -= min_of(event->value, w->open.count);
	} else if (event->kind == FLOW_LOST) {
		w->open.count = 0;
	} else if (event->kind == FLOW_STACK) {
		if (event->arg != 1)
			w->open.count = 0;
		for (uint32_t i = 0; i < event->word_count; i++)
			enter(w, flow_event_stack(w->trace, event, i));
	}
}

/* Calls open at the start of the question count as called in it. */
static void count_open(struct watcher *w)
{
	for (size_t i = 0; i < w->open.count; i++)
		w->profile.places.items[w->open.items[i]].group[0].calls++;
}

static void watch(struct watcher *w, size_t thread)
{
	struct flow_cursor cursor;
	struct flow_event event;
	bool begun = false;

	profile_init(&w->profile);
	w->profile.trace = w->trace;
	flow_cursor_begin(&cursor, w->trace, thread);
	while (flow_cursor_next(&cursor, &event)) {
		if (event.ticks > w->end)
			break;
		if (!begun && event.ticks >= w->start) {
			count_open(w);
			begun = true;
		}
		pass_time(w, event.ticks);
		watch_event(w, &event);
	}
	if (!begun)
		count_open(w);
	/* A call that has not returned continues: nothing is written meanwhile. */
	pass_time(w, w->end);
	vec_done(&w->open);
}

/* --- the result --- */

static uint32_t innermost(const struct profile *profile, const uint64_t *ticks, uint64_t all)
{
	uint32_t at = 0;

	for (;;) {
		uint32_t best = 0;

		for (uint32_t c = profile->places.items[at].first_child; c; c = profile->places.items[c].next)
			if (!best || ticks[c] > ticks[best])
				best = c;
		if (!best || (double)ticks[best] <= MOST * (double)all)
			return at;
		at = best;
	}
}

static void add_operation(const struct watcher *w, const struct served *served, uint64_t all,
			  struct serving_thread *serving)
{
	if ((double)w->longest.ticks <= MOST * (double)all)
		return;
	serving->operation = flow_op_name(w->longest.op);
	serving->is_same = w->longest.socket == served->socket;
	for (size_t i = 0; w->longest.socket && i < w->trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;
		struct flow_socket seen;

		flow_cursor_begin(&cursor, w->trace, i);
		while (flow_cursor_next_notable(&cursor, &event))
			if (flow_event_socket(&event, &seen) && seen.socket == w->longest.socket)
				serving->other = seen.remote;
	}
}

static void conclude(struct watcher *w, const struct served *served, uint32_t place, uint64_t inside,
		     struct serving_thread *serving)
{
	const struct flow_trace *trace = w->trace;
	const struct flow_thread *thread = &trace->threads[served->thread];
	const struct flow_function *function = &trace->functions[w->profile.places.items[place].fn];
	VEC(uint32_t) places = {};

	*serving = (struct serving_thread){
		.function = function->name,
		.module = trace->modules[function->module].name,
		.share = (double)inside / (double)(w->end - w->start),
		.pid = thread->pid,
		.tid = thread->tid,
		.comm = thread->name,
		.calls = w->profile.places.items[place].group[0].calls,
		.idle_ns = flow_span_ns(trace, w->end - served->last_ticks),
	};
	for (uint32_t at = place; at; at = w->profile.places.items[at].parent)
		vec_push(&places, at);
	for (size_t i = places.count; i-- > 0;)
		vec_push(&serving->call_path, trace->functions[w->profile.places.items[places.items[i]].fn].name);
	vec_done(&places);
	add_operation(w, served, w->end - w->start, serving);
}

static uint64_t ticks_at(const struct flow_trace *trace, uint64_t ns)
{
	uint64_t span = ns >= trace->clock_ns ? ns - trace->clock_ns : trace->clock_ns - ns;
	uint64_t ticks = (uint64_t)(((unsigned __int128)span << 48) / max_of(trace->ns_per_tick, (uint64_t)1));

	return ns >= trace->clock_ns ? trace->clock_ticks + ticks
				     : trace->clock_ticks - min_of(ticks, trace->clock_ticks);
}

int serving_thread_find(const struct flow_trace *trace, const struct serving_question *q,
			struct serving_thread *ret_serving, struct why *why)
{
	struct watcher w = {.trace = trace, .start = ticks_at(trace, q->start_ns), .end = ticks_at(trace, q->end_ns)};
	struct served served = {.socket = find_socket(trace, q)};
	struct profile_sums sums = {};
	uint32_t place;
	uint64_t inside;

	if (!served.socket)
		return why_set(why, -ENODATA, "connection not found in the trace");
	find_thread(trace, q->pid, w.end, &served);
	/* Another process of the same server may have it now, or pids differ in its pid namespace. */
	if (!served.found && q->pid)
		find_thread(trace, 0, w.end, &served);
	if (!served.found || w.end <= w.start)
		return why_set(why, -ENODATA, "no thread in the trace has used the connection");
	watch(&w, served.thread);
	profile_sum(&w.profile, &sums);
	place = innermost(&w.profile, sums.ticks[0], w.end - w.start);
	inside = sums.ticks[0][place];
	if (place)
		conclude(&w, &served, place, inside, ret_serving);
	profile_sums_done(&sums);
	profile_done(&w.profile);
	return place ? 0
		     : why_set(why, -ENODATA, "no function takes most of that time in thread %u",
			       trace->threads[served.thread].tid);
}

void serving_thread_done(struct serving_thread *serving)
{
	vec_done(&serving->call_path);
}

void serving_thread_describe(const struct serving_thread *serving, struct buf *out)
{
	buf_add_format(out, "its thread %u%s%s%s spent ", serving->tid, *serving->comm ? " (" : "", serving->comm,
		       *serving->comm ? ")" : "");
	format_add_share(out, serving->share);
	buf_add_format(out, " of that time in %s", serving->function);
	if (serving->call_path.count > 1)
		buf_add_format(out, ", called by %s", serving->call_path.items[serving->call_path.count - 2]);
	if (serving->operation && serving->is_same) {
		buf_add_format(out, ", in a %s on this connection", serving->operation);
	} else if (serving->operation && serving->other.addr.family) {
		buf_add_format(out, ", in a %s on its connection with ", serving->operation);
		addr_format_endpoint(&serving->other, out);
	} else if (serving->operation) {
		buf_add_format(out, ", in a %s", serving->operation);
	}
	buf_add_text(out, "; no activity on the connection for ");
	format_add_duration(out, (int64_t)serving->idle_ns);
}
