/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options common to all tools, and the filter that they form. */
#pragma once

#include "base/option.h"
#include "event/core/event.h"
#include "store/input.h"
#include "view/output.h"

struct trace_options {
	uint64_t pid;
	bool children;
	struct port_list ports;
	struct port_list local_ports;
	struct port_list remote_ports;
	const char *netns;
	const char *cgroup;
	const char *iface;
	bool ipv4;
	bool ipv6;
	bool failures;
	bool time_of_day;
	bool time_since;
	bool kernel_stack;
	bool user_stack;
	uint64_t duration_ns;
	uint64_t buffer_bytes;
	const char *max_loss;
	uint64_t interval_ns;
	uint64_t count;
	struct command_line command;
	struct input_options input;
	const char *save;
	struct output_options output;
};

extern const struct option_spec trace_option_table[];
/* The same without intervals, for tools that never aggregate. */
extern const struct option_spec trace_stream_table[];
/* Parts of it, for other commands: event selection; run and output. */
extern const struct option_spec trace_select_table[];
extern const struct option_spec trace_run_table[];

/*
 * Appends the conditions of the options in --where syntax, joined by `and`. -EINVAL, -ENOENT with a message if a
 * namespace, cgroup or interface does not exist.
 */
int trace_options_where(const struct trace_options *options, const struct event *event, struct buf *where,
			struct why *why) _must_check_;

/* Whether the field is a stack, which options show per event. */
bool trace_is_stack(const char *field);

/* Appends "(condition)", joined by `and`. */
void trace_where_add(struct buf *where, const char *format, ...) _printf_(2, 3);
