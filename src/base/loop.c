/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/loop.h"
#include "base/vec.h"

enum source_kind { SOURCE_FD, SOURCE_TIMER, SOURCE_SIGNAL };

struct loop_source {
	enum source_kind kind;
	int fd;
	bool owns_fd;
	bool removed; /* to be freed after the current batch */
	void *context;
	union {
		loop_fd_fn *fd_fn;
		loop_timer_fn *timer_fn;
		loop_signal_fn *signal_fn;
	};
};

struct loop {
	int epoll_fd;
	bool running;
	int value;
	loop_idle_fn *idle_fn;
	void *idle_context;
	VEC(struct loop_source *) sources;
};

int loop_new(struct loop **ret_loop)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);
	struct loop *loop;

	if (fd < 0)
		return -errno;
	loop = xzalloc(sizeof(*loop));
	loop->epoll_fd = fd;
	*ret_loop = loop;
	return 0;
}

static void source_free(struct loop_source *source)
{
	if (source->owns_fd)
		close(source->fd);
	free(source);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	vec_each(&loop->sources, source)
		source_free(*source);
	vec_done(&loop->sources);
	close(loop->epoll_fd);
	free(loop);
}

static int add_source(struct loop *loop, uint32_t events, struct loop_source *source, struct loop_source **ret_source)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, source->fd, &event) < 0) {
		int r = -errno;

		source_free(source);
		return r;
	}
	vec_push(&loop->sources, source);
	if (ret_source)
		*ret_source = source;
	return 0;
}

int loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn, void *context,
		struct loop_source **ret_source)
{
	struct loop_source *source = xzalloc(sizeof(*source));

	*source = (struct loop_source){.kind = SOURCE_FD, .fd = fd, .context = context, .fd_fn = fn};
	return add_source(loop, events, source, ret_source);
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / NSEC_PER_SEC), .tv_nsec = (long)(ns % NSEC_PER_SEC)};
}

int loop_add_timer(struct loop *loop, uint64_t first_ns, uint64_t interval_ns, loop_timer_fn *fn, void *context,
		   struct loop_source **ret_source)
{
	struct itimerspec when = {
		.it_value = to_timespec(first_ns ? first_ns : 1), /* zero would disarm it */
		.it_interval = to_timespec(interval_ns),
	};
	_cleanup_close_ int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	struct loop_source *source;

	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0)
		return -errno;
	source = xzalloc(sizeof(*source));
	*source = (struct loop_source){
		.kind = SOURCE_TIMER, .fd = take_fd(&fd), .owns_fd = true, .context = context, .timer_fn = fn};
	return add_source(loop, EPOLLIN, source, ret_source);
}

int loop_add_signal(struct loop *loop, int signal_number, loop_signal_fn *fn, void *context)
{
	struct loop_source *source;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	if (sigaddset(&set, signal_number) < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	source = xzalloc(sizeof(*source));
	*source = (struct loop_source){
		.kind = SOURCE_SIGNAL, .fd = fd, .owns_fd = true, .context = context, .signal_fn = fn};
	return add_source(loop, EPOLLIN, source, NULL);
}

static bool is_ignored(int signal_number)
{
	struct sigaction action;

	return sigaction(signal_number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

int loop_add_end_signals(struct loop *loop, loop_signal_fn *fn, void *context)
{
	int r = loop_add_signal(loop, SIGINT, fn, context);

	if (r == 0)
		r = loop_add_signal(loop, SIGTERM, fn, context);
	if (r == 0 && !is_ignored(SIGHUP))
		r = loop_add_signal(loop, SIGHUP, fn, context);
	return r;
}

void loop_hold_end_signals(bool hold)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	sigset_t set;

	sigemptyset(&set);
	/* One that is ignored (a shell starts jobs in the background so) would be lost. */
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (!is_ignored(signals[i]))
			sigaddset(&set, signals[i]);
	(void)sigprocmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

void loop_on_idle(struct loop *loop, loop_idle_fn *fn, void *context)
{
	loop->idle_fn = fn;
	loop->idle_context = context;
}

void loop_remove(struct loop *loop, struct loop_source *source)
{
	if (!source || source->removed)
		return;
	(void)epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->removed = true;
}

static void free_removed(struct loop *loop)
{
	size_t kept = 0;

	vec_each(&loop->sources, source) {
		if ((*source)->removed)
			source_free(*source);
		else
			loop->sources.items[kept++] = *source;
	}
	loop->sources.count = kept;
}

static void dispatch(struct loop_source *source, uint32_t events)
{
	struct signalfd_siginfo info;
	uint64_t expirations;

	switch (source->kind) {
	case SOURCE_FD:
		source->fd_fn(source->context, events);
		return;
	case SOURCE_TIMER:
		if (read(source->fd, &expirations, sizeof(expirations)) == (ssize_t)sizeof(expirations))
			source->timer_fn(source->context, expirations);
		return;
	case SOURCE_SIGNAL:
		while (!source->removed && read(source->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
			source->signal_fn(source->context, (int)info.ssi_signo);
		return;
	}
}

int loop_run(struct loop *loop)
{
	struct epoll_event events[64];

	loop->running = true;
	while (loop->running) {
		int n;

		if (loop->idle_fn)
			loop->idle_fn(loop->idle_context);
		if (!loop->running)
			break;
		n = epoll_wait(loop->epoll_fd, events, ARRAY_SIZE(events), -1);
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n && loop->running; i++) {
			struct loop_source *source = events[i].data.ptr;

			if (!source->removed)
				dispatch(source, events[i].events);
		}
		free_removed(loop);
	}
	return loop->value;
}

void loop_stop(struct loop *loop, int value)
{
	loop->running = false;
	loop->value = value;
}
