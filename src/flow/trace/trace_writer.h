/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a function trace, for importers and tests. (Inside an observed program the runtime writes the same format
 * itself.) Ticks are absolute and monotonic within a thread; functions, modules and threads are numbered here.
 *
 *   r = trace_writer_open("x.trace", &(struct trace_writer_options){}, &writer, &why);
 *   module = trace_writer_module(writer, &(struct flow_module){.path = "/usr/sbin/nginx"});
 *   fn = trace_writer_function(writer, module, 0x1000, "main");
 *   thread = trace_writer_thread(writer, pid, tid, "nginx");
 *   trace_writer_call(writer, thread, 100, fn);
 *   trace_writer_return(writer, thread, 250);
 *   r = trace_writer_close(writer);
 */
#pragma once

#include "flow/trace/trace.h"

struct trace_writer;

struct trace_writer_options {
	uint64_t ticks_per_second; /* 0: nanoseconds */
	uint64_t start_real_ns;    /* CLOCK_REALTIME at tick 0; 0: unknown, ticks count from 1970 */
	uint32_t chunk_bytes;      /* 0: 256 KiB */
	bool untimed;              /* only some events carry time */
};

int trace_writer_open(const char *path, const struct trace_writer_options *options, struct trace_writer **ret_writer,
		      struct why *why) _must_check_;
/* Properties of the file; before the first event. */
void trace_writer_property(struct trace_writer *writer, const char *key, const char *value);
uint32_t trace_writer_module(struct trace_writer *writer, const struct flow_module *module);
/* name may be NULL: address only. */
uint32_t trace_writer_function(struct trace_writer *writer, uint32_t module, uint64_t offset, const char *name);
/* The same in two steps, for a function called before it is identified. */
uint32_t trace_writer_function_number(struct trace_writer *writer);
void trace_writer_function_is(struct trace_writer *writer, uint32_t fn, uint32_t module, uint64_t offset,
			      const char *name, const char *file);
/* Returns the thread number for the functions below. */
uint32_t trace_writer_thread(struct trace_writer *writer, uint32_t pid, uint32_t tid, const char *name);

void trace_writer_call(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint32_t fn);
void trace_writer_return(struct trace_writer *writer, uint32_t thread, uint64_t ticks);
void trace_writer_unwind(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint32_t count);
void trace_writer_lost_why(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint64_t count,
			   enum flow_lost why);

static inline void trace_writer_lost(struct trace_writer *writer, uint32_t thread, uint64_t ticks, uint64_t count)
{
	trace_writer_lost_why(writer, thread, ticks, count, FLOW_LOST_OTHER);
}
void trace_writer_end(struct trace_writer *writer, uint32_t thread, uint64_t ticks);
/* The process ends, by exit(). */
void trace_writer_exit(struct trace_writer *writer, uint32_t thread, uint64_t ticks);
void trace_writer_delay(struct trace_writer *writer, uint32_t thread, uint64_t ticks, enum flow_delay kind,
			const struct flow_look *look);
void trace_writer_value(struct trace_writer *writer, uint32_t thread, uint64_t ticks, enum flow_value kind,
			uint64_t value);
/* Open functions, outermost first. */
void trace_writer_stack(struct trace_writer *writer, uint32_t thread, uint64_t ticks, const uint32_t *fns,
			size_t count);
/* Arguments of the preceding call. */
void trace_writer_args(struct trace_writer *writer, uint32_t thread, const uint64_t *values, size_t count);
/* Describes a socket, or updates it. Returns its number; 0 in socket->socket: a new one. */
uint32_t trace_writer_socket(struct trace_writer *writer, uint32_t thread, uint64_t ticks,
			     const struct flow_socket *socket);
/* Ignores extra: use trace_writer_wait for waits. */
void trace_writer_operation(struct trace_writer *writer, uint32_t thread, const struct flow_operation *operation);
void trace_writer_wait(struct trace_writer *writer, uint32_t thread, const struct flow_operation *operation,
		       const struct flow_ready *ready, size_t count);

/* A scheduling delay of the recorder. */
void trace_writer_late(struct trace_writer *writer, const struct flow_late *late);

/* Flushes, ends the trace, frees the writer. Returns the first error. */
int trace_writer_close(struct trace_writer *writer) _must_check_;
