/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the trace reader share; users of it include flow/trace/trace.h. */
#pragma once

#include "base/map.h"
#include "base/spill.h"
#include "flow/trace/trace.h"

struct thread_chunks {
	struct flow_thread thread; /* first, so that one leads to the other */
	SPILL(struct flow_chunk_ref) chunks;
};

/* A function or module as the file numbers it. */
struct numbered {
	uint32_t id;
	uint32_t index;
};

struct flow_trace_file {
	struct flow_trace trace;
	const uint8_t *data;
	size_t size;
	bool mapped;
	const char *path; /* while it is opened; NULL: memory */
	bool ended;       /* the last chunk so far was an END */
	size_t chunk_count;
	VEC(struct thread_chunks) threads;
	struct map thread_index;
	struct map thread_names; /* number -> 16 bytes, of those that were named later */
	VEC(void *) copies;      /* memory that goes with the trace */
	size_t summary_steps;    /* spent so far on expanding summaries */

	VEC(struct flow_function) functions;
	VEC(struct flow_module) modules;
	VEC(struct numbered) fn_numbers;
	struct map module_numbers; /* number in the file -> index */
	struct map module_names;   /* path and build id -> index */
	struct map fn_places;      /* module and offset -> index */
	struct map fn_names;       /* name -> index, where no address is known */
	struct map properties;
	uint32_t *fn_index;

	uint64_t first_clock_ticks, first_clock_ns;
	uint64_t last_clock_ticks, last_clock_ns;
};

/* -E2BIG when there are too many. */
int trace_add_events(struct flow_trace_file *file, const struct flow_chunk_ref *chunk);

/* What TRACE.live holds beyond the trace, if it is there. */
void trace_take_live(struct flow_trace_file *file);

/* The sessions of a summary, each kind of them as a thread that serves one (digest_read.c). */
void trace_take_summary(struct flow_trace_file *file, const uint8_t *data, size_t size);

/* Functions, modules, properties. */
void trace_begin_functions(struct flow_trace_file *file);
void trace_take_properties(struct flow_trace_file *file, const uint8_t *text, size_t size);
void trace_take_meta(struct flow_trace_file *file, const uint8_t *data, size_t size);
void trace_settle_functions(struct flow_trace_file *file);
void trace_free_functions(struct flow_trace_file *file);
