/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as text, one event per line, for reading and for tests (docs/flow-format.md, "As text"). Writing and reading
 * back gives the same events.
 */
#pragma once

#include "base/out.h"
#include "flow/trace/trace_writer.h"

/* Parses lines into the writer; -EINVAL names the invalid line. */
int trace_text_import(const char *text, size_t size, struct trace_writer *writer, struct why *why) _must_check_;
/* All threads in order of time; returns the number of events. */
uint64_t trace_text_dump(const struct flow_trace *trace, struct out *out);
