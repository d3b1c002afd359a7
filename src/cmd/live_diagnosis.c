/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/why.h"
#include "cmd/command.h"
#include "cmd/live_diagnosis.h"
#include "diagnose/window.h"

#define WINDOW_NS (1 * NSEC_PER_SEC)
#define SAMPLES   5 /* a window */

struct state {
	struct live_diagnosis *live;
	struct loop *loop;
	struct snapshot_request request;
	struct snapshot *snapshot;
	struct window *window;
	unsigned windows_wanted;
};

static void take_sample(void *context, uint64_t expirations _unused_)
{
	struct state *state = context;
	struct live_diagnosis *live = state->live;
	int r = snapshot_take(state->snapshot, &state->request, &live->why);

	if (r < 0) {
		loop_stop(state->loop, r);
		return;
	}
	for (size_t i = 0; i < state->snapshot->table_count; i++)
		live->records += state->snapshot->tables[i].count;
	live->lost += snapshot_refused(state->snapshot);
	window_add(state->window, state->snapshot);
	/* The first window's first sample only sets the base: a window spans SAMPLES intervals. */
	if (state->window->samples < SAMPLES + (live->windows == 0))
		return;
	diagnosis_add_window(live->diagnosis, window_finish(state->window));
	live->windows++;
	live->last = state->windows_wanted && live->windows >= state->windows_wanted;
	r = live->windows >= DIAGNOSIS_WINDOWS ? live->report(live) : 0;
	if (r < 0 || live->last)
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

int live_diagnosis_run(struct live_diagnosis *live)
{
	struct netns_list namespaces = {};
	struct state state = {.live = live};
	const struct record_type **needs = window_needs();
	int r = netns_find(live->netns, &namespaces, &live->why);

	if (live->duration_ns)
		state.windows_wanted = (unsigned)max_of(min_of(live->duration_ns / WINDOW_NS, (uint64_t)1 << 30),
							(uint64_t)DIAGNOSIS_WINDOWS);
	state.request = (struct snapshot_request){.types = needs, .repeated = true, .namespaces = &namespaces};
	state.snapshot = snapshot_new();
	state.window = window_new();
	live->diagnosis = diagnosis_new(live->knowledge);
	diagnosis_set_engine(live->diagnosis, live->engine);
	if (r == 0 && namespaces.items.count > 0)
		state.window->netns = namespaces.items.items[0].inum;
	if (r == 0)
		r = loop_new(&state.loop);
	if (r == 0)
		r = run_loop(&state);
	diagnosis_free(live->diagnosis);
	window_free(state.window);
	snapshot_free(state.snapshot);
	loop_free(state.loop);
	netns_list_done(&namespaces);
	free(needs);
	return r;
}

int live_diagnosis_exit_code(struct live_diagnosis *live, const char *command, int result)
{
	int r = out_done(&live->out);

	if (result < 0 && result != -EPIPE) {
		log_error("%s: %s", command, live->why.text[0] ? live->why.text : strerror(-result));
		return EXIT_CANNOT_OBSERVE;
	}
	fprintf(stderr, "nest: %" PRIu64 " events, %" PRIu64 " lost\n", live->records, live->lost);
	if (r == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	if (r < 0) {
		log_error("%s: writing failed: %s", command, strerror(-r));
		return EXIT_IO;
	}
	return result;
}

int live_diagnosis_prepare(struct live_diagnosis *live, const char *command, const char *rules_dir, const char *file)
{
	struct why why = {};
	int r = knowledge_load(&live->knowledge, &why);

	if (r == 0)
		live->knowledge->is_command = command_exists;
	if (r == 0 && rules_dir)
		r = knowledge_add_dir(live->knowledge, rules_dir, &why);
	if (r == 0)
		r = engine_find(live->engine_name, &live->engine, &why);
	if (r < 0) {
		log_error("%s: %s", command, why.text);
		return EXIT_USAGE;
	}
	r = out_open(&live->out, file);
	if (r < 0) {
		log_error("%s: cannot write %s: %s", command, file, strerror(-r));
		return EXIT_IO;
	}
	return EXIT_DONE;
}
