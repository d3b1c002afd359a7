/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_diagnosis.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "diagnose/graph/window.h"
#include "diagnose/measure/inside.h"
#include "event/core/available.h"
#include "run/command_confine.h"
#include "snapshot/core/slice.h"
#include "snapshot/netlink/translation.h"
#include "tool/core/cgroups.h"

/* How long after its end a run waits for the sample that was asked for. */
#define OVERDUE_NS (2 * NSEC_PER_SEC)
/* The same for the first one: it loads BPF programs, and takes half a minute for 1,000 namespaces on a busy host. */
#define FIRST_OVERDUE_NS   (120 * NSEC_PER_SEC)

#define SAMPLES            5  /* per window */
#define SAMPLES_MIN        2  /* per window, however short */
#define SAMPLES_A_SECOND   20 /* at most, but for that */
#define RATE_MAX           10 /* windows per second */
#define WINDOWS_TO_CONFIRM 2  /* a hypothesis (diagnosis.c) */

const struct option_spec diagnosis_option_table[] = {
	NETNS_OPTION(struct diagnosis_options, netns),
	OPTION(struct diagnosis_options, selection.pid, UINT, "pid", 'p', "PID",
	       "limit to what this process uses, in its own namespace", .min = 1, .max = INT32_MAX),
	OPTION(struct diagnosis_options, selection.cgroup, TEXT, "cgroup", 'C', "CGROUP",
	       "limit to what processes of this cgroup and its children use"),
	OPTION(struct diagnosis_options, selection.dev, TEXT, "interface", 'i', "IFACE",
	       "limit to connections routed through this interface"),
	OPTION(struct diagnosis_options, selection.ports, PORTS, "port", 'P', "PORT,..",
	       "limit to sockets with one of these ports, local or remote"),
	OPTION(struct diagnosis_options, rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory",
	       .file = FILE_READ),
	OPTION(struct diagnosis_options, engine, TEXT, "engine", 0, "NAME",
	       "inference engine: rules (default), nest2011, flowdiagnoser"),
	OPTION(struct diagnosis_options, passive, FLAG, "passive", 0, NULL,
	       "do not send keep-alive segments to peers of silent or stuck connections"),
	OPTION(struct diagnosis_options, no_containers, FLAG, "no-containers", 0, NULL,
	       "do not look into the network namespaces of containers"),
	OPTION_GROUP(struct diagnosis_options, input, input_option_table),
	OPTION(struct diagnosis_options, past, TEXT, "past", 0, "FILE",
	       "use the last 2 minutes of this recording as baseline; none: no baseline. Default: that of a running "
	       "nest agent or nest record",
	       .file = FILE_READ),
	OPTION(struct diagnosis_options, save, TEXT, "save", 0, "FILE", "also record to this file, for -f",
	       .file = FILE_WRITE),
	OPTION_END,
};

/* --- namespaces --- */

static void container_free(struct container_view *container)
{
	window_free(container->window);
	free(container);
}

static void view_free(struct diagnosis_view *view)
{
	vec_each(&view->containers, container)
		container_free(*container);
	vec_done(&view->containers);
	diagnosis_free(view->diagnosis);
	window_free(view->window);
	free(view);
}

static bool is_own_netns(uint32_t inum)
{
	struct stat own;

	return stat("/proc/self/ns/net", &own) == 0 && own.st_ino == inum;
}

/* `next` commands must look into the same namespace. Of a recording there is none. */
static void set_netns_option(struct diagnosis *diagnosis, const struct diagnosis_options *options,
			     const struct netns_record *netns, const char *name)
{
	uint32_t pid = netns->pid ?: (uint32_t)options->selection.pid;
	char number[16];

	snprintf(number, sizeof(number), "%u", pid);
	if (is_own_netns(netns->netns))
		return;
	if (*name)
		diagnosis_set_netns_option(diagnosis, name);
	else if (options->netns && strcmp(options->netns, "all") != 0)
		diagnosis_set_netns_option(diagnosis, options->netns);
	else if (pid)
		diagnosis_set_netns_option(diagnosis, number);
}

static struct container_view *find_container(const struct diagnosis_view *view, uint32_t inum)
{
	vec_each(&view->containers, container)
		if ((*container)->netns == inum)
			return *container;
	return NULL;
}

static void add_container(const struct run_diagnosis *diagnosis, struct diagnosis_view *view,
			  const struct netns_record *netns)
{
	struct container_view *container = xzalloc(sizeof(*container));

	container->netns = netns->netns;
	container->window = window_new();
	container->window->netns = netns->netns;
	container->window->usual = diagnosis->usual;
	memcpy(container->name, netns->name, sizeof(container->name) - 1);
	memcpy(container->port, netns->port, sizeof(container->port) - 1);
	if (container->name[0])
		snprintf(container->option, sizeof(container->option), "%s", container->name);
	else if (netns->pid)
		snprintf(container->option, sizeof(container->option), "%u", netns->pid);
	vec_push(&view->containers, container);
}

static void add_view(struct run_diagnosis *diagnosis, const struct netns_record *netns)
{
	struct diagnosis_view *view = xzalloc(sizeof(*view));
	struct recording *recording = diagnosis->run->recording;
	char name[sizeof(netns->name) + 1] = "";

	memcpy(name, netns->name, sizeof(netns->name));
	view->netns = netns->netns;
	view->window = window_new();
	view->window->netns = netns->netns;
	view->window->usual = diagnosis->usual;
	view->diagnosis = diagnosis_new(diagnosis->knowledge);
	diagnosis_set_engine(view->diagnosis, diagnosis->engine);
	diagnosis_set_selection(view->diagnosis, &diagnosis->options->selection);
	diagnosis_set_netns_name(view->diagnosis, name);
	if (diagnosis->far) {
		diagnosis_set_seen_from(view->diagnosis, far_side_own_host(diagnosis->far),
					far_side_far_host(diagnosis->far));
		diagnosis_set_hindsight(view->diagnosis);
	}
	if (recording)
		diagnosis_set_host(view->diagnosis, recording_host(recording)->host);
	set_netns_option(view->diagnosis, diagnosis->options, netns, name);
	vec_push(&diagnosis->views, view);
}

static struct diagnosis_view *find_view(const struct run_diagnosis *diagnosis, uint32_t inum)
{
	vec_each(&diagnosis->views, view)
		if ((*view)->netns == inum)
			return *view;
	return NULL;
}

/* Live snapshots hold only the requested ones. */
static bool is_wanted(const struct run_diagnosis *diagnosis, const struct netns_record *record)
{
	return !diagnosis->run->recording || run_snapshots_match(diagnosis->options->netns, record);
}

/* The namespace that this one is a container of, where it is part of its diagnosis; NULL: it has one of its own. */
static struct diagnosis_view *host_of(const struct run_diagnosis *diagnosis, uint32_t container_of)
{
	return container_of && !diagnosis->options->netns ? find_view(diagnosis, container_of) : NULL;
}

/* Of an empty namespace there is nothing to say. */
static void match_view(struct run_diagnosis *diagnosis, const struct netns_record *record)
{
	struct diagnosis_view *view = find_view(diagnosis, record->netns),
			      *host = host_of(diagnosis, record->container_of);
	struct container_view *container = host ? find_container(host, record->netns) : NULL;

	if (record->empty)
		return;
	if (container)
		container->gone = false;
	else if (host && !diagnosis->options->no_containers)
		add_container(diagnosis, host, record);
	else if (view)
		view->gone = false;
	else if (!host && is_wanted(diagnosis, record))
		add_view(diagnosis, record);
}

static void drop_containers(struct diagnosis_view *view)
{
	size_t stay = 0;

	vec_each(&view->containers, container) {
		if ((*container)->gone)
			container_free(*container);
		else
			view->containers.items[stay++] = *container;
	}
	view->containers.count = stay;
}

static bool has_empty(const struct run_diagnosis *diagnosis, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, netns_type, const struct netns_record, record)
		if (record->empty && is_wanted(diagnosis, record))
			return true;
	return false;
}

/* The namespaces of a window are those sampled at its start. */
static int match_views(struct run_diagnosis *diagnosis, const struct snapshot *snapshot)
{
	size_t stay = 0;

	vec_each(&diagnosis->views, view) {
		(*view)->gone = true;
		vec_each(&(*view)->containers, container)
			(*container)->gone = true;
	}
	snapshot_each(snapshot, netns_type, const struct netns_record, record)
		match_view(diagnosis, record);
	vec_each(&diagnosis->views, view) {
		drop_containers(*view);
		if (!(*view)->gone) {
			diagnosis->views.items[stay++] = *view;
			continue;
		}
		(void)diagnosis->report(diagnosis, *view);
		view_free(*view);
	}
	diagnosis->views.count = stay;
	diagnosis->several |= snapshot_table(snapshot, &netns_type)->count > 1;
	if (stay == 0 && diagnosis->run->recording && has_empty(diagnosis, snapshot))
		return why_set(&diagnosis->run->why, -ENOENT,
			       "the network namespace was empty: no process, no socket, no interface up but loopback");
	if (stay == 0 && diagnosis->run->recording)
		return why_set(&diagnosis->run->why, -ENOENT, "the recording does not have this network namespace");
	return 0;
}

/* --- the past --- */

static const struct netns *looked_at(const struct run_diagnosis *diagnosis, uint32_t inum)
{
	vec_each(&diagnosis->snapshots.namespaces.items, netns)
		if (netns->inum == inum)
			return netns;
	return NULL;
}

/* Whose container it is, is known now; the recorder may have taken it for a namespace like any other. */
static void match_past(struct run_diagnosis *diagnosis, const struct netns_record *record)
{
	const struct netns *netns = looked_at(diagnosis, record->netns);
	struct diagnosis_view *host = netns ? host_of(diagnosis, netns->container_of) : NULL;

	if (host && !find_container(host, record->netns))
		add_container(diagnosis, host, record);
	else if (netns && !netns->container_of && !find_view(diagnosis, record->netns))
		add_view(diagnosis, record);
}

/* To the windows of a namespace and of its containers. */
static void add_sliced(struct run_diagnosis *diagnosis, const struct diagnosis_view *view)
{
	window_add(view->window, snapshot_slice_cut(diagnosis->slice, view->netns));
	vec_each(&view->containers, container)
		window_add((*container)->window, snapshot_slice_cut(diagnosis->slice, (*container)->netns));
}

static void add_past_sample(struct run_diagnosis *diagnosis, const struct snapshot *snapshot)
{
	snapshot_each(snapshot, netns_type, const struct netns_record, record)
		match_past(diagnosis, record);
	snapshot_slice_divide(diagnosis->slice, snapshot);
	vec_each(&diagnosis->views, view)
		add_sliced(diagnosis, *view);
}

/*
 * The first sample only sets the base: a window spans that many intervals. It ends with its last sample; where samples
 * take long, with fewer of them; where they are meant to be as far apart as windows are long, with one.
 */
static bool count_sample(struct window_count *count, unsigned samples, uint64_t window_ns, struct replay_time time)
{
	bool first = count->last_ns == 0;

	if (count->intervals == 0)
		count->begin_ns = first ? time.boot_ns : count->last_ns;
	count->intervals += !first;
	count->last_ns = time.boot_ns;
	return count->intervals >= samples || (count->intervals > 0 && time.pace_ns >= window_ns) ||
	       (count->intervals >= SAMPLES_MIN && time.boot_ns - count->begin_ns >= window_ns + window_ns / 2);
}

static struct replay_time time_of(const struct snapshot *snapshot)
{
	return (struct replay_time){snapshot->begin_boot_ns, snapshot->pace_ns};
}

/* Only for the measures: a fault of the past is no finding now. */
static void end_past_window(struct run_diagnosis *diagnosis)
{
	vec_each(&diagnosis->views, view) {
		graph_free(window_finish((*view)->window));
		vec_each(&(*view)->containers, container)
			graph_free(window_finish((*container)->window));
	}
}

static int replay_past(struct run_diagnosis *diagnosis, struct why *why)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct past *past = &diagnosis->past;
	struct window_count count = {};
	uint64_t first_ns = 0;
	int r;

	while ((r = replay_next(past->replay, snapshot, why)) > 0) {
		add_past_sample(diagnosis, snapshot);
		first_ns = first_ns ?: snapshot->begin_boot_ns;
		if (!count_sample(&count, diagnosis->samples, diagnosis->window_ns, time_of(snapshot)))
			continue;
		end_past_window(diagnosis);
		count.intervals = 0;
	}
	diagnosis->has_past = true;
	vec_each(&diagnosis->views, view) {
		uint64_t seconds = (count.last_ns - first_ns) / NSEC_PER_SEC;

		diagnosis_set_baseline((*view)->diagnosis,
				       max_of(seconds, usual_seconds(diagnosis->usual, (*view)->netns)), past->file);
	}
	return r;
}

static void find_past(struct run_diagnosis *diagnosis)
{
	const char *file = diagnosis->options->past;

	if (diagnosis->no_past || diagnosis->run->options.input.file || (file && strcmp(file, "none") == 0))
		return;
	past_find(&diagnosis->past, file);
	vec_each(&diagnosis->past.files, found)
		command_confine_note(FILE_READ, *found);
}

/* A file, even one of our own: read without privilege. */
static int take_past(struct run_sink *sink, struct run *run)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;
	struct past *past = &diagnosis->past;
	int r = past_open(past, &run->why);

	if (r > 0) {
		usual_init(&diagnosis->past_usual);
		diagnosis->usual = &diagnosis->past_usual;
		r = past_load_usual(past->recording, diagnosis->usual, &run->why);
		if (r == 0)
			r = replay_past(diagnosis, &run->why);
	} else if (r == 0 && past->named)
		log_warn("%s has no sample of the last 2 minutes: nothing to compare with", past->file);
	past_close(past);
	*past = (struct past){};
	run->file_failed = r < 0;
	return r < 0 ? -EIO : 0;
}

static void on_overdue(void *context, uint64_t expirations _unused_)
{
	struct run_diagnosis *diagnosis = context;
	struct run *run = diagnosis->run;

	diagnosis->overdue = true;
	run->cannot_observe = diagnosis->count.last_ns == 0;
	run_stop(run, run->cannot_observe ? why_set(&run->why, -ETIMEDOUT, "no sample came in this time") : 0);
}

/* A sample ends the run, and the clock where none comes: the process that samples may be stopped. */
static int wait_at_most(struct run_diagnosis *diagnosis, uint64_t span_ns)
{
	struct run *run = diagnosis->run;
	int r;

	if (run->recording || !diagnosis->duration_ns)
		return 0;
	if (diagnosis->clock)
		loop_remove(run->loop, take_ptr(diagnosis->clock));
	r = loop_add_timer(run->loop, span_ns, 0, on_overdue, diagnosis, &diagnosis->clock);
	return r < 0 ? why_set(&run->why, r, "cannot wait: %s", strerror(-r)) : 0;
}

static int start(struct run_sink *sink, struct run *run)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;
	int r = take_past(sink, run);

	return r == 0 ? wait_at_most(diagnosis, diagnosis->duration_ns + FIRST_OVERDUE_NS) : r;
}

/* --- windows --- */

static void add_sample(struct run_diagnosis *diagnosis, const struct snapshot *snapshot)
{
	if (diagnosis->several)
		snapshot_slice_divide(diagnosis->slice, snapshot);
	vec_each(&diagnosis->views, view) {
		if (diagnosis->several)
			add_sliced(diagnosis, *view);
		else
			window_add((*view)->window, snapshot);
	}
}

/* A fact needs no further window, whatever else waits to be confirmed. */
static bool is_ripe(const struct diagnosis_view *view)
{
	return view->windows >= DIAGNOSIS_WINDOWS || diagnosis_has_fact(view->diagnosis);
}

static bool all_settled(const struct run_diagnosis *diagnosis)
{
	vec_each(&diagnosis->views, view)
		if (!diagnosis_is_settled((*view)->diagnosis))
			return false;
	return diagnosis->views.count > 0;
}

static int report_window(struct run_diagnosis *diagnosis, const struct diagnosis_view *view)
{
	struct run *run = diagnosis->run;
	int r = is_ripe(view) || diagnosis->last ? diagnosis->report(diagnosis, view) : 0;

	if (r == 0 && run->store && is_ripe(view))
		r = run_stored(run, store_add_findings(run->store, diagnosis_get(view->diagnosis)));
	return r;
}

/*
 * Live, the clock ends the last window once its samples fill half of it. So it is in a replay: both end with the same.
 * One that samples take long for is full with one.
 */
static bool is_half_full(const struct run_diagnosis *diagnosis, const struct window_count *count)
{
	uint64_t span_ns = count->last_ns - count->begin_ns;

	return (count->intervals >= SAMPLES_MIN && span_ns >= diagnosis->window_ns / 2) ||
	       (count->intervals > 0 && span_ns >= diagnosis->window_ns);
}

/* Live, the clock ends a run, however long samples take. */
static bool is_time_over(const struct run_diagnosis *diagnosis)
{
	return diagnosis->deadline_ns && clock_ns(CLOCK_BOOTTIME) >= diagnosis->deadline_ns;
}

static void finish_window(struct run_diagnosis *diagnosis, struct diagnosis_view *view)
{
	struct graph *graph = window_finish(view->window);

	graph->coarse = diagnosis->coarse;
	if (diagnosis->far)
		far_side_join(diagnosis->far, graph);
	vec_each(&view->containers, at) {
		const struct container_view *container = *at;
		struct module_place place = {.netns = container->netns,
					     .name = container->name[0] ? container->name : NULL,
					     .option = container->option[0] ? container->option : NULL,
					     .port = container->port[0] ? container->port : NULL};

		inside_add(graph, window_finish(container->window), &place);
	}
	if (view->containers.count)
		inside_link(graph);
	view->windows += diagnosis_add_window(view->diagnosis, graph);
}

/* Live: the next window is dense where this one suggests something. */
static void choose_pace(struct run_diagnosis *diagnosis)
{
	bool stirred = false;

	vec_each(&diagnosis->views, view)
		stirred |= diagnosis_is_stirred((*view)->diagnosis);
	run_snapshots_set_pace(&diagnosis->snapshots, rest_note(&diagnosis->rest, diagnosis->count.last_ns, stirred)
							      ? diagnosis->rest.pace_ns
							      : diagnosis->window_ns / diagnosis->samples);
}

/* With hindsight a window is concluded with the next one, and the last one at the end. */
static int report_lagging(struct run_diagnosis *diagnosis)
{
	int r = 0;

	if (!diagnosis->last)
		return 0;
	diagnosis->last = false;
	vec_each(&diagnosis->views, view)
		if (r == 0)
			r = report_window(diagnosis, *view);
	diagnosis->last = true;
	vec_each(&diagnosis->views, view)
		(*view)->windows += diagnosis_end((*view)->diagnosis);
	return r;
}

static int end_window(struct run_diagnosis *diagnosis)
{
	int r = 0;

	diagnosis->windows++;
	if (diagnosis->far)
		far_side_end_window(diagnosis->far);
	vec_each(&diagnosis->views, view)
		finish_window(diagnosis, *view);
	diagnosis->count.intervals = 0;
	if (diagnosis->rest.pace_ns)
		choose_pace(diagnosis);
	diagnosis->last = is_time_over(diagnosis) ||
			  (diagnosis->windows_wanted && diagnosis->windows >= diagnosis->windows_wanted) ||
			  (diagnosis->until_settled && all_settled(diagnosis));
	if (diagnosis->far)
		r = report_lagging(diagnosis);
	vec_each(&diagnosis->views, view)
		if (r == 0)
			r = report_window(diagnosis, *view);
	run_snapshots_refresh(&diagnosis->snapshots);
	return r != 0 ? r : diagnosis->last;
}

/* From the first sample on. */
static int set_deadline(struct run_diagnosis *diagnosis, const struct snapshot *snapshot)
{
	uint64_t rest_ns = diagnosis->duration_ns + diagnosis->snapshots.pace_ns;

	if (!diagnosis->run->recording && diagnosis->duration_ns)
		diagnosis->deadline_ns = snapshot->begin_boot_ns + rest_ns;
	return wait_at_most(diagnosis, rest_ns + OVERDUE_NS);
}

static int see_snapshot(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;
	const struct snapshot *snapshot = item;
	bool first = diagnosis->count.last_ns == 0, over;
	int r = 0;

	for (size_t i = 0; i < snapshot->table_count; i++)
		sink->shown += snapshot->tables[i].count;
	if (diagnosis->suspended)
		return 0;
	if (first && !diagnosis->lists_unseen)
		run_snapshots_warn_gaps(snapshot);
	if (first || (diagnosis->count.intervals == 0 && diagnosis->windows > 0))
		r = match_views(diagnosis, snapshot);
	if (r < 0)
		return r;
	add_sample(diagnosis, snapshot);
	if (diagnosis->far)
		r = far_side_advance(diagnosis->far, snapshot->begin_time_ns, &diagnosis->run->why);
	if (r < 0)
		return r;
	diagnosis->coarse = snapshot->pace_ns >= diagnosis->window_ns;
	over = count_sample(&diagnosis->count, diagnosis->samples, diagnosis->window_ns, time_of(snapshot));
	if (first)
		r = set_deadline(diagnosis, snapshot);
	if (r < 0)
		return r;
	/* What lies between the past and this run is of neither. */
	if (first && diagnosis->has_past)
		end_past_window(diagnosis);
	over |= is_half_full(diagnosis, &diagnosis->count) && is_time_over(diagnosis);
	over |= diagnosis->end_ns && diagnosis->count.last_ns >= diagnosis->end_ns;
	if (!over)
		return 0;
	return end_window(diagnosis);
}

/* --- the run --- */

static int prepare(struct run_sink *sink, struct run *run)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;
	const struct diagnosis_options *options = diagnosis->options;
	const char *cgroup = options->selection.cgroup;
	int r = knowledge_load(&diagnosis->knowledge, &run->why);

	if (r == 0) {
		/* A recording may be read on another host than the one it is about. */
		diagnosis->knowledge->is_command = options->input.file ? command_exists : command_runs_here;
		/* Asked of the kernel while this process may. */
		if (!options->input.file)
			(void)event_unavailable("");
		diagnosis->knowledge->takes_netns = command_takes_netns;
	}
	if (r == 0 && options->rules)
		r = knowledge_add_dir(diagnosis->knowledge, options->rules, &run->why);
	if (r == 0)
		r = engine_find(options->engine, &diagnosis->engine, &run->why);
	if (r < 0)
		return r == -EIO ? r : -ENOENT;
	if (cgroup && !options->input.file)
		r = cgroups_check(cgroup, &run->why);
	find_past(diagnosis);
	if (r == 0 && diagnosis->records)
		return output_open(diagnosis->records, &diagnosis->shape, &sink->output, &run->why);
	return r == 0 ? run_open_out(run, sink, &diagnosis->out, diagnosis->file) : r;
}

static uint64_t count_windows(struct run_diagnosis *diagnosis)
{
	const struct replay *replay = diagnosis->snapshots.replay;
	struct window_count count = {};
	uint64_t windows = 0;

	for (uint64_t i = 0; i < replay_samples(replay) && windows < (uint64_t)1 << 30; i++)
		if (count_sample(&count, diagnosis->samples, diagnosis->window_ns, replay_time(replay, i))) {
			count.intervals = 0;
			windows++;
		}
	if (is_half_full(diagnosis, &count)) {
		diagnosis->end_ns = count.last_ns;
		windows++;
	}
	return windows;
}

/* Of a recording: as many windows as it has, so that the last one is known for it. */
static int begin(struct run_sink *sink, struct run *run)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;
	struct far_side_request far = {.file = diagnosis->options->input.other,
				       .routers = &diagnosis->options->routers,
				       .range = &run->range,
				       .knowledge = diagnosis->knowledge};
	uint64_t samples, windows;
	int r;

	if (run->recording && far.file) {
		r = far_side_open(&far, run->recording, &diagnosis->far, &run->why);
		if (r < 0)
			return r;
	}
	if (!run->recording || diagnosis->endless)
		return 0;
	samples = replay_samples(diagnosis->snapshots.replay);
	windows = count_windows(diagnosis);
	if (windows < DIAGNOSIS_WINDOWS)
		return why_set(&run->why, -EINVAL,
			       "%llu sample%s too few: the diagnosis needs %u (%d windows of %u, and one before)",
			       (unsigned long long)samples, samples == 1 ? " is" : "s are",
			       DIAGNOSIS_WINDOWS * diagnosis->samples + 1, DIAGNOSIS_WINDOWS, diagnosis->samples);
	if (!diagnosis->windows_wanted || diagnosis->windows_wanted > windows)
		diagnosis->windows_wanted = (unsigned)windows;
	return 0;
}

/* Interrupted before the first report: the open window counts for what it has sampled. */
static int report_early(struct run_diagnosis *diagnosis)
{
	int r = 0;

	diagnosis->last = true;
	vec_each(&diagnosis->views, at) {
		struct diagnosis_view *view = *at;

		if (diagnosis->count.intervals >= SAMPLES_MIN)
			finish_window(diagnosis, view);
		if (r == 0 && view->windows >= WINDOWS_TO_CONFIRM)
			r = diagnosis->report(diagnosis, view);
		else
			log_info("nothing known yet: a finding takes %d windows of %" PRIu64 " ms", WINDOWS_TO_CONFIRM,
				 diagnosis->window_ns / NSEC_PER_MSEC);
	}
	return min_of(r, 0);
}

static int end(struct run_sink *sink, struct run *run)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;

	if (!run->ended_by && !diagnosis->overdue)
		return 0;
	if (diagnosis->windows_wanted && diagnosis->windows < DIAGNOSIS_WINDOWS)
		return report_early(diagnosis);
	vec_each(&diagnosis->views, view)
		if (diagnosis->interrupted && (*view)->windows >= DIAGNOSIS_WINDOWS)
			diagnosis->interrupted(diagnosis, *view);
	return 0;
}

static void account(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;

	if (diagnosis->closing)
		diagnosis->closing(diagnosis, &account->more);
}

static void close_diagnosis(struct run_sink *sink)
{
	struct run_diagnosis *diagnosis = (struct run_diagnosis *)sink;

	vec_each(&diagnosis->views, view)
		view_free(*view);
	vec_done(&diagnosis->views);
	usual_done(&diagnosis->past_usual);
	past_close(&diagnosis->past);
	far_side_close(diagnosis->far);
	snapshot_slice_free(diagnosis->slice);
	knowledge_free(diagnosis->knowledge);
	free(diagnosis->needs);
}

static const struct run_sink_ops diagnosis_ops = {
	.prepare = prepare,
	.begin = begin,
	.start = start,
	.take = see_snapshot,
	.end = end,
	.account = account,
	.close = close_diagnosis,
};

void run_diagnosis_restart(struct run_diagnosis *diagnosis)
{
	vec_each(&diagnosis->views, view)
		view_free(*view);
	diagnosis->views.count = 0;
	diagnosis->count = (struct window_count){};
	diagnosis->windows = 0;
}

static void set_pace(struct run_diagnosis *diagnosis)
{
	uint64_t shortest_ns = NSEC_PER_SEC / RATE_MAX, each_ns = diagnosis->duration_ns / DIAGNOSIS_WINDOWS;

	diagnosis->window_ns = NSEC_PER_SEC / max_of(diagnosis->rate, 1U);
	/* A recording has the windows that it has. */
	if (diagnosis->duration_ns && !diagnosis->options->input.file)
		diagnosis->window_ns = min_of(diagnosis->window_ns, max_of(each_ns, shortest_ns));
	diagnosis->samples = (unsigned)(diagnosis->window_ns * SAMPLES_A_SECOND / NSEC_PER_SEC);
	diagnosis->samples = max_of(min_of(diagnosis->samples, (unsigned)SAMPLES), (unsigned)SAMPLES_MIN);
	if (diagnosis->duration_ns)
		diagnosis->windows_wanted =
			(unsigned)max_of(min_of(diagnosis->duration_ns / diagnosis->window_ns, (uint64_t)1 << 30),
					 (uint64_t)DIAGNOSIS_WINDOWS);
}

/* What a recording holds for a later comparison with that of the other end. */
static const struct record_type *const recorded_types[] = {&translation_type, NULL};

void run_diagnosis_init(struct run_diagnosis *diagnosis, struct run *run)
{
	const struct diagnosis_options *options = diagnosis->options;
	const char *netns = options->netns;

	diagnosis->sink.ops = &diagnosis_ops;
	diagnosis->run = run;
	set_pace(diagnosis);
	run->options.input = options->input;
	run->options.save = run->options.save ?: options->save;
	run->options.attaches = true;
	run->options.ends_itself = diagnosis->windows_wanted > 0;
	/* A process is observed in its own namespace, unless -N is given. */
	if (!netns && options->selection.pid) {
		snprintf(diagnosis->pid, sizeof(diagnosis->pid), "%" PRIu64, options->selection.pid);
		netns = diagnosis->pid;
	}
	run_snapshots_init(&diagnosis->snapshots, run, netns);
	diagnosis->snapshots.dev = options->selection.dev;
	/* An interface is one of this namespace. */
	diagnosis->snapshots.containers = diagnosis->containers && !options->no_containers && !options->selection.dev;
	diagnosis->slice = snapshot_slice_new();
	diagnosis->needs = window_needs(run->options.save ? recorded_types : NULL);
	diagnosis->snapshots.request.types = options->input.file ? NULL : diagnosis->needs;
	diagnosis->snapshots.request.repeated = true;
	diagnosis->snapshots.request.thrifty = true;
	diagnosis->snapshots.request.passive = options->passive;
	diagnosis->snapshots.no_time_wait = true;
	diagnosis->snapshots.pace_ns = diagnosis->window_ns / diagnosis->samples;
	diagnosis->several = netns && strcmp(netns, "all") == 0;
	run_add_sink(run, &diagnosis->snapshots.source, &diagnosis->sink);
}
