/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/why.h"
#include "cmd/command.h"
#include "cmd/look.h"
#include "diagnose/window.h"

#define WINDOW_NS (1 * NSEC_PER_SEC)
#define SAMPLES   5 /* a window */

struct state {
	struct look *look;
	struct loop *loop;
	struct snapshot_request request;
	struct snapshot *snapshot;
	struct window *window;
	unsigned windows_wanted;
};

static void take_sample(void *context, uint64_t expirations _unused_)
{
	struct state *state = context;
	struct look *look = state->look;
	int r = snapshot_take(state->snapshot, &state->request, &look->why);

	if (r < 0) {
		loop_stop(state->loop, r);
		return;
	}
	for (size_t i = 0; i < state->snapshot->table_count; i++)
		look->records += state->snapshot->tables[i].count;
	look->lost += snapshot_refused(state->snapshot);
	window_add(state->window, state->snapshot);
	/* The first window's first sample only sets the base: a window spans SAMPLES intervals. */
	if (state->window->samples < SAMPLES + (look->windows == 0))
		return;
	diagnosis_add_window(look->diagnosis, window_finish(state->window));
	look->windows++;
	look->last = state->windows_wanted && look->windows >= state->windows_wanted;
	r = look->windows >= DIAGNOSIS_WINDOWS ? look->report(look) : 0;
	if (r < 0 || look->last)
		loop_stop(state->loop, r);
}

static void interrupted(void *context, int signal_number)
{
	struct state *state = context;

	/* Whoever watches without an end ends it so. */
	loop_stop(state->loop, state->windows_wanted ? EXIT_SIGNAL + signal_number : 0);
}

static int run_loop(struct state *state)
{
	int r = loop_add_signal(state->loop, SIGINT, interrupted, state);

	if (r == 0)
		r = loop_add_signal(state->loop, SIGTERM, interrupted, state);
	if (r == 0)
		r = loop_add_timer(state->loop, 0, WINDOW_NS / SAMPLES, take_sample, state, NULL);
	if (r < 0)
		return r;
	fputs("nest: ready\n", stderr);
	return loop_run(state->loop);
}

int look_around(struct look *look)
{
	struct netns_list namespaces = {};
	struct state state = {.look = look};
	const struct record_type **needs = window_needs();
	int r = netns_find(look->netns, &namespaces, &look->why);

	if (look->duration_ns)
		state.windows_wanted = (unsigned)max_of(min_of(look->duration_ns / WINDOW_NS, (uint64_t)1 << 30),
							(uint64_t)DIAGNOSIS_WINDOWS);
	state.request = (struct snapshot_request){.types = needs, .repeated = true, .namespaces = &namespaces};
	state.snapshot = snapshot_new();
	state.window = window_new();
	look->diagnosis = diagnosis_new(look->knowledge);
	if (r == 0 && namespaces.items.count > 0)
		state.window->netns = namespaces.items.items[0].inum;
	if (r == 0)
		r = loop_new(&state.loop);
	if (r == 0)
		r = run_loop(&state);
	diagnosis_free(look->diagnosis);
	window_free(state.window);
	snapshot_free(state.snapshot);
	loop_free(state.loop);
	netns_list_done(&namespaces);
	free(needs);
	return r;
}

int look_exit_code(struct look *look, const char *command, int result)
{
	int r = out_done(&look->out);

	if (result < 0 && result != -EPIPE) {
		log_error("%s: %s", command, look->why.text[0] ? look->why.text : strerror(-result));
		return EXIT_CANNOT_OBSERVE;
	}
	fprintf(stderr, "nest: %" PRIu64 " events, %" PRIu64 " lost\n", look->records, look->lost);
	if (r == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	if (r < 0) {
		log_error("%s: writing failed: %s", command, strerror(-r));
		return EXIT_IO;
	}
	return result;
}

int look_prepare(struct look *look, const char *command, const char *rules_dir, const char *file)
{
	struct why why = {};
	int r = knowledge_load(&look->knowledge, &why);

	if (r == 0)
		look->knowledge->is_command = command_exists;
	if (r == 0 && rules_dir)
		r = knowledge_add_dir(look->knowledge, rules_dir, &why);
	if (r < 0) {
		log_error("%s: %s", command, why.text);
		return EXIT_USAGE;
	}
	r = out_open(&look->out, file);
	if (r < 0) {
		log_error("%s: cannot write %s: %s", command, file, strerror(-r));
		return EXIT_IO;
	}
	return EXIT_DONE;
}
