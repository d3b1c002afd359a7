/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of the trace reader; users include flow/trace/trace.h. */
#pragma once

#include "base/map.h"
#include "base/spill.h"
#include "flow/trace/trace.h"

struct thread_chunks {
	struct flow_thread thread; /* first member, for conversion between both */
	SPILL(struct flow_chunk_ref) chunks;
};

/* A function or module by its number in the file. */
struct numbered {
	uint32_t id;
	uint32_t index;
};

struct flow_trace_file {
	struct flow_trace trace;
	const uint8_t *data;
	size_t size;
	bool mapped;
	const char *path; /* while opening; NULL: memory */
	bool ended;       /* the last chunk so far is an END */
	size_t chunk_count;
	VEC(struct thread_chunks) threads;
	struct map thread_index;
	struct map thread_names; /* number -> 16 bytes, of threads renamed later */
	VEC(void *) copies;      /* memory owned by the trace */
	VEC(struct flow_late) late;
	size_t summary_steps; /* used so far to expand summaries */

	VEC(struct flow_function) functions;
	VEC(struct flow_module) modules;
	VEC(struct numbered) fn_numbers;
	struct map module_numbers; /* number in the file -> index */
	struct map module_names;   /* path and build id -> index */
	struct map fn_places;      /* module and offset -> index */
	struct map fn_names;       /* name -> index, when the address is unknown */
	struct map properties;
	uint32_t *fn_index;

	uint64_t first_clock_ticks, first_clock_ns;
	uint64_t last_clock_ticks, last_clock_ns;
};

/* -E2BIG when there are too many. */
int trace_add_events(struct flow_trace_file *file, const struct flow_chunk_ref *chunk);

/* Adds the contents of TRACE.live, if present. */
void trace_take_live(struct flow_trace_file *file);

/* Adds the sessions of a summary, each kind as a thread that serves one (digest_read.c). */
void trace_take_summary(struct flow_trace_file *file, const uint8_t *data, size_t size);

/* Functions, modules, properties. */
void trace_begin_functions(struct flow_trace_file *file);
void trace_take_properties(struct flow_trace_file *file, const uint8_t *text, size_t size);
void trace_take_meta(struct flow_trace_file *file, const uint8_t *data, size_t size);
void trace_settle_functions(struct flow_trace_file *file);
void trace_free_functions(struct flow_trace_file *file);
