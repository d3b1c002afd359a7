/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/why.h"
#include "diagnose/graph/window.h"
#include "run/command.h"
#include "run/live_diagnosis.h"
#include "run/snapshot_view.h"
#include "snapshot/core/slice.h"
#include "snapshot/netlink/link.h"
#include "tool/core/cgroups.h"

#define SAMPLES          5  /* a window */
#define SAMPLES_MIN      2  /* a window, however many there are a second */
#define SAMPLES_A_SECOND 20 /* at most, but for that */

const struct option_spec diagnosis_option_table[] = {
	NETNS_OPTION(struct diagnosis_options, netns),
	OPTION(struct diagnosis_options, selection.pid, UINT, "pid", 'p', "PID",
	       "only what this process uses, in its own namespace", .min = 1, .max = INT32_MAX),
	OPTION(struct diagnosis_options, selection.cgroup, TEXT, "cgroup", 'C', "CGROUP",
	       "only what processes of this control group or below it use"),
	OPTION(struct diagnosis_options, selection.dev, TEXT, "interface", 'i', "IFACE",
	       "only connections that leave through this interface"),
	OPTION(struct diagnosis_options, selection.ports, PORTS, "port", 'P', "PORT,..",
	       "only sockets with one of these ports on either side"),
	OPTION(struct diagnosis_options, rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory"),
	OPTION(struct diagnosis_options, engine, TEXT, "engine", 0, "NAME",
	       "who judges: rules (the default), nest2011, flowdiagnoser"),
	OPTION(struct diagnosis_options, passive, FLAG, "passive", 0, NULL,
	       "send nothing: do not ask peers that fell silent whether they are there"),
	OPTION_GROUP(struct diagnosis_options, input, input_option_table),
	OPTION_END,
};

struct state {
	struct live_diagnosis *live;
	struct loop *loop;
	struct netns_list namespaces;
	bool all; /* namespaces come and go */
	struct snapshot_request request;
	struct snapshot *snapshot;
	unsigned samples;        /* of a window */
	unsigned samples_so_far; /* in this one */
	uint64_t window_ns;
	unsigned windows_wanted;
	const char *host; /* of a recording; NULL: this one */
};

/* --- namespaces --- */

static void view_free(struct live_view *view)
{
	diagnosis_free(view->diagnosis);
	window_free(view->window);
	snapshot_slice_free(view->slice);
	free(view);
}

static void add_view(struct state *state, const struct netns *netns)
{
	struct live_diagnosis *live = state->live;
	struct live_view *view = xzalloc(sizeof(*view));

	view->netns = netns->inum;
	view->window = window_new();
	view->window->netns = netns->inum;
	view->slice = snapshot_slice_new();
	view->diagnosis = diagnosis_new(live->knowledge);
	diagnosis_set_engine(view->diagnosis, live->engine);
	diagnosis_set_selection(view->diagnosis, &live->options->selection);
	diagnosis_set_netns_name(view->diagnosis, netns->name);
	if (state->host)
		diagnosis_set_host(view->diagnosis, state->host);
	vec_push(&live->views, view);
}

static bool has_view(const struct live_diagnosis *live, uint32_t inum)
{
	vec_each(&live->views, view)
		if ((*view)->netns == inum)
			return true;
	return false;
}

static bool is_listed(const struct netns_list *list, uint32_t inum)
{
	vec_each(&list->items, netns)
		if (netns->inum == inum)
			return true;
	return false;
}

static void match_views(struct state *state)
{
	struct live_diagnosis *live = state->live;
	size_t kept = 0;

	for (size_t i = 0; i < live->views.count; i++) {
		struct live_view *view = live->views.items[i];

		if (is_listed(&state->namespaces, view->netns)) {
			live->views.items[kept++] = view;
			continue;
		}
		view->gone = true;
		(void)live->report(live, view);
		view_free(view);
	}
	live->views.count = kept;
	vec_each(&state->namespaces.items, netns)
		if (!has_view(live, netns->inum))
			add_view(state, netns);
}

/* A namespace that we held open for longer than a window would outlive its owner, with all its interfaces. */
static void refresh_namespaces(struct state *state)
{
	struct netns_list fresh = {};
	struct why why = {};

	if (!state->all || netns_find("all", &fresh, &why) < 0)
		return;
	netns_list_done(&state->namespaces);
	state->namespaces = fresh;
	match_views(state);
}

/* A process is looked at where it lives, unless somebody knows better. */
static int find_asked(const struct diagnosis_options *options, struct netns_list *ret_list, struct why *why)
{
	char pid[24] = "";

	if (!options->netns && options->selection.pid)
		snprintf(pid, sizeof(pid), "%" PRIu64, options->selection.pid);
	return netns_find(options->netns ?: pid, ret_list, why);
}

static int find_namespaces(struct state *state)
{
	struct live_diagnosis *live = state->live;
	const struct diagnosis_options *options = live->options;
	int r = find_asked(options, &state->namespaces, &live->why);

	state->all = options->netns && strcmp(options->netns, "all") == 0;
	if (r == 0)
		match_views(state);
	return r;
}

/* --- windows --- */

static void add_sample(struct state *state)
{
	vec_each(&state->live->views, at) {
		struct live_view *view = *at;

		window_add(view->window, state->all ? snapshot_slice_cut(view->slice, state->snapshot, view->netns)
						    : state->snapshot);
	}
	state->samples_so_far++;
}

/* Where snapshots and findings are kept, writing may fail. */
static int kept(struct live_diagnosis *live, int r)
{
	return r < 0 ? why_set(&live->why, r, "%s", store_why(live->store)) : r;
}

static int end_window(struct state *state)
{
	struct live_diagnosis *live = state->live;
	int r = 0;

	state->samples_so_far = 0;
	live->windows++;
	live->last = state->windows_wanted && live->windows >= state->windows_wanted;
	vec_each(&live->views, at) {
		struct live_view *view = *at;

		diagnosis_add_window(view->diagnosis, window_finish(view->window));
		view->windows++;
		if (r == 0 && view->windows >= DIAGNOSIS_WINDOWS)
			r = live->report(live, view);
		if (r == 0 && live->store && view->windows >= DIAGNOSIS_WINDOWS)
			r = kept(live, store_add_findings(live->store, diagnosis_get(view->diagnosis)));
	}
	return r;
}

/* A window more; 1 when it was the last one. */
static int see_snapshot(struct state *state)
{
	struct live_diagnosis *live = state->live;
	int r;

	for (size_t i = 0; i < state->snapshot->table_count; i++)
		live->records += state->snapshot->tables[i].count;
	live->lost += snapshot_refused(state->snapshot);
	if (live->windows == 0 && state->samples_so_far == 0)
		snapshot_tell_gaps(state->snapshot);
	add_sample(state);
	/* The first window's first sample only sets the base: a window spans so many intervals. */
	if (state->samples_so_far < state->samples + (live->windows == 0))
		return 0;
	r = end_window(state);
	return r < 0 ? r : live->last;
}

static void take_sample(void *context, uint64_t expirations _unused_)
{
	struct state *state = context;
	struct live_diagnosis *live = state->live;
	int r = snapshot_take(state->snapshot, &state->request, &live->why);

	if (r == 0 && live->store)
		r = kept(live, store_add_snapshot(live->store, state->snapshot));
	if (r == 0)
		r = see_snapshot(state);
	if (r != 0)
		loop_stop(state->loop, min_of(r, 0));
	else if (state->samples_so_far == 0)
		refresh_namespaces(state);
}

static void interrupted(void *context, int signal_number)
{
	struct state *state = context;
	struct live_diagnosis *live = state->live;

	vec_each(&live->views, view)
		if (live->interrupted && (*view)->windows >= DIAGNOSIS_WINDOWS)
			live->interrupted(live, *view);
	/* Whoever watches without an end ends it so. */
	loop_stop(state->loop, state->windows_wanted || signal_number == SIGHUP ? EXIT_SIGNAL + signal_number : 0);
}

static int run_loop(struct state *state)
{
	int r = loop_add_end_signals(state->loop, interrupted, state);

	if (r == 0)
		r = loop_add_timer(state->loop, 0, state->window_ns / state->samples, take_sample, state, NULL);
	if (r == 0 && state->live->prepare_loop)
		r = state->live->prepare_loop(state->live, state->loop);
	if (r < 0)
		return r;
	fputs("nest: ready\n", stderr);
	return loop_run(state->loop);
}

static void set_pace(struct state *state)
{
	const struct live_diagnosis *live = state->live;
	unsigned rate = max_of(live->rate, 1U);

	state->window_ns = NSEC_PER_SEC / rate;
	state->samples = max_of(min_of(SAMPLES_A_SECOND / rate, (unsigned)SAMPLES), (unsigned)SAMPLES_MIN);
	if (live->duration_ns)
		state->windows_wanted = (unsigned)max_of(
			min_of(live->duration_ns / state->window_ns, (uint64_t)1 << 30), (uint64_t)DIAGNOSIS_WINDOWS);
}

static int run_live(struct state *state)
{
	const struct record_type **needs = window_needs();
	int r = find_namespaces(state);

	state->request = (struct snapshot_request){.types = needs,
						   .repeated = true,
						   .passive = state->live->options->passive,
						   .namespaces = &state->namespaces};
	if (r == 0)
		r = loop_new(&state->loop);
	if (r == 0)
		r = run_loop(state);
	loop_free(state->loop);
	free(needs);
	return r;
}

/* --- recordings --- */

static bool is_wanted(const char *wanted, const struct netns_record *record)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", record->netns);
	return !wanted || strcmp(wanted, "all") == 0 || strcmp(wanted, number) == 0 ||
	       strncmp(wanted, record->name, sizeof(record->name)) == 0;
}

/* The namespaces of a window are those that were looked at when it began. */
static void match_recorded(struct state *state)
{
	const char *wanted = state->live->options->netns;

	netns_list_done(&state->namespaces);
	snapshot_each(state->snapshot, netns_type, const struct netns_record, record) {
		struct netns netns = {.fd = -1, .inum = record->netns, .pid = record->pid};

		memcpy(netns.name, record->name, min_of(sizeof(netns.name) - 1, sizeof(record->name)));
		if (is_wanted(wanted, record))
			vec_push(&state->namespaces.items, netns);
	}
	state->all = state->all || snapshot_table(state->snapshot, &netns_type)->count > 1;
	match_views(state);
}

/* As many windows as the recording has, so that the last one is known for it. */
static int limit_windows(struct state *state, uint64_t samples)
{
	uint64_t windows = samples > 0 ? min_of((samples - 1) / state->samples, (uint64_t)1 << 30) : 0;

	if (windows < DIAGNOSIS_WINDOWS)
		return why_set(&state->live->why, -EINVAL,
			       "%llu samples are too few: a diagnosis needs %d windows of %u samples",
			       (unsigned long long)samples, DIAGNOSIS_WINDOWS, state->samples);
	if (!state->windows_wanted || state->windows_wanted > windows)
		state->windows_wanted = (unsigned)windows;
	return 0;
}

static int run_recorded(struct state *state)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	struct live_diagnosis *live = state->live;
	struct time_range range;
	int r = input_open(&live->options->input, &recording, &range, &live->why);

	if (r == 0)
		r = replay_open(recording, &range, NULL, &replay, &live->why);
	if (r == 0)
		r = limit_windows(state, replay_samples(replay));
	if (r < 0)
		return r;
	state->host = recording_host(recording)->host;
	while ((r = replay_next(replay, state->snapshot, &live->why)) > 0) {
		if (state->samples_so_far == 0)
			match_recorded(state);
		if (state->namespaces.items.count == 0)
			return why_set(&live->why, -ENOENT, "there is no such network namespace in the recording");
		r = see_snapshot(state);
		if (r != 0)
			break;
	}
	live->lost += replay_refused(replay);
	return min_of(r, 0);
}

static bool is_recorded(const struct live_diagnosis *live)
{
	return live->options->input.file != NULL;
}

int live_diagnosis_run(struct live_diagnosis *live)
{
	struct state state = {.live = live};
	int r;

	set_pace(&state);
	state.snapshot = snapshot_new();
	r = is_recorded(live) ? run_recorded(&state) : run_live(&state);
	vec_each(&live->views, view)
		view_free(*view);
	vec_done(&live->views);
	snapshot_free(state.snapshot);
	netns_list_done(&state.namespaces);
	return r;
}

int live_diagnosis_exit_code(struct live_diagnosis *live, const char *command, int result)
{
	int r = out_done(&live->out), closed;
	bool files = is_recorded(live) || live->store;

	closed = store_close(take_ptr(live->store), result < 0 ? NULL : &live->why);
	if (result >= 0 && closed < 0)
		result = closed;
	/* What ended it was the output: said below, with the exit code of that. */
	if (result < 0 && result == r)
		result = EXIT_DONE;
	if (result < 0 && result != -EPIPE) {
		log_error("%s: %s", command, live->why.text[0] ? live->why.text : strerror(-result));
		return files ? EXIT_IO : EXIT_CANNOT_OBSERVE;
	}
	fprintf(stderr, "nest: %" PRIu64 " events, %" PRIu64 " lost%s%s\n", live->records, live->lost,
		live->closing ? "; " : "", live->closing ?: "");
	if (r == -EPIPE || result == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	if (r < 0) {
		log_error("%s: writing failed: %s", command, strerror(-r));
		return EXIT_IO;
	}
	return result;
}

/* Before a file is made for what cannot be looked at. */
static int check_asked(struct live_diagnosis *live)
{
	_cleanup_netns_ struct netns_list namespaces = {};
	const struct selection *selection = &live->options->selection;
	int r;

	if (is_recorded(live))
		return 0;
	r = find_asked(live->options, &namespaces, &live->why);
	if (r == 0 && selection->dev)
		r = netns_check_interface(&namespaces, selection->dev, &live->why);
	return r == 0 && selection->cgroup ? cgroups_check(selection->cgroup, &live->why) : r;
}

int live_diagnosis_prepare(struct live_diagnosis *live, const char *command, const char *file)
{
	struct why why = {};
	int r = knowledge_load(&live->knowledge, &why);

	if (r == 0)
		live->knowledge->is_command = command_exists;
	if (r == 0 && live->options->rules)
		r = knowledge_add_dir(live->knowledge, live->options->rules, &why);
	if (r == 0)
		r = engine_find(live->options->engine, &live->engine, &why);
	if (r < 0) {
		log_error("%s: %s", command, why.text);
		return EXIT_USAGE;
	}
	r = check_asked(live);
	if (r < 0) {
		log_error("%s: %s", command, live->why.text);
		return r == -ENOENT ? EXIT_USAGE : EXIT_CANNOT_OBSERVE;
	}
	r = out_open(&live->out, file);
	if (r < 0) {
		log_error("%s: cannot write %s: %s", command, file, strerror(-r));
		return EXIT_IO;
	}
	return EXIT_DONE;
}

int live_diagnosis_save(struct live_diagnosis *live, const char *command, const char *path)
{
	struct why why = {};

	if (!path)
		return EXIT_DONE;
	if (is_recorded(live)) {
		log_error("%s: --save and -f do not go together", command);
		return EXIT_USAGE;
	}
	if (store_create(path, command, &live->store, &why) < 0) {
		log_error("%s: %s", command, why.text);
		return EXIT_IO;
	}
	return EXIT_DONE;
}

void live_diagnosis_done(struct live_diagnosis *live)
{
	(void)store_close(take_ptr(live->store), NULL);
	knowledge_free(live->knowledge);
}
