/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces for the tests of what is made of them: from text, and at random. */
#pragma once

#include "base/new_file.h"
#include "flow/analyse/compare.h"
#include "flow/trace/trace_text.h"
#include "unit.h"

static inline void comparison_freep(struct comparison **comparison)
{
	comparison_free(*comparison);
}

static inline struct flow_trace *sample_close(struct trace_writer *writer, const char *path)
{
	struct flow_trace *trace = NULL;
	struct why why = {};

	REQUIRE(trace_writer_close(writer) == 0);
	REQUIRE(flow_trace_open(path, &trace, &why) == 0);
	unlink(path);
	return trace;
}

/* chunk_bytes 0: as large as always. */
static inline struct trace_writer *sample_open_chunks(char *path, uint32_t chunk_bytes)
{
	struct trace_writer *writer = NULL;
	struct why why = {};
	int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	close(fd);
	new_file_forget_inputs();
	REQUIRE(trace_writer_open(path, &(struct trace_writer_options){.chunk_bytes = chunk_bytes}, &writer, &why) ==
		0);
	return writer;
}

static inline struct trace_writer *sample_open(char *path)
{
	return sample_open_chunks(path, 0);
}

static inline struct flow_trace *sample_of_text(const char *text)
{
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct trace_writer *writer = sample_open(path);
	struct why why = {};

	if (trace_text_import(text, strlen(text), writer, &why) < 0)
		fprintf(stderr, "# %s\n", why.text);
	return sample_close(writer, path);
}

/* Threads that call at random, work for some sockets, lose events now and then. */
static inline struct flow_trace *sample_random_chunks(uint64_t seed, unsigned threads, unsigned events,
						      uint32_t chunk_bytes)
{
	char path[] = "/tmp/nest-unit-flow-XXXXXX";
	struct trace_writer *writer = sample_open_chunks(path, chunk_bytes);
	uint32_t module = trace_writer_module(writer, &(struct flow_module){.path = "/bin/x"}), fns[12];
	uint64_t state = seed * 7919 + 1, now = 1000;

	for (unsigned i = 0; i < ARRAY_SIZE(fns); i++)
		fns[i] = trace_writer_function(writer, module, i * 16, (char[]){(char)('a' + i), '\0'});
	for (unsigned t = 0; t < threads; t++) {
		uint32_t thread = trace_writer_thread(writer, 1, t + 1, "t");
		unsigned depth = 0;

		for (unsigned i = 0; i < events; i++) {
			uint64_t dice = unit_random(&state) % 100;

			now += unit_random(&state) % 5000;
			if (dice < 45 && depth < 20) {
				/* Deep functions differ from shallow ones, so that some serve and some dispatch. */
				trace_writer_call(writer, thread, now, fns[min_of(depth * 2 + dice % 3, 11u)]);
				depth++;
			} else if (dice < 90 && depth) {
				trace_writer_return(writer, thread, now);
				depth--;
			} else if (dice < 98) {
				trace_writer_operation(writer, thread,
						       &(struct flow_operation){
							       .op = dice % 2 ? FLOW_OP_READ : FLOW_OP_WRITE,
							       .start_ticks = now,
							       .end_ticks = now + 100,
							       .socket = 1 + (uint32_t)(unit_random(&state) % 6),
							       .fd = 5,
							       .result = (int)(unit_random(&state) % 200) - 20,
						       });
				now += 100;
			} else if (dice == 98 && depth) {
				unsigned n = 1 + (unsigned)(unit_random(&state) % depth);

				trace_writer_unwind(writer, thread, now, n);
				depth -= n;
			} else if (dice == 99 && unit_random(&state) % 8 == 0) {
				trace_writer_lost(writer, thread, now, 3);
				depth = 0;
			}
		}
	}
	for (uint32_t s = 1; s <= 6; s++) {
		struct flow_socket socket = {.socket = s, .fd = 5, .family = 2, .type = 1};

		REQUIRE(addr_parse_endpoint("10.0.0.1:80", &socket.local) == 0);
		REQUIRE(addr_parse_endpoint("10.0.0.2:4000", &socket.remote) == 0);
		(void)trace_writer_socket(writer, 1, now + 1, &socket);
	}
	return sample_close(writer, path);
}

static inline struct flow_trace *sample_random(uint64_t seed, unsigned threads, unsigned events)
{
	return sample_random_chunks(seed, threads, events, 0);
}
