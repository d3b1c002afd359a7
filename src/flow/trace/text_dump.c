/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>

#include "base/text.h"
#include "flow/trace/trace_text.h"

static void add_name(struct buf *out, const struct flow_trace *trace, uint32_t fn)
{
	const struct flow_function *function = &trace->functions[fn];

	if (function->module && function->named) {
		const char *module = trace->modules[function->module].name;

		text_add_terminal(out, module, strlen(module));
		buf_add_char(out, '!');
	}
	text_add_terminal(out, function->name, strlen(function->name));
}

static void add_endpoint(struct buf *out, const char *key, const struct endpoint *endpoint)
{
	if (endpoint->addr.family == ADDR_UNKNOWN)
		return;
	buf_add_format(out, " %s=", key);
	addr_format_endpoint(endpoint, out);
}

static void add_socket(struct buf *out, const struct flow_event *event)
{
	struct flow_socket socket;

	buf_add_text(out, "socket");
	if (!flow_event_socket(event, &socket))
		return;
	buf_add_format(out, " socket=%u fd=%d family=%u type=%u", socket.socket, socket.fd, socket.family, socket.type);
	if (socket.cookie)
		buf_add_format(out, " cookie=%" PRIu64, socket.cookie);
	add_endpoint(out, "local", &socket.local);
	add_endpoint(out, "remote", &socket.remote);
}

static void add_operation(struct buf *out, const struct flow_trace *trace, const struct flow_event *event)
{
	struct flow_operation operation;
	struct flow_ready ready;

	if (!flow_event_operation(event, &operation)) {
		buf_add_text(out, "unknown");
		return;
	}
	buf_add_format(out, "op-%s fd=%d result=%" PRId64 " took=%" PRIu64, flow_op_name(operation.op), operation.fd,
		       operation.result, flow_span_ns(trace, operation.end_ticks - operation.start_ticks));
	if (operation.socket)
		buf_add_format(out, " socket=%u", operation.socket);
	if (operation.aux)
		buf_add_format(out, " aux=%" PRIu64, operation.aux);
	for (uint32_t i = 0; flow_operation_ready(&operation, i, &ready); i++)
		buf_add_format(out, " ready=%" PRIu64 ":%u", ready.data, ready.events);
}

static void add_stack(struct buf *out, const struct flow_trace *trace, const struct flow_event *event)
{
	buf_add_text(out, event->arg ? "stack-more" : "stack");
	for (uint32_t i = 0; i < event->word_count; i++) {
		buf_add_text(out, i ? "; " : " ");
		add_name(out, trace, flow_event_stack(trace, event, i));
	}
}

static void add_args(struct buf *out, const struct flow_event *event)
{
	uint64_t value;

	buf_add_text(out, "args");
	for (uint32_t i = 0; flow_event_argument(event, i, &value); i++)
		buf_add_format(out, " %" PRIu64, value);
}

static void add_look(struct buf *out, const struct flow_event *event)
{
	struct flow_look look = flow_event_look(event);

	buf_add_format(out, "delay%s %" PRIu64 " %u", event->arg == FLOW_DELAY_OPERATION ? "-op" : "", look.delay_ns,
		       look.runs);
	if (look.has_cpu)
		buf_add_format(out, " %" PRIu64, look.cpu_ns);
}

static void add_event(struct buf *out, const struct flow_trace *trace, const struct flow_event *event)
{
	static const char *const values[] = {"value", "push", "pop"};
	static const char *const processes[] = {"process", "exec", "fork", "exit"};

	switch (event->kind) {
	case FLOW_CALL:
		buf_add_text(out, "call ");
		add_name(out, trace, event->fn);
		break;
	case FLOW_RETURN:
		buf_add_text(out, "return");
		break;
	case FLOW_UNWIND:
		buf_add_format(out, "unwind %" PRIu64, event->value);
		break;
	case FLOW_LOST:
		buf_add_format(out, "lost %" PRIu64, event->value);
		if (flow_lost_name(event->arg))
			buf_add_format(out, " %s", flow_lost_name(event->arg));
		break;
	case FLOW_STACK:
		add_stack(out, trace, event);
		break;
	case FLOW_THREAD_END:
		buf_add_text(out, "end");
		break;
	case FLOW_PROCESS:
		buf_add_text(out, processes[event->arg < ARRAY_SIZE(processes) ? event->arg : 0]);
		break;
	case FLOW_SOCKET:
		add_socket(out, event);
		break;
	case FLOW_OPERATION:
		add_operation(out, trace, event);
		break;
	case FLOW_VALUE:
		buf_add_format(out, "%s %" PRIu64, values[event->arg < ARRAY_SIZE(values) ? event->arg : 0],
			       event->value);
		break;
	case FLOW_ARGS:
		add_args(out, event);
		break;
	case FLOW_DELAY:
		add_look(out, event);
		break;
	default:
		buf_add_text(out, "unknown");
	}
}

/* Start of an event, in nanoseconds since the start of the trace. */
static uint64_t begin_ns(const struct flow_trace *trace, const struct flow_event *event)
{
	struct flow_operation operation;
	uint64_t ticks = flow_event_operation(event, &operation) ? operation.start_ticks : event->ticks;

	return flow_span_ns(trace, ticks > trace->first_ticks ? ticks - trace->first_ticks : 0);
}

uint64_t trace_text_dump(const struct flow_trace *trace, struct out *out)
{
	struct flow_merge *merge = flow_merge_new(trace);
	struct flow_event event;
	uint64_t count = 0;
	size_t thread;

	for (size_t i = 0; i < trace->thread_count; i++) {
		const struct flow_thread *t = &trace->threads[i];

		buf_add_format(&out->pending, "thread %u pid=%u tid=%u name=", t->id, t->pid, t->tid);
		text_add_terminal(&out->pending, t->name, strlen(t->name));
		out_end_line(out);
	}
	for (size_t i = 0; i < trace->late_count; i++) {
		const struct flow_late *late = &trace->late[i];

		/* The recorder began to wait before the first event. */
		if (late->due_ticks < trace->first_ticks)
			continue;
		buf_add_format(&out->pending, "late %" PRIu64 " %" PRIu64,
			       flow_span_ns(trace, late->due_ticks - trace->first_ticks),
			       flow_span_ns(trace, late->awake_ticks - late->due_ticks));
		out_end_line(out);
	}
	while (!out->error && flow_merge_next(merge, &event, &thread)) {
		count++;
		if (event.kind == FLOW_THREAD_START)
			continue;
		buf_add_format(&out->pending, "%u %" PRIu64 " ", trace->threads[thread].id, begin_ns(trace, &event));
		add_event(&out->pending, trace, &event);
		out_end_line(out);
	}
	flow_merge_free(merge);
	return count;
}
