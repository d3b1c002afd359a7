/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest record: records to a file: everything, a moving window, or the time around findings. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>

#include "base/clock.h"
#include "base/text.h"
#include "run/command.h"
#include "run/run_diagnosis.h"
#include "run/run_events.h"
#include "run/run_oops.h"
#include "run/run_ship.h"

/* How often the window is moved. */
#define HOUSEKEEPING_NS (1 * NSEC_PER_SEC)

struct config {
	const char *file;
	bool append;
	struct text_list what;
	uint64_t duration_ns;
	struct diagnosis_options live;
	struct trace_options events;
	uint64_t size;
	uint64_t age_ns;
	double on_finding;
	uint64_t before_ns;
	uint64_t after_ns;
	struct ship_options ship;
	struct command_line command;
};

static const struct option_spec options[] = {
	OPTION(struct config, file, TEXT, "output", 'o', "FILE",
	       "the recording to write; must not exist, unless --append is given", .file = FILE_WRITE),
	OPTION(struct config, append, FLAG, "append", 0, NULL,
	       "continue a recording of this host and boot; any other file of that name becomes FILE.before"),
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: never)"),
	NETNS_OPTION(struct config, live.netns),
	OPTION(struct config, live.rules, TEXT, "rules", 0, "DIR", "add the *.rules files of this directory",
	       .file = FILE_READ),
	OPTION(struct config, size, SIZE, "size", 0, "BYTES",
	       "keep a moving window: delete the oldest rows so that file and log stay below this"),
	OPTION(struct config, age_ns, SECONDS, "age", 0, "TIME",
	       "keep a moving window: delete rows older than this (24h)"),
	OPTION(struct config, on_finding, RATIO, "on-finding", 0, "CERTAINTY",
	       "keep only the time around findings of at least this certainty", .max = 1),
	OPTION(struct config, before_ns, SECONDS, "before", 0, "TIME",
	       "with --on-finding: time to keep before the finding (default 30s)"),
	OPTION(struct config, after_ns, SECONDS, "after", 0, "TIME",
	       "with --on-finding: time to keep after the finding (default 30s)"),
	OPTION(struct config, events.output.where, TEXT, "where", 0, "EXPR", "limit to events for which this is true"),
	OPTION(struct config, events.pid, UINT, "pid", 'p', "PID", "limit to events of this process", .min = 1,
	       .max = UINT32_MAX),
	OPTION(struct config, events.ports, PORTS, "port", 'P', "PORT,..", "limit to events of these ports"),
	OPTION(struct config, events.kernel_stack, FLAG, "stack", 0, NULL, "record the kernel stack with each event"),
	OPTION(struct config, events.buffer_bytes, SIZE, "buffer", 0, "SIZE", "size of the ring buffer"),
	OPTION_GROUP(struct config, ship, ship_option_table),
	SHIP_TOKEN_OPTION(struct config, ship.token_file),
	POSITIONAL(struct config, what, TEXTS, "WHAT",
		   "what to record: diagnose (snapshots and findings; the default), events, tools"),
	OPTION(struct config, command, COMMAND, NULL, 0, "COMMAND", "run this command and end when it ends"),
	OPTION_END,
};

/* A name of the command line: an event, or a tool, which stands for its events with its filter. */
struct recorded_name {
	struct trace_plan plan;
	struct run_session session;
};

/* A sink that takes nothing: it moves the window of what is kept. */
struct recorder {
	struct run_sink sink;
	const struct config *config;
	struct run *run;
	struct run_diagnosis live;
	struct run_events events;
	struct run_oops oops;
	struct run_ship ship;
	struct trace_options options;
	VEC(struct recorded_name *) names;
	bool diagnose;
	uint64_t keep_until_ns; /* with --on-finding: this much is kept whatever comes */
};

/* --- the moving window --- */

static int keep_window(struct recorder *recorder)
{
	const struct config *config = recorder->config;
	struct store *store = recorder->run->store;
	uint64_t now_ns = store_now_ns(store), oldest_ns = config->age_ns ? store_oldest_ns(store) : 0;
	int r = 0;

	/* Reads every table, so not before a hundredth is due. */
	if (oldest_ns && oldest_ns + config->age_ns + config->age_ns / 100 < now_ns)
		r = store_trim(store, 0, now_ns - config->age_ns);
	if (r == 0 && config->on_finding > 0 && now_ns - config->before_ns > recorder->keep_until_ns)
		r = store_trim(store, recorder->keep_until_ns, now_ns - config->before_ns);
	return r;
}

static void check_stored(struct recorder *recorder, int r)
{
	if (run_stored(recorder->run, r) < 0)
		run_stop(recorder->run, r);
}

static void on_housekeeping(void *context, uint64_t expirations _unused_)
{
	check_stored(context, keep_window(context));
}

static void on_mark(void *context, int signal_number _unused_)
{
	struct recorder *recorder = context;
	int r = store_add_mark(recorder->run->store, clock_real_ns(), "SIGUSR2");

	recorder->keep_until_ns = store_now_ns(recorder->run->store) + recorder->config->after_ns;
	check_stored(recorder, r < 0 ? r : store_commit(recorder->run->store));
}

static int begin(struct run_sink *sink, struct run *run)
{
	struct recorder *recorder = (struct recorder *)sink;
	int r = loop_add_signal(run->loop, SIGUSR2, on_mark, recorder);

	if (r == 0)
		r = run_stored(run, store_limit_size(run->store, recorder->config->size));
	if (r == 0)
		r = loop_add_timer(run->loop, HOUSEKEEPING_NS, HOUSEKEEPING_NS, on_housekeeping, recorder, NULL);
	return r;
}

/* A finding that is certain enough keeps the time around it. */
static int see_findings(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	struct recorder *recorder = live->context;
	const struct config *config = recorder->config;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);
	const struct finding_record *findings;
	_cleanup_free_ char *label = NULL;
	uint64_t now_ns, end_ns;
	bool is_new;

	if (!record)
		return 0;
	findings = record->findings.items;
	now_ns = store_now_ns(recorder->run->store);
	end_ns = record->start_ns + record->window_ms * NSEC_PER_MSEC;
	if (config->on_finding <= 0 || record->findings.count == 0 || findings[0].certainty < config->on_finding)
		return 0;
	is_new = now_ns > recorder->keep_until_ns;
	recorder->keep_until_ns = now_ns + config->after_ns;
	if (!is_new)
		return 0;
	label = xasprintf("finding: %s %s", findings[0].cause, findings[0].module);
	return run_stored(recorder->run, store_add_mark(recorder->run->store, end_ns, label));
}

/* --- the command --- */

static int make_plan(struct trace_plan *plan, struct why *why)
{
	const char *name = plan->name;
	const struct tool *tool = tool_find(name);
	_cleanup_buf_ struct buf shown = BUF_INIT(256);

	*plan = (struct trace_plan){.name = name, .where = BUF_INIT(65536), .silent = true};
	if (tool) {
		memcpy(plan->events, tool->events, sizeof(plan->events));
		if (tool->where)
			trace_where_add(&plan->where, "%s", tool->where);
	} else if (event_find(name) || event_union_find(name)) {
		plan->events[0] = name;
	} else {
		text_add_terminal(&shown, name, strnlen(name, 60));
		return why_set(why, -EINVAL, "'%s' is neither an event nor a tool (nest events, nest tools)",
			       buf_text(&shown));
	}
	return 0;
}

/* An option without effect would mislead: as if only this process had been recorded. */
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
	return why_set(why, -EINVAL, "%s needs events: name the events or tools to record", option);
}

static int prepare(struct run_sink *sink, struct run *run)
{
	struct recorder *recorder = (struct recorder *)sink;
	const struct config *config = recorder->config;
	int r = 0;

	if (!config->file)
		return why_set(&run->why, -EINVAL, "-o FILE is missing");
	if (config->on_finding > 0 && !recorder->diagnose)
		return why_set(&run->why, -EINVAL, "--on-finding needs the diagnosis: also name diagnose");
	if (recorder->names.count == 0)
		return check_no_events(config, &run->why);
	vec_each(&recorder->names, name)
		r = r < 0 ? r : make_plan(&(*name)->plan, &run->why);
	return r;
}

static const struct run_sink_ops recorder_ops = {.prepare = prepare, .begin = begin};

/* Snapshots with their diagnosis, events, or both. The recorder comes first: it makes the plans of the sessions. */
static void add_sources(struct recorder *recorder)
{
	struct run *run = recorder->run;

	run_add_sink(run, NULL, &recorder->sink);
	run_oops_init(&recorder->oops, run);
	if (recorder->diagnose)
		run_diagnosis_init(&recorder->live, run);
	if (recorder->names.count)
		run_events_init(&recorder->events, run, &recorder->options);
	vec_each(&recorder->names, name)
		run_events_add(&recorder->events, &(*name)->session, &(*name)->plan, &recorder->options);
	run_ship_init(&recorder->ship, run, &recorder->config->ship);
}

static int run(const void *data)
{
	const struct config *config = data;
	struct run run = {.options = {.name = "record",
				      .command = config->command,
				      .save = config->file,
				      .resume = config->append,
				      .attaches = true}};
	struct recorder recorder = {.sink.ops = &recorder_ops,
				    .config = config,
				    .run = &run,
				    .live = {.options = &config->live,
					     .duration_ns = config->duration_ns,
					     .report = see_findings,
					     .no_past = true,
					     .context = &recorder},
				    .options = config->events,
				    .diagnose = config->what.count == 0};
	int code;

	for (size_t i = 0; i < config->what.count; i++) {
		struct recorded_name *name;

		if (strcmp(config->what.items[i], "diagnose") == 0) {
			recorder.diagnose = true;
			continue;
		}
		name = xzalloc(sizeof(*name));
		name->plan.name = config->what.items[i];
		vec_push(&recorder.names, name);
	}
	recorder.options.netns = config->live.netns;
	/* A diagnosis counts its windows. */
	run.options.duration_ns = recorder.diagnose ? 0 : config->duration_ns;
	run.options.netns = recorder.diagnose ? NULL : config->live.netns;
	add_sources(&recorder);
	code = run_carry_out(&run);
	vec_each(&recorder.names, name) {
		trace_plan_done(&(*name)->plan);
		free(*name);
	}
	vec_done(&recorder.names);
	return code;
}

static const char *const examples[] = {
	"nest record -o day.nest --age 24h --size 1GiB",
	"the last 24 hours of this host, in at most 1 GiB; nest report day.nest reads it",
	"nest record -o day.nest --append --age 24h",
	"the same after a restart of the recorder: the recording goes on",
	"nest record -o stalls.nest --on-finding 0.8",
	"30 s before and after each finding of certainty 0.8 or more",
	"nest record -o run.nest -- ./benchmark",
	"while the benchmark runs",
	"nest record -o events.nest diagnose tcp.retransmit tcplife",
	"the diagnosis, every retransmission, and the events of a tool; nest tcplife -f events.nest shows them",
	NULL,
};

static const struct config defaults = {.before_ns = 30 * NSEC_PER_SEC, .after_ns = 30 * NSEC_PER_SEC};

static const struct command record_command = {
	.name = "record",
	.summary = "recording of snapshots, findings and events in a file",
	.description = "Writes snapshots five times per second and the diagnosis of every second to one SQLite file; "
		       "unchanged rows are written once. Kernel reports logged while it runs are recorded (nest oops "
		       "-f). nest diagnose, watch, sockets and the others read it with -f; nest report summarises it; "
		       "nest sql queries it.\n\nSIGUSR2, or nest snapshot from another terminal, marks a moment. With "
		       "--on-finding a mark also keeps the time around it.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(record_command);
