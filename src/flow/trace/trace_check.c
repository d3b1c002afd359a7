/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow/trace/trace_check.h"

#include <stdarg.h>

struct walk {
	struct flow_check *check;
	const struct flow_trace *trace;
	const struct flow_thread *thread;
	uint64_t ticks;
	uint64_t depth;
	uint64_t events, calls;
	bool unsure; /* events are missing: expect returns of unseen calls */
};

_printf_(2, 3) static void fault(struct walk *walk, const char *format, ...)
{
	struct flow_check *check = walk->check;
	struct flow_problem *problem = &check->problems[check->problem_count];
	va_list args;

	check->faults++;
	if (check->problem_count == FLOW_PROBLEMS_MAX)
		return;
	check->problem_count++;
	problem->thread = walk->thread->id;
	problem->ticks = walk->ticks;
	va_start(args, format);
	vsnprintf(problem->text, sizeof(problem->text), format, args);
	va_end(args);
}

static void leave(struct walk *walk, uint64_t count)
{
	if (count <= walk->depth) {
		walk->depth -= count;
		return;
	}
	if (!walk->unsure)
		fault(walk, "return without a call");
	walk->depth = 0;
}

static void check_event(struct walk *walk, const struct flow_event *event)
{
	struct flow_check *check = walk->check;
	struct flow_operation operation;
	struct flow_socket socket;

	switch (event->kind) {
	case FLOW_CALL:
		walk->calls++;
		walk->depth++;
		check->max_depth = (uint32_t)max_of(check->max_depth, min_of(walk->depth, UINT32_MAX));
		if (!event->fn)
			fault(walk, "call of a function not described in the trace");
		break;
	case FLOW_RETURN:
		check->returns++;
		leave(walk, 1);
		break;
	case FLOW_UNWIND:
		check->unwound += event->value;
		leave(walk, event->value);
		break;
	case FLOW_LOST:
		/* Paused recording is not a loss. */
		if (event->arg != FLOW_LOST_PAUSED) {
			check->lost += event->value;
			check->gaps += event->value == 0;
		}
		walk->unsure = true;
		walk->depth = 0;
		break;
	case FLOW_STACK:
		walk->depth = (event->arg ? walk->depth : 0) + event->word_count;
		walk->unsure = false;
		break;
	case FLOW_OPERATION:
		check->operations++;
		if (!flow_event_operation(event, &operation))
			fault(walk, "truncated operation");
		break;
	case FLOW_SOCKET:
		check->sockets++;
		if (!flow_event_socket(event, &socket))
			fault(walk, "truncated socket");
		break;
	default:
		break;
	}
}

static void check_thread(struct flow_check *check, const struct flow_trace *trace, size_t index)
{
	struct walk walk = {.check = check, .trace = trace, .thread = &trace->threads[index]};
	struct flow_cursor cursor;
	struct flow_event event;
	uint64_t marks = 0; /* about the trace itself, not the program */

	flow_cursor_begin(&cursor, trace, index);
	while (flow_cursor_next(&cursor, &event)) {
		walk.ticks = event.ticks;
		walk.events++;
		marks += event.kind == FLOW_LOST || event.kind == FLOW_STACK;
		check_event(&walk, &event);
	}
	check->damaged += cursor.damaged;
	if (cursor.damaged)
		fault(&walk, "%llu damaged chunks", (unsigned long long)cursor.damaged);
	else if (walk.calls != walk.thread->calls || walk.events - marks != walk.thread->events)
		fault(&walk, "headers say %llu events, %llu calls; found %llu and %llu",
		      (unsigned long long)walk.thread->events, (unsigned long long)walk.thread->calls,
		      (unsigned long long)(walk.events - marks), (unsigned long long)walk.calls);
	check->events += walk.events - marks;
	check->calls += walk.calls;
	check->open += walk.depth;
}

void flow_trace_check(const struct flow_trace *trace, struct flow_check *ret_check)
{
	uint64_t unmarked = trace->lost;

	*ret_check = (struct flow_check){};
	for (size_t i = 0; i < trace->thread_count; i++) {
		check_thread(ret_check, trace, i);
		unmarked -= min_of(unmarked, trace->threads[i].lost);
	}
	/* Losses that no thread could mark are counted at the end of the trace. */
	ret_check->lost += unmarked;
	if (trace->damaged_bytes)
		ret_check->faults++;
}
