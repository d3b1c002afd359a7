/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading a function trace: nanoseconds per event, compared with a plain pass over the same bytes. */
#include <inttypes.h>

#include "base/clock.h"
#include "flow/trace/checksum.h"
#include "flow/trace/trace_check.h"
#include "flow/trace/trace_writer.h"

#define EVENTS 20000000u
#define ROUNDS 5

static const char *path;

/* A request of 33 calls, like a server's, with one socket operation. */
static uint64_t write_request(struct trace_writer *writer, uint32_t thread, const uint32_t *fns, uint64_t now)
{
	trace_writer_call(writer, thread, now += 400, fns[0]);
	for (unsigned i = 1; i < 9; i++) {
		trace_writer_call(writer, thread, now += 60, fns[i]);
		for (unsigned j = 0; j < 3; j++) {
			trace_writer_call(writer, thread, now += 50, fns[9 + i * 3 + j]);
			trace_writer_return(writer, thread, now += 70);
		}
		trace_writer_return(writer, thread, now += 40);
	}
	trace_writer_operation(writer, thread,
			       &(struct flow_operation){.op = FLOW_OP_WRITE,
							.start_ticks = now + 10,
							.end_ticks = now + 5000,
							.socket = 1,
							.fd = 5,
							.result = 800});
	trace_writer_return(writer, thread, now += 5100);
	return now;
}

static void write_trace(void)
{
	struct trace_writer *writer;
	uint32_t fns[64], threads[2];
	uint64_t now = 0;
	struct why why = {};

	if (trace_writer_open(path, &(struct trace_writer_options){}, &writer, &why) < 0)
		exit(1);
	for (unsigned i = 0; i < 64; i++)
		fns[i] = trace_writer_function(writer, 0, 0,
					       (char[]){'f', (char)('0' + i / 8), (char)('0' + i % 8), '\0'});
	threads[0] = trace_writer_thread(writer, 1, 1, "a");
	threads[1] = trace_writer_thread(writer, 1, 2, "b");
	for (unsigned i = 0; i < EVENTS / 67; i++)
		now = write_request(writer, threads[i % 2], fns, now);
	if (trace_writer_close(writer) < 0)
		exit(1);
}

static uint64_t read_all(const struct flow_trace *trace, uint64_t *counts)
{
	uint64_t events = 0;

	for (size_t i = 0; i < trace->thread_count; i++) {
		struct flow_cursor cursor;
		struct flow_event event;

		flow_cursor_begin(&cursor, trace, i);
		while (flow_cursor_next(&cursor, &event)) {
			events++;
			if (event.kind == FLOW_CALL)
				counts[event.fn] += event.ticks;
		}
	}
	return events;
}

static uint64_t merge_all(const struct flow_trace *trace)
{
	struct flow_merge *merge = flow_merge_new(trace);
	struct flow_event event;
	uint64_t events = 0;
	size_t thread;

	while (flow_merge_next(merge, &event, &thread))
		events++;
	flow_merge_free(merge);
	return events;
}

static uint64_t sum_all(const struct flow_trace *trace)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < trace->thread_count; i++)
		for (size_t c = 0; c < trace->threads[i].chunk_count; c++)
			for (uint32_t w = 0; w < trace->threads[i].chunks[c].word_count; w++)
				sum += trace->threads[i].chunks[c].words[w];
	return sum;
}

int main(void)
{
	double best[4] = {1e18, 1e18, 1e18, 1e18};
	static uint64_t counts[65];
	char name[] = "/tmp/nest-bench-flow-XXXXXX";
	uint64_t events = 0, bytes = 0, sink = 0;
	int fd = mkstemp(name);

	if (fd < 0)
		return 1;
	close(fd);
	path = name;
	write_trace();
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct flow_trace *trace;
		struct why why = {};
		uint64_t t[5];

		t[0] = clock_monotonic_ns();
		if (flow_trace_open(path, &trace, &why) < 0)
			return 1;
		t[1] = clock_monotonic_ns();
		events = read_all(trace, counts);
		t[2] = clock_monotonic_ns();
		sink += merge_all(trace);
		t[3] = clock_monotonic_ns();
		sink += sum_all(trace);
		t[4] = clock_monotonic_ns();
		for (unsigned i = 0; i < 4; i++)
			best[i] = min_of(best[i], (double)(t[i + 1] - t[i]));
		bytes = trace->bytes;
		flow_trace_close(trace);
	}
	unlink(name);
	printf("flow read: %" PRIu64
	       " events, %.2f bytes each; open %.1f ms; cursor %.2f ns, merge %.2f ns, plain sum %.2f ns an event "
	       "(%" PRIu64 ")\n",
	       events, (double)bytes / (double)events, best[0] / 1e6, best[1] / (double)events,
	       best[2] / (double)events, best[3] / (double)events, sink % 10);
	return 0;
}
