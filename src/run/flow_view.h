/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the commands that analyse a trace: opening it, splitting it into sessions, reporting losses. */
#pragma once

#include "base/option.h"
#include "flow/analyse/coarsen.h"
#include "flow/analyse/session.h"

struct split_options {
	unsigned by;
	const char *at;
	const char *key;
};

/* For OPTION_GROUP in a command's table. */
extern const struct option_spec split_option_table[];

/* Whether the file looks like a function trace. */
bool flow_view_is_trace(const char *path);
/* Exit code: EXIT_DONE, or a message has been written. */
int flow_view_open(const char *path, const struct split_options *options, struct flow_trace **ret_trace,
		   struct flow_sessions **ret_sessions) _must_check_;
/* Group 0 for sessions that are meant (number or expression), PROFILE_GROUPS for others; -EINVAL, -ENODATA. */
int flow_view_choose(const struct flow_sessions *sessions, const char *what, uint8_t *ret_group_of,
		     struct why *why) _must_check_;
/* coarsen_init; says so when --only leaves nothing. */
void flow_view_coarsen(struct coarsen *coarsen, const struct coarsen_options *options, struct flow_sessions *sessions);
/* What to try if there are no sessions. */
void flow_view_report_none(const struct flow_sessions *sessions);
/* For what shows single calls: in a summary they stand for all of their kind. */
void flow_view_say_summary(const struct flow_trace *trace);
/* The line that every run ends with. */
void flow_view_close(const struct flow_trace *trace);
