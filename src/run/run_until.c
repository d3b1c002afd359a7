/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "run/run_until.h"

/* How often a recording is given the chance to end its batch. */
#define KEEP_NS (NSEC_PER_SEC / 4)

static void on_signal(void *context, int number)
{
	struct run_until *until = context;

	until->ended_by = number;
	loop_stop(until->loop, 0);
}

static void on_time_over(void *context, uint64_t expirations _unused_)
{
	loop_stop(((struct run_until *)context)->loop, 0);
}

static void on_child_end(void *context)
{
	loop_stop(((struct run_until *)context)->loop, 0);
}

int run_until_prepare(struct run_until *until, const struct command_line *command, struct why *why)
{
	int r;

	*until = (struct run_until){.child = CHILD_INIT};
	r = loop_new(&until->loop);
	if (r == 0)
		r = loop_add_end_signals(until->loop, on_signal, until);
	if (r < 0)
		return why_set(why, r, "cannot wait for events: %s", strerror(-r));
	return command->argc ? child_prepare(&until->child, command, why) : 0;
}

int run_until_follow(struct run_until *until, uint64_t parent, follow_fn *follow, void *context, struct why *why)
{
	int r = 0;

	if (until->child.pid > 0)
		r = follow(context, (uint32_t)until->child.pid);
	else if (parent)
		r = child_follow_tree((uint32_t)parent, follow, context);
	return r < 0 ? why_set(why, r, "cannot follow the process: %s", strerror(-r)) : 0;
}

static void on_keep(void *context, uint64_t expirations _unused_)
{
	struct run_until *until = context;
	int r = store_tick(until->store);

	if (r < 0)
		loop_stop(until->loop, r);
}

int run_until_keep(struct run_until *until, struct store *store)
{
	until->store = store;
	return loop_add_timer(until->loop, KEEP_NS, KEEP_NS, on_keep, until, NULL);
}

int run_until_kept(const struct run_until *until, struct why *why)
{
	int r = until->store ? store_tick(until->store) : 0;

	return r < 0 ? why_set(why, r, "%s", store_why(until->store)) : 0;
}

int run_until_end(struct run_until *until, uint64_t duration_ns, struct why *why)
{
	int r = duration_ns ? loop_add_timer(until->loop, duration_ns, 0, on_time_over, until, NULL) : 0, kept;

	if (r == 0 && until->child.pid > 0)
		r = child_start(&until->child, until->loop, on_child_end, until);
	if (r < 0)
		return why_set(why, r, "cannot begin: %s", strerror(-r));
	r = loop_run(until->loop);
	kept = run_until_kept(until, why);
	return r < 0 ? r : kept;
}

int run_until_exit_code(const struct run_until *until)
{
	if (child_error(&until->child) < 0)
		return EXIT_USAGE;
	/* Ctrl-C is how a person ends a trace. */
	if (until->ended_by && until->ended_by != SIGINT && until->ended_by != SIGTERM)
		return EXIT_SIGNAL + until->ended_by;
	return EXIT_DONE;
}

void run_until_done(struct run_until *until)
{
	child_done(&until->child);
	loop_free(until->loop);
}
