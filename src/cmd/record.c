/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest record: keeps what is seen in a file, as a whole, as a moving window, or around findings only. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/text.h"
#include "run/child.h"
#include "run/command.h"
#include "run/live_diagnosis.h"
#include "run/record_events.h"

/* How often the window is moved, and what stays of it even when the file is too large. */
#define HOUSEKEEPING_NS (1 * NSEC_PER_SEC)
#define SIZE_KEEP_NS    (2 * NSEC_PER_SEC)

struct config {
	const char *file;
	struct text_list what;
	uint64_t duration_ns;
	struct diagnosis_options live;
	struct trace_options events;
	uint64_t size;
	uint64_t age_ns;
	double on_finding;
	uint64_t before_ns;
	uint64_t after_ns;
	struct command_line command;
};

static const struct option_spec options[] = {
	OPTION(struct config, file, TEXT, "output", 'o', "FILE", "the recording to write; must not exist"),
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS", "end after this time (never)"),
	NETNS_OPTION(struct config, live.netns),
	OPTION(struct config, live.rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory"),
	OPTION(struct config, size, SIZE, "size", 0, "BYTES",
	       "a moving window: forget the oldest when the file reaches this size"),
	OPTION(struct config, age_ns, SECONDS, "age", 0, "TIME",
	       "a moving window: forget what is older than this (24h)"),
	OPTION(struct config, on_finding, RATIO, "on-finding", 0, "CERTAINTY",
	       "keep only the time around findings that are at least this certain"),
	OPTION(struct config, before_ns, SECONDS, "before", 0, "TIME",
	       "with --on-finding: how much of the time before (30s)"),
	OPTION(struct config, after_ns, SECONDS, "after", 0, "TIME",
	       "with --on-finding: how much of the time after (30s)"),
	OPTION(struct config, events.output.where, TEXT, "where", 0, "EXPR", "only events for which this holds"),
	OPTION(struct config, events.pid, UINT, "pid", 'p', "PID", "only events of this process", .min = 1,
	       .max = UINT32_MAX),
	OPTION(struct config, events.ports, PORTS, "port", 'P', "PORT,..", "only events of these ports"),
	OPTION(struct config, events.kernel_stack, FLAG, "stack", 0, NULL,
	       "with each event: which functions of the kernel led there"),
	OPTION(struct config, events.buffer_bytes, SIZE, "buffer", 0, "SIZE", "buffer between kernel and program"),
	POSITIONAL(struct config, what, TEXTS, "WHAT",
		   "what to record: diagnose (snapshots and findings; the default), events, tools"),
	OPTION(struct config, command, COMMAND, NULL, 0, "COMMAND", "run this command and end when it ends"),
	OPTION_END,
};

struct recorder {
	const struct config *config;
	struct live_diagnosis *live;
	struct loop *loop;
	struct child child;
	struct trace_options options;
	struct event_recorder *events; /* NULL: none were asked for */
	bool diagnose;
	uint64_t keep_until_ns; /* with --on-finding: this much is kept whatever comes */
};

static int fail(struct recorder *recorder, int r)
{
	if (r < 0 && !recorder->live->why.text[0])
		(void)why_set(&recorder->live->why, r, "%s", store_why(recorder->live->store));
	return r;
}

/* --- the moving window --- */

/* A little at first, more when that does not do. The last seconds stay, however large they are. */
static int keep_size(struct recorder *recorder, uint64_t now_ns)
{
	static const unsigned parts[] = {10, 4, 2, 2};
	struct store *store = recorder->live->store;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(parts); i++) {
		uint64_t oldest_ns;

		if (!recorder->config->size || store_size(store) < recorder->config->size)
			return 0;
		oldest_ns = store_oldest_ns(store);
		if (oldest_ns == 0 || oldest_ns + SIZE_KEEP_NS >= now_ns)
			return 0;
		r = store_trim(store, 0, oldest_ns + (now_ns - SIZE_KEEP_NS - oldest_ns) / parts[i] + 1);
	}
	return r;
}

static int keep_window(struct recorder *recorder)
{
	const struct config *config = recorder->config;
	struct store *store = recorder->live->store;
	uint64_t now_ns = clock_real_ns();
	int r = recorder->events ? event_recorder_result(recorder->events) : 0;

	if (r == 0)
		r = store_tick(store);
	if (r == 0 && config->age_ns && now_ns > config->age_ns)
		r = store_trim(store, 0, now_ns - config->age_ns);
	if (r == 0 && config->on_finding > 0 && now_ns - config->before_ns > recorder->keep_until_ns)
		r = store_trim(store, recorder->keep_until_ns, now_ns - config->before_ns);
	return r == 0 ? keep_size(recorder, now_ns) : r;
}

static void on_housekeeping(void *context, uint64_t expirations _unused_)
{
	struct recorder *recorder = context;
	int r = fail(recorder, keep_window(recorder));

	if (r < 0)
		loop_stop(recorder->loop, r);
}

/* --- what happens meanwhile --- */

static void on_mark(void *context, int signal_number _unused_)
{
	struct recorder *recorder = context;
	int r = store_add_mark(recorder->live->store, clock_real_ns(), "SIGUSR2");

	recorder->keep_until_ns = clock_real_ns() + recorder->config->after_ns;
	if (r == 0)
		r = store_commit(recorder->live->store);
	if (fail(recorder, r) < 0)
		loop_stop(recorder->loop, r);
}

static void on_command_end(void *context)
{
	struct recorder *recorder = context;

	loop_stop(recorder->loop, 0);
}

static int prepare_loop(struct live_diagnosis *live, struct loop *loop)
{
	struct recorder *recorder = live->context;
	int r = loop_add_signal(loop, SIGUSR2, on_mark, recorder);

	recorder->loop = loop;
	if (r == 0 && recorder->events)
		r = event_recorder_start(recorder->events, live->store, loop, &live->why);
	if (r == 0)
		r = loop_add_timer(loop, HOUSEKEEPING_NS, HOUSEKEEPING_NS, on_housekeeping, recorder, NULL);
	if (r == 0 && recorder->child.pid)
		r = child_start(&recorder->child, loop, on_command_end, recorder);
	return r;
}

/* A finding that is certain enough keeps the time around it. */
static int see_findings(struct live_diagnosis *live, const struct live_view *view)
{
	struct recorder *recorder = live->context;
	const struct config *config = recorder->config;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);
	const struct finding_record *findings;
	_cleanup_free_ char *label = NULL;
	uint64_t now_ns;
	bool is_new;

	if (!record)
		return 0;
	findings = record->findings.items;
	now_ns = record->start_ns + record->window_ms * 1000000;
	if (config->on_finding <= 0 || record->findings.count == 0 || findings[0].certainty < config->on_finding)
		return 0;
	is_new = now_ns > recorder->keep_until_ns;
	recorder->keep_until_ns = now_ns + config->after_ns;
	if (!is_new)
		return 0;
	label = xasprintf("finding: %s %s", findings[0].cause, findings[0].module);
	return fail(recorder, store_add_mark(live->store, now_ns, label));
}

/* --- the command --- */

/* An option that changes nothing would be taken for one that did: somebody would believe that only this process was recorded. */
static int check_no_events(const struct config *config, struct why *why)
{
	const struct trace_options *events = &config->events;
	const char *option = events->pid            ? "-p"
			     : events->ports.count  ? "-P"
			     : events->output.where ? "--where"
			     : events->kernel_stack ? "--stack"
			     : events->buffer_bytes ? "--buffer"
						    : NULL;

	if (!option)
		return 0;
	return why_set(why, -EINVAL, "%s is about events: name those to record, or a tool (nest record --help)",
		       option);
}

/* What the names stand for: snapshots with their diagnosis, and events. */
static int choose(struct recorder *recorder)
{
	const struct config *config = recorder->config;
	VEC(const char *) events = {};
	struct why why = {};
	int r = 0;

	if (!config->file) {
		log_error("record: -o FILE is missing: where to record to");
		return EXIT_USAGE;
	}
	recorder->diagnose = config->what.count == 0;
	for (size_t i = 0; i < config->what.count; i++) {
		if (strcmp(config->what.items[i], "diagnose") == 0)
			recorder->diagnose = true;
		else
			vec_push(&events, config->what.items[i]);
	}
	recorder->options = config->events;
	recorder->options.netns = config->live.netns;
	if (events.count)
		r = event_recorder_new(events.items, events.count, &recorder->options, &recorder->events, &why);
	else
		r = check_no_events(config, &why);
	vec_done(&events);
	if (r == 0 && config->on_finding > 0 && !recorder->diagnose)
		r = why_set(&why, -EINVAL, "--on-finding needs the diagnosis: name it, too");
	if (r < 0)
		log_error("record: %s", why.text);
	return r < 0 ? EXIT_USAGE : EXIT_DONE;
}

static void on_end(void *context, uint64_t expirations _unused_)
{
	loop_stop(((struct recorder *)context)->loop, 0);
}

static void on_signal(void *context, int signal_number)
{
	loop_stop(((struct recorder *)context)->loop, signal_number == SIGHUP ? EXIT_SIGNAL + SIGHUP : 0);
}

/* Events alone, without anybody who looks. */
static int run_events(struct recorder *recorder)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	int r = loop_new(&loop);

	if (r == 0)
		r = loop_add_end_signals(loop, on_signal, recorder);
	if (r == 0)
		r = prepare_loop(recorder->live, loop);
	if (r == 0 && recorder->config->duration_ns)
		r = loop_add_timer(loop, recorder->config->duration_ns, 0, on_end, recorder, NULL);
	if (r < 0)
		return r;
	fputs("nest: ready\n", stderr);
	return loop_run(loop);
}

static int record(struct recorder *recorder)
{
	struct live_diagnosis *live = recorder->live;
	const struct config *config = recorder->config;
	int code, result;

	if (config->command.argc > 0 && child_prepare(&recorder->child, &config->command, &live->why) < 0) {
		log_error("record: %s", live->why.text);
		return EXIT_IO;
	}
	code = live_diagnosis_save(live, "record", config->file);
	if (code != EXIT_DONE)
		return code;
	result = recorder->diagnose ? live_diagnosis_run(live) : run_events(recorder);
	if (recorder->events && result >= 0) {
		int r = event_recorder_finish(recorder->events, &live->why);

		result = r < 0 ? r : result;
		live->records += event_recorder_seen(recorder->events);
		live->lost += event_recorder_lost(recorder->events);
	}
	return live_diagnosis_exit_code(live, "record", fail(recorder, result));
}

static int run(const void *data)
{
	const struct config *config = data;
	struct recorder recorder = {.config = config, .child = CHILD_INIT};
	struct live_diagnosis live = {.options = &config->live,
				      .duration_ns = config->duration_ns,
				      .report = see_findings,
				      .prepare_loop = prepare_loop,
				      .context = &recorder};
	int code = choose(&recorder);

	recorder.live = &live;
	if (code == EXIT_DONE)
		code = live_diagnosis_prepare(&live, "record", NULL);
	if (code == EXIT_DONE)
		code = record(&recorder);
	child_done(&recorder.child);
	event_recorder_free(recorder.events);
	live_diagnosis_done(&live);
	return code;
}

static const char *const examples[] = {
	"nest record -o day.nest --age 24h --size 1GiB",
	"the last day of this host, in at most 1 GiB; nest report day.nest reads it",
	"nest record -o stalls.nest --on-finding 0.8",
	"half a minute before and after each clear finding, nothing else",
	"nest record -o run.nest -- ./benchmark",
	"while the benchmark runs",
	"nest record -o events.nest diagnose tcp.retransmit tcplife",
	"the diagnosis, every retransmission, and the events of a tool; nest tcplife -f events.nest shows them",
	NULL,
};

static const struct config defaults = {.before_ns = 30 * NSEC_PER_SEC, .after_ns = 30 * NSEC_PER_SEC};

static const struct command record_command = {
	.name = "record",
	.summary = "keep what is seen in a file, for later",
	.description =
		"Snapshots five times a second and the diagnosis of every second go into one SQLite file; what did not "
		"change is not written again. nest diagnose, watch, sockets and the others read it with -f, "
		"nest report sums it up, nest sql asks it anything.\n\n"
		"SIGUSR2, or nest snapshot from another terminal, marks a moment. With --on-finding a mark keeps the "
		"time around it, too.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(record_command);
