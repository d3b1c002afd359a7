/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events into a recording: those that were named, or those of the tools that were. */
#pragma once

#include "base/loop.h"
#include "store/store.h"
#include "tool/core/trace_options.h"

struct event_recorder;

/*
 * Each name is an event or a tool (which stands for its events, with its filter). -EINVAL with a sentence when one is neither.
 * The options say which events are wanted of all of them.
 */
int event_recorder_new(const char *const *names, size_t count, const struct trace_options *options,
		       struct event_recorder **ret_recorder, struct why *why) _must_check_;
/* Attaches; events go to the store whenever the loop runs. */
int event_recorder_start(struct event_recorder *recorder, struct store *store, struct loop *loop,
			 struct why *why) _must_check_;
/* A negative errno when keeping an event failed. */
int event_recorder_result(const struct event_recorder *recorder);
/* Detaches, takes what is left, notes what was lost. */
int event_recorder_finish(struct event_recorder *recorder, struct why *why) _must_check_;
uint64_t event_recorder_seen(const struct event_recorder *recorder);
uint64_t event_recorder_lost(const struct event_recorder *recorder);
void event_recorder_free(struct event_recorder *recorder);
