/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by importers: threads and functions numbered at first use, and a file in memory. */
#pragma once

#include "base/map.h"
#include "flow/import/import.h"

struct import_thread {
	uint32_t thread; /* number in the trace */
	uint32_t depth;  /* open calls */
	uint64_t last;   /* time of its last event: time is monotonic within a thread */
};

struct import_maps {
	struct trace_writer *writer;
	struct map threads;   /* tid -> struct import_thread */
	struct map functions; /* name -> number */
	struct map addresses; /* address or number of a function -> number in the trace */
};

void import_maps_init(struct import_maps *maps, struct trace_writer *writer);
void import_maps_done(struct import_maps *maps);
/* NULL: too many. */
struct import_thread *import_thread(struct import_maps *maps, uint32_t pid, uint32_t tid, const char *name);
uint32_t import_function(struct import_maps *maps, const char *name);
/* Call and return with bookkeeping; a return without a call is not written (false). */
void import_call(struct import_maps *maps, struct import_thread *thread, uint64_t ticks, uint32_t fn);
bool import_return(struct import_maps *maps, struct import_thread *thread, uint64_t ticks);

/* Adds a hint for the user. */
void import_note(struct import_result *result, const char *format, ...) _printf_(2, 3);

struct import_file {
	const uint8_t *data;
	size_t size;
	bool mapped;
};

int import_file_open(const char *path, struct import_file *ret_file, struct why *why) _must_check_;
void import_file_close(struct import_file *file);
#define _cleanup_import_file_ _cleanup_(import_file_close)

/* Formats from memory, for tests and fuzzing. */
int import_xray(const uint8_t *data, size_t size, struct trace_writer *writer, struct import_result *result,
		struct why *why);
int import_trace_event(const char *data, size_t size, struct trace_writer *writer, struct import_result *result,
		       struct why *why);
int import_function_graph(const char *data, size_t size, struct trace_writer *writer, struct import_result *result,
			  struct why *why);
/* Records sent by ctf_read.h. */
int import_ctf_records(const uint8_t *data, size_t size, struct trace_writer *writer, struct import_result *result,
		       struct why *why);
