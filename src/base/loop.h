/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The epoll loop: callbacks for file descriptors, timers (timerfd) and signals (signalfd; no handlers), all in one
 * thread. A callback may add and remove sources, including its own.
 */
#pragma once

#include "base/macros.h"

struct loop;
struct loop_source;

typedef void loop_fd_fn(void *context, uint32_t events);
typedef void loop_timer_fn(void *context, uint64_t expirations);
typedef void loop_signal_fn(void *context, int signal_number);
typedef void loop_idle_fn(void *context);

int loop_new(struct loop **ret_loop) _must_check_;
void loop_free(struct loop *loop);
static inline void loop_freep(struct loop **loop)
{
	loop_free(*loop);
}

/* events as in epoll_ctl. The descriptor stays the caller's. ret_source may be NULL. */
int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *context,
		struct loop_source **ret_source) _must_check_;
/* First after first_ns (0: immediately), then every interval_ns (0: once). */
int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t interval_ns, loop_timer_fn *fn, void *context,
		   struct loop_source **ret_source) _must_check_;
/* Blocks the signal for the process from here on. */
int loop_add_signal(struct loop *loop, int signal_number, loop_signal_fn *fn, void *context) _must_check_;
/*
 * The signals that end a run: SIGINT, SIGTERM, and SIGHUP unless it is ignored (nohup): a blocked signal arrives at a
 * signalfd although it is ignored.
 */
int loop_add_end_signals(struct loop *loop, loop_signal_fn *fn, void *context) _must_check_;
/* Between: they end the process at once (false), or wait for the loop again. */
void loop_hold_end_signals(bool hold);
/* Called before the loop sleeps: the place to flush output. */
void loop_on_idle(struct loop *loop, loop_idle_fn *fn, void *context);
void loop_remove(struct loop *loop, struct loop_source *source);

/* Runs until loop_stop; returns its value, or a negative errno when epoll_wait fails. */
int loop_run(struct loop *loop);
void loop_stop(struct loop *loop, int value);
