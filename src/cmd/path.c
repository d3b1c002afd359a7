/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest path: where inside this host packets spend their time. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/parse.h"
#include "path/journey/journey_event.h"
#include "path/source/journey_source.h"
#include "record/expr.h"
#include "run/command.h"
#include "run/live_words.h"
#include "run/output_exit.h"
#include "run/path_show.h"
#include "run/run_until.h"
#include "tool/core/cgroups.h"

#define C struct path_config
static const struct option_spec options[] = {
	OPTION(C, slowest, UINT, "slowest", 0, "N", "the slowest journeys as waterfalls, so many (5)", .min = 1,
	       .max = SLOWEST_MAX),
	OPTION(C, hist, FLAG, "hist", 0, NULL,
	       "figures of each stage, and which stage owns the tail: makes the slowest 1% slow"),
	OPTION(C, by, NAMES, "by", 0, "FIELD,..",
	       "figures for each value of these fields: comm, laddr, dev, cpu, or any other"),
	OPTION(C, rx, FLAG, "rx", 0, NULL, "only packets that arrive"),
	OPTION(C, tx, FLAG, "tx", 0, NULL, "only packets that leave"),
	OPTION(C, svg, TEXT, "svg", 0, "FILE", "draw waterfalls and a heat map of each stage"),
	OPTION(C, html, TEXT, "html", 0, "FILE", "the same as a page that needs nothing but itself"),
	OPTION(C, trace, TEXT, "trace", 0, "FILE", "trace-event JSON for ui.perfetto.dev: a track for each processor"),
	OPTION(C, returns, FLAG, "return", 0, NULL,
	       "also the end of the system call, and data that is spliced: every system call of the host pays for it"),
	OPTION(C, sample, TEXT, "sample", 0, "1/N", "follow one flow in N, all packets of it"),
	OPTION(C, stages, TEXT, "stages", 0, "few|some|all",
	       "how many stages: fewer cost flows that are not followed less; few is usual with --sample, else all"),
	OPTION(C, max_cpu, TEXT, "max-cpu", 0, "SHARE",
	       "follow fewer flows when this costs more than such a share of a processor: 5%"),
	OPTION_GROUP(C, common, trace_select_table),
	OPTION_GROUP(C, common, trace_run_table),
	OPTION(C, common.command, COMMAND, NULL, 0, "COMMAND", "run it, follow its packets, stop when it ends"),
	OPTION_END,
};
#undef C

struct run {
	const struct path_config *config;
	struct path_show show;
	struct buf where; /* what all options together ask for */
	struct run_until until;
	struct journey_source *source;
	struct journey_source *before; /* with all stages, until that cost too much; NULL */
	struct store *store;
	struct why why;
	uint64_t begin_ns;
	uint64_t lost; /* now, or when it was recorded */
	double max_cpu;
	bool cost_told;
	bool progress; /* a line on the terminal tells how far it is */
};

/* How often a person is told. */
#define PROGRESS_NS (NSEC_PER_SEC / 2)
#define ERASE_LINE  "\r\033[K"
/* One in so many packets that did not come to their end is worth a word. */
#define MANY_UNFINISHED 20

/* --- what is asked for ----------------------------------------------------------------------------------------------- */

/* 1/64, or 64. */
static int parse_sample(const char *text, uint32_t *ret_sample, struct why *why)
{
	uint64_t number = 1;

	if (text && parse_decimal(strncmp(text, "1/", 2) == 0 ? text + 2 : text, 1, UINT32_MAX, &number) < 0)
		return why_set(why, -EINVAL, "--sample wants 1/N: one flow in N");
	*ret_sample = (uint32_t)number;
	return 0;
}

/* 5%, 0.05, 150%. Whoever writes 5 does not mean five processors. */
static int parse_max_cpu(const char *text, double *ret_share, struct why *why)
{
	double share = 0;

	if (text && (parse_ratio(text, &share) < 0 || !(share > 0) || (share >= 1 && !strchr(text, '%'))))
		return why_set(why, -EINVAL, "--max-cpu wants a share of a processor such as 5%% or 0.05");
	*ret_share = share;
	return 0;
}

/* Few hooks where few flows are followed, unless more is asked for. */
static int parse_stages(const struct path_config *config, uint32_t sample, uint8_t *ret_set, struct why *why)
{
	static const char *const names[] = {
		[EVENT_SET_ALL] = "all", [EVENT_SET_SOME] = "some", [EVENT_SET_FEW] = "few"};
	uint8_t set = 0;

	if (!config->stages) {
		*ret_set = sample > 1 && !config->returns ? EVENT_SET_FEW : EVENT_SET_ALL;
		return 0;
	}
	while (set < ARRAY_SIZE(names) && strcmp(config->stages, names[set]) != 0)
		set++;
	if (set == ARRAY_SIZE(names))
		return why_set(why, -EINVAL, "--stages wants few, some or all");
	if (set != EVENT_SET_ALL && config->returns)
		return why_set(why, -EINVAL, "--return goes with all stages only");
	*ret_set = set;
	return 0;
}

static int make_where(struct run *run, const struct shape *shape)
{
	const struct path_config *config = run->config;
	int r = trace_options_where(&config->common, shape, &run->where, &run->why);

	if (r == 0 && config->common.output.where)
		trace_where_add(&run->where, "%s", config->common.output.where);
	/* Of a recording both are there. */
	if (r == 0 && config->common.input.file && config->rx != config->tx)
		trace_where_add(&run->where, "dir == %s", config->rx ? "rx" : "tx");
	return r;
}

/* The user's own filter first: what is wrong with it is told in the user's own words. */
static int check_where(struct run *run, const struct shape *shape)
{
	_cleanup_(expr_freep) struct expr *own = NULL, *all = NULL;
	const char *where = run->config->common.output.where;
	struct why why = {};
	int r;

	if (where && expr_parse(where, shape, &own, &why) < 0)
		return why_set(&run->why, -EINVAL, "--where: %s", why.text);
	r = make_where(run, shape);
	return r == 0 && run->where.len ? expr_parse(buf_text(&run->where), shape, &all, &run->why) : r;
}

/* --- the kernel ------------------------------------------------------------------------------------------------------ */

static void on_idle(void *context)
{
	struct run *run = context;

	if (path_show_flush(&run->show) < 0)
		loop_stop(run->until.loop, 0);
}

static void on_progress(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;
	struct journey_account account = journey_source_account(run->source);
	uint64_t seconds = (clock_monotonic_ns() - run->begin_ns) / NSEC_PER_SEC;

	fprintf(stderr, ERASE_LINE "%" PRIu64 " s: %" PRIu64 " journeys", seconds, run->show.journeys);
	if (account.sample > 1)
		fprintf(stderr, ", one flow in %u", account.sample);
	fputs("; Ctrl-C shows them", stderr);
}

static int open_store(struct run *run)
{
	int r;

	if (!run->config->common.save)
		return 0;
	r = store_create(run->config->common.save, "path", &run->store, &run->why);
	if (r < 0)
		return r;
	r = path_show_keep(&run->show, run->store);
	if (r == 0)
		r = run_until_keep(&run->until, run->store);
	return r < 0 ? why_set(&run->why, r, "cannot record: %s", strerror(-r)) : 0;
}

static int prepare(struct run *run)
{
	int r = run_until_prepare(&run->until, &run->config->common.command, &run->why);

	if (r == 0)
		loop_on_idle(run->until.loop, on_idle, run);
	return r;
}

static int follow_one(void *source, uint32_t pid)
{
	return journey_source_follow(source, pid);
}

static int follow(struct run *run)
{
	uint64_t parent = run->config->common.children ? run->config->common.pid : 0;

	return run_until_follow(&run->until, parent, follow_one, run->source, &run->why);
}

static void tell_missing(const char *what, const char *reason)
{
	log_warn("%s: %s", what, reason);
}

/* Stages that nobody will see in this run, with the reason; those with the same reason together. */
static void tell_hidden(const struct run *run)
{
	const char *reasons[PATH_STAGES] = {};

	if (journey_source_set(run->source) != EVENT_SET_ALL)
		log_warn("so as not to slow others down, datagrams that leave and packets that are sent on are not "
			 "followed: --stages all");
	journey_source_each_missing(run->source, tell_missing);
	for (unsigned i = 1; i < PATH_STAGES; i++)
		reasons[i] = journey_source_hidden_reason(run->source, (enum path_stage)i);
	for (unsigned i = 1; i < PATH_STAGES; i++) {
		_cleanup_buf_ struct buf names = BUF_INIT(1024);
		const char *reason = reasons[i];

		if (!reason)
			continue;
		for (unsigned j = i; j < PATH_STAGES; j++)
			if (reasons[j] && strcmp(reasons[j], reason) == 0) {
				buf_add_format(&names, "%s%s", names.len ? ", " : "", path_stages[j].name);
				if (j > i)
					reasons[j] = NULL;
			}
		log_warn("not visible: %s: %s", buf_text(&names), reason);
	}
}

static bool is_of_some(const struct path_config *config)
{
	return config->common.children || config->common.command.argc;
}

/* What the source is asked for. ret_cgroup belongs to the caller. */
static int describe_source(struct run *run, struct journey_source_options *ret_wanted, char **ret_cgroup)
{
	const struct path_config *config = run->config;
	struct journey_source_options wanted = {.where = run->where.len ? buf_text(&run->where) : NULL,
						.rx = config->rx,
						.tx = config->tx,
						.by_tree = is_of_some(config),
						.returns = config->returns,
						.late_refused = live_tell_refused,
						.buffer_bytes = config->common.buffer_bytes};
	int r = parse_sample(config->sample, &wanted.sample, &run->why);

	if (r == 0)
		r = parse_stages(config, wanted.sample, &wanted.set, &run->why);
	if (r == 0)
		r = parse_max_cpu(config->max_cpu, &wanted.max_cpu, &run->why);
	if (r == 0 && config->common.cgroup)
		r = cgroups_find_directory(config->common.cgroup, ret_cgroup, &run->why);
	wanted.cgroup = *ret_cgroup;
	wanted.least = wanted.sample;
	run->max_cpu = wanted.max_cpu;
	*ret_wanted = wanted;
	return r;
}

static int attach(struct run *run)
{
	_cleanup_free_ char *cgroup = NULL;
	struct journey_source_options wanted;
	int r = describe_source(run, &wanted, &cgroup);

	if (r == 0)
		r = journey_source_open(&wanted, &run->source, &run->why);
	if (r == 0)
		r = follow(run);
	if (r == 0)
		r = journey_source_start(run->source, run->until.loop, path_show_journey, &run->show, &run->why);
	if (r < 0)
		return r;
	tell_hidden(run);
	log_info("ready");
	run->begin_ns = clock_monotonic_ns();
	return 0;
}

/* The same with few hooks, from now on. What is under way is cut short. */
static int take_few_stages(struct run *run, uint32_t sample)
{
	_cleanup_(journey_source_closep) struct journey_source *fewer = NULL;
	_cleanup_free_ char *cgroup = NULL;
	struct journey_source_options wanted;
	int r = describe_source(run, &wanted, &cgroup);

	wanted.set = EVENT_SET_FEW;
	wanted.sample = sample;
	if (r == 0)
		r = journey_source_open(&wanted, &fewer, &run->why);
	/* Of datagrams that leave, few hooks see nothing. */
	if (r == 0 && journey_source_set(fewer) == EVENT_SET_ALL)
		r = -ENOTSUP;
	if (r < 0)
		return r;
	r = journey_source_finish(run->source, &run->why);
	live_tell_hidden(journey_source_live(run->source));
	run->before = run->source;
	run->source = take_ptr(fewer);
	return r < 0 ? r : journey_source_start(run->source, run->until.loop, path_show_journey, &run->show, &run->why);
}

/* To follow fewer flows does not help any more, since all packets pass the hooks: fewer hooks, unless all were asked for. */
static void on_cost(void *context, uint64_t expirations _unused_)
{
	struct run *run = context;
	const struct path_config *config = run->config;
	struct journey_account account = journey_source_account(run->source);
	int r;

	if (run->cost_told || !journey_source_costs_too_much(run->source))
		return;
	run->cost_told = true;
	if (config->stages || config->returns || is_of_some(config) ||
	    journey_source_set(run->source) != EVENT_SET_ALL) {
		log_warn("hardly any flow is followed, and it costs %.1f %% of a processor: all packets pass the hooks",
			 100 * account.cpu);
		return;
	}
	log_warn("hardly any flow is followed, and it costs %.1f %% of a processor: few stages from now on",
		 100 * account.cpu);
	r = take_few_stages(run, account.sample);
	if (r == 0)
		tell_hidden(run);
	else if (run->before)
		loop_stop(run->until.loop, r);
	else
		log_warn("few stages cannot be had: all of them, as before");
}

static int watch(struct run *run)
{
	int r = 0, finished;

	if (run->progress)
		r = loop_add_timer(run->until.loop, PROGRESS_NS, PROGRESS_NS, on_progress, run, NULL);
	if (r == 0 && run->max_cpu > 0)
		r = loop_add_timer(run->until.loop, NSEC_PER_SEC, NSEC_PER_SEC, on_cost, run, NULL);
	if (r < 0)
		return why_set(&run->why, r, "cannot begin: %s", strerror(-r));
	r = run_until_end(&run->until, run->config->common.duration_ns, &run->why);
	/* What finishing tells begins a line. */
	if (run->progress)
		fputs(ERASE_LINE, stderr);
	finished = journey_source_finish(run->source, &run->why);
	live_tell_hidden(journey_source_live(run->source));
	return r < 0 ? r : finished < 0 ? finished : run_until_kept(&run->until, &run->why);
}

/* --- recordings ------------------------------------------------------------------------------------------------------ */

static int tell_recorded(struct run *run, struct journey_replay *replay)
{
	_cleanup_(expr_freep) struct expr *where = NULL;
	uint64_t limit_ns = run->config->common.duration_ns, begin_ns = 0;
	struct shape shape = journey_event_shape();
	struct journey_event event;
	struct journey journey;
	int r = 0;

	if (run->where.len)
		r = expr_parse(buf_text(&run->where), &shape, &where, &run->why);
	while (r == 0 && (r = journey_replay_next(replay, &journey, &run->why)) > 0) {
		begin_ns = begin_ns ?: journey.time_ns;
		if (limit_ns && journey.time_ns > begin_ns + limit_ns)
			return 0;
		run->show.followed++;
		if (where)
			journey_to_event(&journey, &event);
		if (!where || expr_matches(where, &event.record))
			path_show_journey(&run->show, &journey);
		/* A reader that has gone needs no more. */
		if (run->show.output && output_out(run->show.output)->error < 0)
			return 0;
		r = 0;
	}
	return r;
}

static int run_recorded(struct run *run)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(journey_replay_closep) struct journey_replay *replay = NULL;
	struct time_range range;
	int r = input_open(&run->config->common.input, &recording, &range, &run->why);

	if (r == 0)
		r = journey_replay_open(recording, &range, &replay, &run->why);
	if (r == 0)
		r = tell_recorded(run, replay);
	if (r == 0)
		run->lost = journey_replay_lost(replay);
	return r;
}

/* --- the end --------------------------------------------------------------------------------------------------------- */

static void add_moment(struct buf *out, const char *format, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NSEC_PER_SEC);
	struct tm local;
	char text[64];

	if (localtime_r(&seconds, &local) && strftime(text, sizeof(text), format, &local))
		buf_add_text(out, text);
}

/* What was looked at, when and how, for pictures. */
static void add_note(const struct run *run, struct buf *note)
{
	const struct path_show *show = &run->show;
	uint32_t sample = run->source ? journey_source_account(run->source).sample : 1;

	buf_add_format(note, "%" PRIu64 " journey%s", show->journeys, show->journeys == 1 ? "" : "s");
	if (show->journeys) {
		add_moment(note, " from %Y-%m-%d %H:%M:%S", show->first_ns);
		add_moment(note, " to %H:%M:%S %z", show->last_ns);
	}
	if (!run->config->common.input.file && run->config->rx != run->config->tx)
		buf_add_format(note, "; only packets that %s", run->config->rx ? "arrive" : "leave");
	if (run->where.len)
		buf_add_format(note, "; where %s", buf_text(&run->where));
	if (sample > 1)
		buf_add_format(note, "; one flow in %u", sample);
	if (run->lost)
		buf_add_format(note, "; %" PRIu64 " %s lost", run->lost, run->lost == 1 ? "was" : "were");
}

static struct journey_account whole_account(const struct run *run)
{
	struct journey_account account = journey_source_account(run->source), before;

	if (!run->before)
		return account;
	before = journey_source_account(run->before);
	account.packets += before.packets;
	account.delivered += before.delivered;
	account.dropped += before.dropped;
	account.forwarded += before.forwarded;
	account.unfinished += before.unfinished;
	account.merged += before.merged;
	account.cut += before.cut;
	account.clamped += before.clamped;
	return account;
}

static void add_account(const struct run *run, struct buf *text)
{
	struct journey_account account = whole_account(run);
	const uint64_t ends[PATH_UNFINISHED + 1] = {[PATH_DELIVERED] = account.delivered,
						    [PATH_DROPPED] = account.dropped,
						    [PATH_FORWARDED] = account.forwarded,
						    [PATH_UNFINISHED] = account.unfinished};

	buf_add_format(text, "; %" PRIu64 " packets followed", account.packets);
	if (account.packets) {
		buf_add_text(text, ": ");
		summary_add_ends(ends, text);
	}
	if (account.merged)
		buf_add_format(text, ", %" PRIu64 " merged into others", account.merged);
	if (account.cut)
		buf_add_format(text, ", %" PRIu64 " more as pieces", account.cut);
	if (account.clamped)
		buf_add_format(text, "; %" PRIu64 " stages shortened to 0 by clocks that differ", account.clamped);
	if (account.sample > 1)
		buf_add_format(text, "; one flow in %u%s", account.sample, run->max_cpu > 0 ? " at the end" : "");
	if (run->before)
		buf_add_text(text, ", with few stages");
	if (!isnan(account.cpu))
		buf_add_format(text, "; cost %.1f %% of a processor%s", 100 * account.cpu,
			       account.cpu > run->max_cpu ? ", more than it may" : "");
}

/* A few are always under way when a run ends. Many that nobody shows are a finding of their own. */
static void tell_unfinished(const struct run *run)
{
	struct journey_account account = journey_source_account(run->source);

	if (account.unfinished * MANY_UNFINISHED > account.packets)
		log_warn("%" PRIu64 " of %" PRIu64
			 " packets did not come to their end while it ran: nobody reads their "
			 "socket (nest sockets --where 'recvq > 0'), the peer does not answer, or they were lost sight "
			 "of",
			 account.unfinished, account.packets);
}

/* The line that ends every run, and what it means for the exit code. */
static int report(struct run *run)
{
	_cleanup_buf_ struct buf more = BUF_INIT(1024);
	uint64_t allowed;

	(void)path_show_flush(&run->show);
	if (run->source) {
		tell_unfinished(run);
		add_account(run, &more);
	}
	log_info("%" PRIu64 " events, %" PRIu64 " lost%s", run->show.journeys, run->lost, buf_text(&more));
	if (!run->config->common.max_loss || parse_decimal(run->config->common.max_loss, 0, UINT64_MAX, &allowed) < 0)
		return EXIT_DONE;
	return run->lost > allowed ? EXIT_LOSS : EXIT_DONE;
}

static int run_live(struct run *run)
{
	int r = prepare(run);

	if (r == 0)
		r = open_store(run);
	if (r == 0)
		r = attach(run);
	if (r == 0)
		r = watch(run);
	if (run->source) {
		struct event_loss loss = journey_source_loss(run->source), before = {};

		if (run->before)
			before = journey_source_loss(run->before);
		event_loss_add(&loss, &before);
		run->lost = event_loss_total(&loss);
		run->show.followed = whole_account(run).packets;
	}
	return r;
}

static int close_store(struct run *run)
{
	struct why why = {};
	int r;

	if (!run->store)
		return 0;
	/* An error stays with the store: closing tells it. */
	if (run->lost)
		(void)!store_add_loss(run->store, journey_type.name, run->lost);
	r = store_close(run->store, &why);
	/* One that failed before has been told of. */
	if (r < 0 && run->show.kept == 0)
		log_error("path: %s", why.text);
	return r;
}

/* Everything is open; shows it and returns an exit code. */
static int carry_out(struct run *run)
{
	_cleanup_buf_ struct buf note = BUF_INIT(65536);
	const struct trace_options *common = &run->config->common;
	int r, code = EXIT_DONE, shown = 0, counted;

	run->show.narrowed = run->where.len || common->command.argc || common->children || common->cgroup ||
			     run->config->rx != run->config->tx;
	r = common->input.file ? run_recorded(run) : run_live(run);
	if (r < 0) {
		log_error("path: %s", run->why.text);
		code = common->input.file || common->save ? EXIT_IO : EXIT_CANNOT_OBSERVE;
		/* A heading without anything below it would look like an answer. */
		if (run->show.journeys == 0 && !run->begin_ns)
			path_show_drop(&run->show);
	}
	/* A recording that failed has not spoiled what was seen. */
	if (r == 0 || run->begin_ns) {
		add_note(run, &note);
		shown = path_show_end(&run->show, buf_text(&note), &run->why);
		if (shown < 0)
			log_error("path: %s", run->why.text);
		counted = report(run);
		code = code ?: counted;
	}
	if (close_store(run) < 0 || shown < 0)
		code = EXIT_IO;
	return code;
}

static int check_options(struct run *run)
{
	const struct trace_options *common = &run->config->common;
	struct shape shape = journey_event_shape();
	uint64_t number;
	uint32_t sample;
	double share;
	uint8_t set;
	int r = path_show_init(&run->show, run->config, &run->why);

	if (r == 0)
		r = check_where(run, &shape);
	if (r == 0)
		r = parse_max_cpu(run->config->max_cpu, &share, &run->why);
	if (r == 0)
		r = parse_sample(run->config->sample, &sample, &run->why);
	if (r == 0)
		r = parse_stages(run->config, sample, &set, &run->why);
	if (r == 0 && common->max_loss && parse_decimal(common->max_loss, 0, UINT64_MAX, &number) < 0)
		r = why_set(&run->why, -EINVAL, "--max-loss wants a whole number");
	return r;
}

/* Where everything goes; an exit code. */
static int open_outputs(struct run *run)
{
	int r = path_show_open(&run->show, &run->why);

	if (r == 0)
		return EXIT_DONE;
	/* Fields to show are the user's words, files are not. */
	log_error("path: %s%s", run->why.text, r == -EINVAL ? " (nest path --help)" : "");
	return r == -EINVAL ? EXIT_USAGE : EXIT_IO;
}

static int run_path(const void *data)
{
	struct run run = {.config = data,
			  .until = {.child = CHILD_INIT},
			  .where = BUF_INIT(65536),
			  .progress = isatty(STDERR_FILENO) == 1};
	int r = check_options(&run), code, written;

	run.progress = run.progress && !run.show.as_they_come;
	if (r < 0) {
		log_error("path: %s (nest path --help)", run.why.text);
		code = EXIT_USAGE;
	} else {
		code = open_outputs(&run);
		if (code == EXIT_DONE)
			code = carry_out(&run);
	}
	written = path_show_close(&run.show);
	journey_source_close(run.before);
	journey_source_close(run.source);
	if (code == EXIT_DONE)
		code = written < 0 ? output_exit_code(written) : run_until_exit_code(&run.until);
	run_until_done(&run.until);
	buf_done(&run.where);
	return code;
}

static const char *const examples[] = {
	"nest path -d 10",
	"ten seconds of this host: the slowest five packets stage by stage, and where the time went",
	"nest path --where 'rport == 443 and pid == 4711' --slowest 5",
	"the slowest journeys of one process's connections to port 443",
	"nest path --rx --hist --by comm -d 30",
	"for each program: how long packets that arrive spend at each stage, and which stage owns the tail",
	"nest path -i eth0 --html path.html --trace path.json -d 10",
	"a page to look at, and a trace for ui.perfetto.dev",
	"nest path --sample 1/64 --max-cpu 5% --save busy.nest",
	"on a busy host: one flow in 64, fewer when it costs more than a twentieth of a processor; nest path -f reads "
	"it",
	NULL,
};

static const struct command path_command = {
	.name = "path",
	.summary = "where inside this host packets spend their time",
	.description =
		"Follows packets from the interrupt to the application that reads them, and from the system call that "
		"sends them to the acknowledgement. Without options it runs until Ctrl-C or -d, then shows the slowest "
		"five journeys as waterfalls (one line a stage) and how the time at each stage is spread.\n\n"
		"The times of a journey's stages add up to the whole. A stage that could not be seen is listed as not "
		"visible, and its time is part of the stage after it; docs/path.md says what each stage means and "
		"where "
		"it is blind.\n\n"
		"As records (--json, --csv, --show) journeys come as they end, with --hist the figures of each stage, "
		"with "
		"--slowest the slowest ones at the end. nest explain path.rx lists what --where may name, waits at a "
		"stage among it: --where 'sched_ns > 1ms'.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct path_config),
	.run = run_path,
};
COMMAND(path_command);
