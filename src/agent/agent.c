/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/metric.h"
#include "base/clock.h"
#include "base/files.h"
#include "run/agent_ask.h"
#include "run/command_confine.h"

#define HOUSEKEEPING_NS SHED_PERIOD_NS
/* A window per second at rest; the samples of a second only while something is suspected. */
#define REST_NS SHED_PACE_MIN_NS
/* Between two samples, while too much is asked. */
#define SHED_NS (10 * NSEC_PER_SEC)
/* Without a sample for this long, the agent hangs. */
#define HANGS_NS (60 * NSEC_PER_SEC)
/* What is kept around a finding, and how often one that lasts is marked. */
#define AROUND_NS (60 * NSEC_PER_SEC)
#define MARK_NS   (30 * NSEC_PER_SEC)
#define MARK      "incident: "

/* --- the moving window --- */

/* Deletes what lies between two times, but for what lies around incidents. */
static int trim_between(struct agent *agent, uint64_t from_ns, uint64_t to_ns)
{
	struct store *store = agent->run->store;
	int r = 0;

	vec_each(&agent->incidents, at) {
		uint64_t begin_ns = *at - min_of(AROUND_NS, *at), end_ns = *at + AROUND_NS;

		if (end_ns <= from_ns)
			continue;
		if (begin_ns >= to_ns)
			break;
		if (r == 0 && begin_ns > from_ns)
			r = store_trim(store, from_ns, begin_ns);
		from_ns = end_ns;
	}
	return r == 0 && from_ns < to_ns ? store_trim(store, from_ns, to_ns) : r;
}

static void forget_incidents(struct agent *agent, uint64_t before_ns)
{
	size_t kept = 0;

	vec_each(&agent->incidents, at)
		if (*at >= before_ns)
			agent->incidents.items[kept++] = *at;
	agent->incidents.count = kept;
}

static int keep_window(struct agent *agent)
{
	const struct agent_options *options = agent->options;
	uint64_t now_ns = store_now_ns(agent->run->store), cut_ns = now_ns - min_of(options->age_ns, now_ns);
	uint64_t expired_ns = now_ns - min_of(max_of(options->incident_age_ns, options->age_ns), now_ns);
	uint64_t step_ns = options->age_ns / 100;
	int r = 0;

	/* Reads every table, so not before a hundredth is due. */
	if (cut_ns > agent->trimmed_ns + step_ns) {
		r = trim_between(agent, agent->trimmed_ns, cut_ns);
		agent->trimmed_ns = cut_ns;
	}
	if (r == 0 && agent->incidents.count > 0 && expired_ns > agent->expired_ns + step_ns) {
		r = store_trim(agent->run->store, 0, expired_ns);
		forget_incidents(agent, expired_ns);
		agent->expired_ns = expired_ns;
	}
	return r;
}

static void check_stored(struct agent *agent, int r)
{
	if (run_stored(agent->run, r) < 0)
		run_stop(agent->run, r);
}

/* --- cost --- */

static void say_shed(struct agent *agent)
{
	const struct shed *shed = &agent->shed;
	_cleanup_free_ char *line = NULL;

	snprintf(agent->shed_why, sizeof(agent->shed_why), "--max-cpu %.3g %%", shed->limit * 100);
	if (shed->step == SHED_NOTHING)
		line = xasprintf("%s: used %.1f %%; sheds nothing", agent->shed_why, shed->used * 100);
	else
		line = xasprintf("%s: used %.1f %%; sheds %s", agent->shed_why, shed->used * 100,
				 shed_what(shed->step));
	agent->options->say(line);
}

/* What is not looked at for now is in every sample, as a gap. */
static void apply_shed(struct agent *agent, enum shed_step before)
{
	struct run_diagnosis *diagnosis = &agent->serve->diagnosis;
	struct snapshot_request *request = &diagnosis->snapshots.request;
	enum shed_step step = agent->shed.step;
	size_t count = 0;

	for (enum shed_step shed = SHED_NOTHING + 1; shed <= step; shed++)
		agent->left_out[count++] = (struct snapshot_left_out){shed_what(shed), agent->shed_why};
	request->left_out = agent->left_out;
	request->left_out_count = count;
	request->followed_max = step >= SHED_FOLLOWED ? FOLLOWED_FEW : FOLLOWED;
	diagnosis->rest.never_dense = step >= SHED_DENSE;
	diagnosis->suspended = step >= SHED_DIAGNOSIS;
	if (before >= SHED_DIAGNOSIS && step < SHED_DIAGNOSIS)
		run_diagnosis_restart(diagnosis);
	if (step >= SHED_DIAGNOSIS)
		run_snapshots_set_pace(&diagnosis->snapshots, step >= SHED_SAMPLES ? SHED_NS : REST_NS);
}

/* The next window keeps the pace of this one. */
static void choose_pace(struct agent *agent, uint64_t cpu_ns)
{
	struct rest *rest = &agent->serve->diagnosis.rest;
	uint64_t samples = agent->metrics.samples - agent->paced_samples;

	/* The first period loads programs. */
	if (agent->paced_cpu_ns && samples) {
		uint64_t sample_ns = (cpu_ns - agent->paced_cpu_ns) / samples;

		rest->pace_ns = shed_rest_pace(sample_ns);
		rest->price = shed_dense_price(sample_ns);
	}
	agent->paced_cpu_ns = cpu_ns;
	agent->paced_samples = agent->metrics.samples;
}

static void watch_cost(struct agent *agent)
{
	enum shed_step before = agent->shed.step;
	uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + run_snapshots_cpu_ns(&agent->serve->diagnosis.snapshots);

	choose_pace(agent, cpu_ns);
	if (!shed_note(&agent->shed, clock_monotonic_ns(), cpu_ns))
		return;
	say_shed(agent);
	apply_shed(agent, before);
}

/* Growth while samples are dense says nothing about that at rest. */
static void watch_disk(struct agent *agent)
{
	disk_budget_note(&agent->disk, clock_monotonic_ns(), store_size(agent->run->store), !agent->was_dense);
	agent->was_dense = false;
}

/* While something is suspected, as many that move as that wait. */
static void choose_followed(struct agent *agent)
{
	struct run_diagnosis *diagnosis = &agent->serve->diagnosis;
	struct snapshot_request *request = &diagnosis->snapshots.request;

	agent->was_dense |= !diagnosis->rest.resting;
	request->moving_max = min_of(diagnosis->rest.resting ? agent->disk.moving : FOLLOWED, request->followed_max);
}

static bool is_alive(void *context)
{
	struct agent *agent = context;
	uint64_t now_ns = clock_monotonic_ns();

	if (agent->metrics.samples != agent->watched_samples || agent->watched_ns == 0) {
		agent->watched_samples = agent->metrics.samples;
		agent->watched_ns = now_ns;
	}
	return now_ns - agent->watched_ns < HANGS_NS;
}

static void on_housekeeping(void *context, uint64_t expirations _unused_)
{
	struct agent *agent = context;

	check_stored(agent, keep_window(agent));
	check_stored(agent, agent_usual_keep(&agent->usual, agent->run->store, false));
	watch_cost(agent);
	watch_disk(agent);
}

/* --- findings --- */

static int mark_incident(struct agent *agent, const struct finding_record *finding)
{
	uint64_t now_ns = store_now_ns(agent->run->store);
	size_t count = agent->incidents.count;
	_cleanup_free_ char *label = NULL;

	if (count > 0 && now_ns < agent->incidents.items[count - 1] + MARK_NS)
		return 0;
	vec_push(&agent->incidents, now_ns);
	label = xasprintf(MARK "%s %s", finding->cause, finding->module);
	return run_stored(agent->run, store_add_mark(agent->run->store, clock_real_ns(), label));
}

static int see_diagnosis(void *context, const struct diagnosis_view *view, const struct diagnosis_record *record)
{
	struct agent *agent = context;
	const struct finding_record *findings = record->findings.items;
	int r = 0;

	agent_metrics_add(&agent->metrics, diagnosis_graph(view->diagnosis), record);
	agent_usual_learn(&agent->usual, diagnosis_graph(view->diagnosis), record);
	if (diagnosis_graph(view->diagnosis))
		agent_minutes_see(&agent->minutes, diagnosis_graph(view->diagnosis));
	for (uint32_t i = 0; i < record->findings.count; i++) {
		if (findings[i].certainty < agent->options->certainty || findings[i].over)
			continue;
		if (r == 0)
			r = mark_incident(agent, &findings[i]);
		notify_finding(agent->notify, record, &findings[i]);
	}
	return r;
}

/* --- the run --- */

/* The directory of the file, where it is missing. */
static int make_directory(const char *path, struct why *why)
{
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir = slash && slash > path ? xstrndup(path, (size_t)(slash - path)) : NULL;

	return dir ? files_make_dirs(dir, why) : 0;
}

static int prepare(struct run_sink *sink, struct run *run)
{
	struct agent *agent = (struct agent *)sink;
	int r = notify_check(&agent->options->notify, &run->why);

	agent_usual_load(&agent->usual, agent->options->store);
	return r == 0 ? make_directory(agent->options->store, &run->why) : r;
}

static void add_incident(void *context, uint64_t time_ns)
{
	struct agent *agent = context;

	vec_push(&agent->incidents, time_ns);
}

/* An agent of another user has none: nobody would trust it. */
static int open_socket(struct agent *agent)
{
	const char *path = agent->options->socket ?: geteuid() == 0 ? AGENT_SOCKET : "none";

	if (strcmp(path, "none") == 0)
		return 0;
	command_confine_note(FILE_WRITE, path);
	return agent_socket_new(agent->run->loop, path, agent->options->store, &agent->socket, &agent->run->why);
}

static int begin(struct run_sink *sink, struct run *run)
{
	struct agent *agent = (struct agent *)sink;
	int r = run_stored(run, store_limit_size(run->store, agent->options->size));

	/* Reports of findings, and who asks for the recording. */
	run_needs(run, MAY_SERVE, 0);
	if (r == 0)
		r = run_stored(run, store_each_mark(run->store, MARK, add_incident, agent));
	if (r == 0)
		r = run_stored(run, store_add_mark(run->store, clock_real_ns(), "agent started"));
	if (r == 0)
		r = notify_new(run->loop, &agent->options->notify, &agent->notify, &run->why);
	if (r == 0)
		r = loop_add_timer(run->loop, HOUSEKEEPING_NS, HOUSEKEEPING_NS, on_housekeeping, agent, NULL);
	if (r == 0)
		r = open_socket(agent);
	if (r == 0)
		r = watchdog_new(run->loop, is_alive, agent, &agent->watchdog, &run->why);
	if (r == 0 && agent->serve->server)
		http_server_serve(agent->serve->server, HTTP_AGENT, agent);
	return r;
}

static int take(struct run_sink *sink, struct run *run _unused_, const void *item _unused_)
{
	struct agent *agent = (struct agent *)sink;

	if (agent->metrics.samples++ == 0)
		watchdog_ready(agent->watchdog);
	choose_followed(agent);
	return 0;
}

static int end(struct run_sink *sink, struct run *run)
{
	struct agent *agent = (struct agent *)sink;

	return run_stored(run, agent_usual_keep(&agent->usual, run->store, true));
}

static void account(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	notify_account(((struct agent *)sink)->notify, &account->more);
}

static void close_agent(struct run_sink *sink)
{
	struct agent *agent = (struct agent *)sink;

	watchdog_free(agent->watchdog);
	agent_socket_free(agent->socket);
	notify_free(agent->notify);
	agent_metrics_done(&agent->metrics);
	usual_done(&agent->usual.usual);
	vec_done(&agent->incidents);
	free(agent->types);
}

static const struct run_sink_ops agent_ops = {
	.prepare = prepare, .begin = begin, .take = take, .end = end, .account = account, .close = close_agent};

/* What the diagnosis and the metrics look at. */
static const struct record_type **join_types(const struct record_type *const *diagnosis)
{
	_cleanup_free_ const struct record_type **more = metric_types();
	VEC(const struct record_type *) all = {};

	for (; *diagnosis; diagnosis++)
		vec_push(&all, *diagnosis);
	for (const struct record_type **type = more; *type; type++) {
		bool known = false;

		vec_each(&all, other)
			known |= *other == *type;
		if (!known)
			vec_push(&all, *type);
	}
	vec_push(&all, NULL);
	return all.items;
}

static void join(void *context, struct serve *serve)
{
	struct agent *agent = context;
	struct run *run = &serve->run;

	agent->serve = serve;
	agent->run = run;
	run->options.save = agent->options->store;
	run->options.resume = true;
	run->options.attaches = true;
	serve->diagnosis.no_past = true;
	serve->diagnosis.usual = &agent->usual.usual;
	serve->diagnosis.rest.pace_ns = REST_NS;
	serve->diagnosis.snapshots.request.active_only = true;
	serve->diagnosis.snapshots.request.followed_max = FOLLOWED;
	agent->types = join_types(serve->diagnosis.needs);
	serve->diagnosis.snapshots.request.types = agent->types;
	run_add_sink(run, &serve->diagnosis.snapshots.source, &agent->sink);
	agent_minutes_init(&agent->minutes, run, &serve->diagnosis.snapshots.source,
			   &(struct agent_minutes_options){.every_ns = agent->options->conn_ns,
							   .netns = agent->options->serve.live.netns,
							   .life_rate = (unsigned)agent->options->life_rate});
	run_oops_init(&agent->oops, run);
	run_ship_init(&agent->ship, run, &agent->options->ship);
}

int agent_run(const struct agent_options *options)
{
	struct agent agent = {.sink.ops = &agent_ops, .options = options, .shed.limit = options->max_cpu};
	struct serve_guest guest = {.name = "agent",
				    .unheard = !options->serve.http.listen,
				    .context = &agent,
				    .join = join,
				    .diagnosed = see_diagnosis};
	struct serve_options serve = options->serve;

	disk_budget_init(&agent.disk, options->size, options->age_ns);
	agent_metrics_init(&agent.metrics);
	usual_init(&agent.usual.usual);
	serve.guest = &guest;
	return serve_run(&serve);
}
