/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/parse.h"
#include "event/core/live.h"
#include "run/live_words.h"
#include "run/output_exit.h"
#include "run/run_until.h"
#include "run/trace_run.h"
#include "snapshot/core/netns.h"
#include "tool/core/cgroups.h"
#include "tool/core/keep.h"
#include "tool/core/pipeline.h"
#include "tool/core/recorded.h"

struct run {
	const struct trace_options *options;
	struct pipeline session;
	struct run_until until;
	struct live *live;
	struct why why;
	uint64_t interval_ns;
	uint64_t intervals;
	struct store *store;
	char *netns_path; /* where the namespace was that was asked for, NULL: none or all */
	ino_t netns_inum;
	bool began; /* it was attached, or the recording opened */
};

/* --- the end ------------------------------------------------------------------------------------------------------- */

static void on_interval(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;
	int r = live_collect(run->live, &run->why);

	if (r < 0) {
		loop_stop(run->until.loop, r);
		return;
	}
	pipeline_show_groups(&run->session);
	if (output_flush(run->session.output) < 0 || ++run->intervals == run->options->count)
		loop_stop(run->until.loop, 0);
}

static void on_idle(void *context)
{
	struct run *run = context;

	if (output_flush(run->session.output) < 0)
		loop_stop(run->until.loop, 0);
}

/* --- a namespace that goes --------------------------------------------------------------------------------------------- */

enum {
	NETNS_LOOK_NS = 100 * 1000 * 1000,
};

/* The kernel gives the number of a namespace that is gone to the next one: what comes now may be somebody else's. */
static void on_netns_look(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;
	struct stat found;

	if (stat(run->netns_path, &found) == 0 && found.st_ino == run->netns_inum)
		return;
	log_warn("%s: the network namespace of -N is gone, there is nothing more to see", run->session.plan->name);
	loop_stop(run->until.loop, 0);
}

/* What a command does is its own wherever it does it, and the end of a process is not that of its namespace. */
static int watch_netns(struct run *run)
{
	const char *spec = run->options->netns;
	struct stat found;
	uint64_t pid;

	if (!spec || !*spec || strcmp(spec, "all") == 0 || run->options->command.argc ||
	    parse_u64(spec, 1, INT32_MAX, &pid) == 0)
		return 0;
	run->netns_path = netns_path(spec);
	run->netns_inum = stat(run->netns_path, &found) == 0 ? found.st_ino : 0;
	return loop_add_timer(run->until.loop, NETNS_LOOK_NS, NETNS_LOOK_NS, on_netns_look, run, NULL);
}

/* --- keeping events -------------------------------------------------------------------------------------------------- */

static int open_store(struct run *run, const char *name)
{
	int r = run->options->save ? store_create(run->options->save, name, &run->store, &run->why) : 0;

	if (r == 0 && run->store)
		r = pipeline_keep(&run->session, run->store);
	if (r == 0 && run->store)
		r = run_until_keep(&run->until, run->store);
	return r;
}

/* Which hooks were used, and what was lost: part of what a recording says. */
static int close_store(struct run *run)
{
	struct why why = {};
	int r;

	if (!run->store)
		return 0;
	for (unsigned i = 0; run->live && i < run->session.count; i++)
		(void)!keep_source(run->store, run->live, i, run->session.requests[i].event);
	r = store_close(run->store, &why);
	if (r < 0)
		log_error("%s: %s", run->session.plan->name, why.text);
	return r;
}

/* --- losses -------------------------------------------------------------------------------------------------------- */

static void add_reason(struct buf *text, uint64_t count, const char *reason)
{
	if (count)
		buf_add_format(text, "%s%" PRIu64 " %s", text->len ? ", " : "; ", count, reason);
}

/* The line that ends every run, and what it means for the exit code. */
static int report(struct run *run)
{
	_cleanup_buf_ struct buf where = BUF_INIT(1024);
	struct event_loss all = {};
	uint64_t lost, groups = run->session.aggregate ? aggregate_lost(run->session.aggregate) : 0, allowed;

	for (unsigned i = 0; i < run->session.count; i++) {
		struct event_loss loss = live_loss(run->live, i);

		event_loss_add(&all, &loss);
	}
	lost = event_loss_total(&all) + groups;
	add_reason(&where, all.ring, "found the buffer full (--buffer)");
	add_reason(&where, all.groups + groups, "found no room for another group");
	add_reason(&where, all.rooms, "came while too many others were being written");
	add_reason(&where, all.memory, "began and could not be remembered until their end");
	add_reason(&where, all.missed, "at most, came while their program was running");
	/* It ends what is on the screen. */
	(void)output_end(run->session.output);
	live_tell_hidden(run->live);
	log_info("%" PRIu64 " events, %" PRIu64 " lost%s", run->session.seen, lost, buf_text(&where));
	if (!run->options->max_loss || parse_decimal(run->options->max_loss, 0, UINT64_MAX, &allowed) < 0)
		return EXIT_DONE;
	return lost > allowed ? EXIT_LOSS : EXIT_DONE;
}

/* Hooks that are missing without ending the run: somebody should know. */
static void tell_gaps(const struct run *run)
{
	vec_each(&live_hooks(run->live)->choices, choice)
		if (!hook_choice_get(choice) && choice->role->without)
			log_warn("%s: %s", choice->role->without, choice->reason);
}

/* --- the run ------------------------------------------------------------------------------------------------------- */

static int prepare(struct run *run)
{
	int r = run_until_prepare(&run->until, &run->options->command, &run->why);

	if (r == 0)
		loop_on_idle(run->until.loop, on_idle, run);
	return r;
}

static int follow_one(void *live, uint32_t pid)
{
	return live_follow(live, pid);
}

static int follow(struct run *run)
{
	uint64_t parent = run->options->children ? run->options->pid : 0;

	return run_until_follow(&run->until, parent, follow_one, run->live, &run->why);
}

static int attach(struct run *run)
{
	const struct event_sink sink = {.event = pipeline_event, .group = pipeline_group, .context = &run->session};
	struct live_options options = {
		.buffer_bytes = run->options->buffer_bytes, .finish = true, .late_refused = live_tell_refused};
	_cleanup_free_ char *cgroup = NULL;
	int r = run->options->cgroup ? cgroups_find_directory(run->options->cgroup, &cgroup, &run->why) : 0;

	options.cgroup = cgroup;
	if (r == 0)
		r = live_open(run->session.requests, run->session.count, &options, &run->live, &run->why);
	if (r == 0)
		r = follow(run);
	if (r == 0)
		r = live_start(run->live, run->until.loop, &sink, &run->why);
	if (r < 0)
		return r;
	run->session.stacks.read = live_read_stack;
	run->session.stacks.source = run->live;
	tell_gaps(run);
	run->session.shown_ns = clock_real_ns();
	log_info("ready");
	return 0;
}

/* --- recordings ------------------------------------------------------------------------------------------------------ */

static void end_interval(struct run *run, uint64_t *next_ns)
{
	pipeline_show_groups(&run->session);
	*next_ns += run->interval_ns;
	run->intervals++;
}

/* Intervals are those of the events' own time, from the first one on. */
static int tell_events(struct run *run, struct recorded *recorded)
{
	struct event_sink sink = {.event = pipeline_event, .context = &run->session};
	uint64_t begin_ns = recorded_next_ns(recorded), next_ns = begin_ns + run->interval_ns;
	int r = 1;

	while (r > 0) {
		uint64_t now_ns = recorded_next_ns(recorded);

		if (now_ns == UINT64_MAX ||
		    (run->options->duration_ns && now_ns > begin_ns + run->options->duration_ns))
			break;
		while (run->interval_ns && now_ns >= next_ns) {
			end_interval(run, &next_ns);
			if (run->intervals == run->options->count)
				return 0;
		}
		r = recorded_pass(recorded, &sink, &run->why);
		/* A reader that has gone needs no more. */
		if (output_out(run->session.output)->error < 0)
			break;
	}
	if (r >= 0)
		pipeline_show_groups(&run->session);
	return min_of(r, 0);
}

static int run_recorded(struct run *run)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(recorded_closep) struct recorded *recorded = NULL;
	struct time_range range;
	int r;

	run->session.span_ns = run->interval_ns;
	r = input_open(&run->options->input, &recording, &range, &run->why);

	if (r == 0)
		r = recorded_open(recording, &range, run->session.requests, run->session.count, &recorded, &run->why);
	run->began = r == 0;
	if (r == 0)
		r = tell_events(run, recorded);
	if (r == 0) {
		(void)output_end(run->session.output);
		log_info("%" PRIu64 " events, %" PRIu64 " lost", run->session.seen, recorded_lost(recorded));
	}
	return r;
}

/* From ready to the last event; a negative errno with the sentence, else 0. */
static int watch(struct run *run)
{
	int r = 0, finished;

	if (run->interval_ns)
		r = loop_add_timer(run->until.loop, run->interval_ns, run->interval_ns, on_interval, run, NULL);
	if (r == 0)
		r = watch_netns(run);
	if (r < 0)
		return why_set(&run->why, r, "cannot begin: %s", strerror(-r));
	r = run_until_end(&run->until, run->options->duration_ns, &run->why);
	finished = live_finish(run->live, &run->why);
	/* An interval that has just been shown is not shown again, unless it was not a whole one. */
	if (run->intervals == 0 || run->intervals != run->options->count)
		pipeline_show_groups(&run->session);
	return r < 0 ? r : finished;
}

static int exit_code_of(const struct run *run, int result, int written)
{
	if (result < 0)
		return run->options->input.file || run->options->save ? EXIT_IO : EXIT_CANNOT_OBSERVE;
	if (written < 0)
		return output_exit_code(written);
	return run_until_exit_code(&run->until);
}

static int check_options(const struct trace_plan *plan, const struct trace_options *options, struct why *why)
{
	uint64_t number;

	if (options->children && !options->pid)
		return why_set(why, -EINVAL, "--children needs -p");
	if (options->pid && options->command.argc)
		return why_set(why, -EINVAL, "either -p or a command");
	if (options->max_loss && parse_decimal(options->max_loss, 0, UINT64_MAX, &number) < 0)
		return why_set(why, -EINVAL, "--max-loss wants a whole number");
	if (options->interval_ns && plan->aggregate.kind == AGGREGATE_NONE)
		return why_set(why, -EINVAL, "an interval is for what is added up; events are shown as they happen");
	if (options->input.file && (options->save || options->command.argc || options->children))
		return why_set(why, -EINVAL, "-f goes neither with --save nor with a command or --children");
	return 0;
}

static int run_live(struct run *run, int *ret_code)
{
	int r = prepare(run);

	if (r == 0)
		r = open_store(run, run->session.plan->name);
	if (r == 0)
		r = attach(run);
	run->began = r == 0;
	if (r == 0) {
		r = watch(run);
		*ret_code = report(run);
	}
	if (r == 0)
		r = run_until_kept(&run->until, &run->why);
	return r;
}

/* A tool's own interval is for runs without an end: others show everything at the end. */
static uint64_t choose_interval(const struct trace_plan *plan, const struct trace_options *options)
{
	bool ends = options->duration_ns || options->command.argc || options->input.file;

	return options->interval_ns ?: ends ? 0 : plan->interval_ns;
}

int trace_run(const struct trace_plan *plan, const struct trace_options *options)
{
	struct run run = {
		.options = options, .until = {.child = CHILD_INIT}, .interval_ns = choose_interval(plan, options)};
	int r = check_options(plan, options, &run.why), code = EXIT_DONE, written, kept;

	if (r == 0)
		r = pipeline_open(&run.session, plan, options, &run.why);
	if (r < 0) {
		log_error("%s: %s (nest %s --help)", plan->name, run.why.text, plan->name);
		(void)!pipeline_close(&run.session);
		return EXIT_USAGE;
	}
	r = options->input.file ? run_recorded(&run) : run_live(&run, &code);
	if (r < 0)
		log_error("%s: %s", plan->name, run.why.text);
	if (!run.began)
		output_drop(run.session.output);
	kept = close_store(&run);
	written = pipeline_close(&run.session);
	live_close(run.live);
	r = exit_code_of(&run, r, written);
	run_until_done(&run.until);
	free(run.netns_path);
	return r ?: kept < 0 ? EXIT_IO : code;
}
