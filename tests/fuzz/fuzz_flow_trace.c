/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any bytes as a trace: refused, or read to its end within bounds. */
#include "flow/trace/demangle.h"
#include "flow/trace/trace_check.h"
#include "fuzz_flow.h"

/* What is read again and again breaks at once, or not at all. */
#define EVENTS_MAX 200000

static void walk(const struct flow_trace *trace)
{
	struct flow_merge *merge = flow_merge_new(trace);
	struct flow_event event;
	struct flow_check check;
	uint64_t count = 0;
	size_t thread;

	while (count < EVENTS_MAX && flow_merge_next(merge, &event, &thread)) {
		struct flow_operation operation;
		struct flow_socket socket;
		struct flow_ready ready;

		fuzz_require(thread < trace->thread_count);
		fuzz_require(event.kind != FLOW_CALL || event.fn < trace->function_count);
		if (flow_event_operation(&event, &operation))
			for (uint32_t i = 0; flow_operation_ready(&operation, i, &ready); i++)
				fuzz_require(i < 255);
		(void)flow_event_socket(&event, &socket);
		for (uint32_t i = 0; event.kind == FLOW_STACK && i < event.word_count; i++)
			fuzz_require(flow_event_stack(trace, &event, i) < trace->function_count);
		count += event.kind != FLOW_LOST && event.kind != FLOW_STACK;
	}
	flow_merge_free(merge);
	if (count >= EVENTS_MAX)
		return;
	flow_trace_check(trace, &check);
	fuzz_require(check.events == count);
}

static void fuzz_name(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *symbol = xasprintf("_Z%.*s", (int)min_of(size, (size_t)5000), (const char *)data);
	_cleanup_free_ char *name = flow_demangle(symbol);

	fuzz_require(!name || strlen(name) < 1024);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *copy = xmalloc(max_of(size, (size_t)1));
	_cleanup_flow_trace_ struct flow_trace *trace = NULL;
	struct why why = {};

	fuzz_name(data, size);
	memcpy(copy, data, size);
	if (size && data[0] == 'N')
		put_checksums_right(copy, size);
	if (flow_trace_open_memory(copy, size, &trace, &why) < 0) {
		fuzz_require(why.text[0]);
		return 0;
	}
	for (size_t i = 0; i < trace->function_count; i++)
		fuzz_require(trace->functions[i].name && trace->functions[i].module < trace->module_count);
	walk(trace);
	return 0;
}
