/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace as text, one event a line, to look at and to write by hand in tests (docs/flow-format.md, "As text"). What is
 * written reads back as the same events.
 */
#pragma once

#include "base/out.h"
#include "flow/trace/trace_writer.h"

/* Lines go into the writer; -EINVAL names the line that was not understood. */
int trace_text_import(const char *text, size_t size, struct trace_writer *writer, struct why *why) _must_check_;
/* All threads in the order of time; returns how many events that were. */
uint64_t trace_text_dump(const struct flow_trace *trace, struct out *out);
