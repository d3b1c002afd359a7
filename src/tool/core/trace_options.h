/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that mean the same in every tool, and the filter that they make. */
#pragma once

#include "base/option.h"
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

/* For OPTION_GROUP. */
extern const struct option_spec trace_option_table[];
/* The same for tools that never add up: there are no intervals. */
extern const struct option_spec trace_stream_table[];
/* Parts of it, for commands that are no tools: which events, and how a run goes on and where its records go. */
extern const struct option_spec trace_select_table[];
extern const struct option_spec trace_run_table[];

/*
 * Appends the conditions that the options stand for, in the language of --where, joined by `and`. -EINVAL, -ENOENT with
 * a sentence when a namespace, a control group or an interface is not there.
 */
int trace_options_where(const struct trace_options *options, const struct shape *shape, struct buf *where,
			struct why *why) _must_check_;

/* Adds "(condition)" to what is there, with `and` between. */
void trace_where_add(struct buf *where, const char *format, ...) _printf_(2, 3);
