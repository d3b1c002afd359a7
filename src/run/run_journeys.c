/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_journeys.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"
#include "kernel/capability.h"
#include "path/journey/journey_event.h"
#include "path/sum/summary.h"
#include "record/expr.h"
#include "run/live_words.h"
#include "tool/core/cgroups.h"

/* Interval of the progress line. */
#define PROGRESS_NS (NSEC_PER_SEC / 2)
#define ERASE_LINE  "\r\033[K"
/* Warn if more than one packet in N did not reach its end. */
#define MANY_UNFINISHED 20

/* --- what is asked for -------------------------------------------------------------------------------------------- */

/* 1/64, or 64. */
static int parse_sample(const char *text, uint32_t *ret_sample, struct why *why)
{
	uint64_t number = 1;

	if (text && parse_decimal(strncmp(text, "1/", 2) == 0 ? text + 2 : text, 1, UINT32_MAX, &number) < 0)
		return why_set(why, -EINVAL, "--sample needs 1/N: one flow in N");
	*ret_sample = (uint32_t)number;
	return 0;
}

/* 5%, 0.05, 150%; a bare 5 would mean five CPUs, hardly ever what is meant. */
static int parse_max_cpu(const char *text, double *ret_share, struct why *why)
{
	double share = 0;

	if (text && (parse_ratio(text, &share) < 0 || !(share > 0) || (share >= 1 && !strchr(text, '%'))))
		return why_set(why, -EINVAL, "--max-cpu needs a share of a CPU such as 5%% or 0.05");
	*ret_share = share;
	return 0;
}

/* Few hooks where few flows are followed, unless --stages says otherwise. */
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
		return why_set(why, -EINVAL, "--stages needs few, some or all");
	if (set != EVENT_SET_ALL && config->returns)
		return why_set(why, -EINVAL, "--return needs --stages all");
	*ret_set = set;
	return 0;
}

static bool is_of_some(const struct path_config *config)
{
	return config->common.children || config->common.command.argc;
}

static int parse_options(struct run_journeys *journeys, struct why *why)
{
	const struct path_config *config = journeys->config;
	struct journey_source_options *wanted = &journeys->wanted;
	int r = parse_max_cpu(config->max_cpu, &wanted->max_cpu, why);

	if (r == 0)
		r = parse_sample(config->sample, &wanted->sample, why);
	if (r == 0)
		r = parse_stages(config, wanted->sample, &wanted->set, why);
	wanted->least = wanted->sample;
	return r;
}

static int make_where(struct run_journeys *journeys)
{
	const struct path_config *config = journeys->config;
	int r = trace_options_where(&config->common, event_find("path.rx"), &journeys->where, &journeys->run->why);

	if (r == 0 && config->common.output.where)
		trace_where_add(&journeys->where, "%s", config->common.output.where);
	/* Of a recording both are there. */
	if (r == 0 && config->common.input.file && config->rx != config->tx)
		trace_where_add(&journeys->where, "dir == %s", config->rx ? "rx" : "tx");
	return r;
}

/* The user's filter first, so that errors quote it as written. */
static int check_where(struct run_journeys *journeys, const struct shape *shape)
{
	_cleanup_(expr_freep) struct expr *own = NULL;
	const char *where = journeys->config->common.output.where;
	struct why why = {};
	int r;

	if (where && strcmp(where, "help") == 0)
		return output_help(shape, &journeys->run->why);
	if (where && expr_parse(where, shape, &own, &why) < 0)
		return why_set(&journeys->run->why, -EINVAL, "--where: %s", why.text);
	r = make_where(journeys);
	return r == 0 && journeys->where.len
		       ? expr_parse(buf_text(&journeys->where), shape, &journeys->filter, &journeys->run->why)
		       : r;
}

/* All errors are usage errors. */
static int prepare(struct run_source *source, struct run *run)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	struct shape shape = journey_event_shape();
	int r = check_where(journeys, &shape);

	if (r == -ECANCELED)
		return r;
	return r < 0 || parse_options(journeys, &run->why) < 0 ? -EINVAL : 0;
}

/* --- the kernel --------------------------------------------------------------------------------------------------- */

static void hand_journey(void *context, const struct journey *journey)
{
	struct run_journeys *journeys = context;

	journeys->handed_out++;
	/* An error stays with the recording, and ends the run. */
	if (journeys->run->store)
		(void)!journey_keep(&journeys->keeper, journey);
	run_hand_out(journeys->run, &journeys->source, journey);
}

static void on_progress(void *context, uint64_t expirations _unused_)
{
	const struct run_journeys *journeys = context;
	struct journey_account account = journey_source_account(journeys->live);
	uint64_t seconds = (clock_monotonic_ns() - journeys->begin_ns) / NSEC_PER_SEC;

	fprintf(stderr, ERASE_LINE "%" PRIu64 " s: %" PRIu64 " journey%s", seconds, journeys->handed_out,
		text_plural(journeys->handed_out));
	if (account.sample > 1)
		fprintf(stderr, ", one flow in %u", account.sample);
	fputs("; Ctrl-C shows them", stderr);
}

static int follow_one(void *live, uint32_t pid)
{
	return journey_source_follow(live, pid);
}

static void warn_missing(const char *what, const char *reason)
{
	log_warn("%s: %s", what, reason);
}

/* Stages not traced in this run, grouped by reason. */
static void warn_hidden_stages(const struct run_journeys *journeys)
{
	const char *reasons[PATH_STAGES] = {};

	if (journey_source_set(journeys->live) != EVENT_SET_ALL)
		log_warn("sent datagrams and forwarded packets are not followed, to keep the overhead low: --stages "
			 "all follows them");
	journey_source_each_missing(journeys->live, warn_missing);
	for (unsigned i = 1; i < PATH_STAGES; i++)
		reasons[i] = journey_source_hidden_reason(journeys->live, (enum path_stage)i);
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

static int start(struct run_journeys *journeys)
{
	struct run *run = journeys->run;

	return journey_source_start(journeys->live, run->loop, hand_journey, journeys, &run->why);
}

/* The same with few hooks, from now on. Journeys in progress are unfinished. */
static int take_few_stages(struct run_journeys *journeys, uint32_t sample)
{
	_cleanup_(journey_source_closep) struct journey_source *fewer = NULL;
	struct journey_source_options wanted = journeys->wanted;
	int r;

	wanted.set = EVENT_SET_FEW;
	wanted.sample = sample;
	r = journey_source_open(&wanted, &fewer, &journeys->run->why);
	/* Of datagrams that leave, few hooks see nothing. */
	if (r == 0 && journey_source_set(fewer) == EVENT_SET_ALL)
		r = -ENOTSUP;
	if (r < 0)
		return r;
	r = journey_source_finish(journeys->live, &journeys->run->why);
	live_warn_hidden(journey_source_live(journeys->live));
	journeys->before = journeys->live;
	journeys->live = take_ptr(fewer);
	return r < 0 ? r : start(journeys);
}

/* Following fewer flows no longer helps, since all packets pass the hooks: use fewer hooks, unless --stages all. */
static void on_cost(void *context, uint64_t expirations _unused_)
{
	struct run_journeys *journeys = context;
	const struct path_config *config = journeys->config;
	struct journey_account account = journey_source_account(journeys->live);
	int r;

	if (journeys->cost_reported || !journey_source_costs_too_much(journeys->live))
		return;
	journeys->cost_reported = true;
	if (config->stages || config->returns || is_of_some(config) ||
	    journey_source_set(journeys->live) != EVENT_SET_ALL) {
		log_warn("tracing costs %.1f %% of a CPU although hardly any flow is followed: all packets pass the "
			 "hooks",
			 100 * account.cpu);
		return;
	}
	log_warn("tracing costs %.1f %% of a CPU although hardly any flow is followed: few stages from now on",
		 100 * account.cpu);
	r = take_few_stages(journeys, account.sample);
	if (r == 0)
		warn_hidden_stages(journeys);
	else if (journeys->before)
		run_stop(journeys->run, r);
	else
		log_warn("cannot switch to few stages: tracing all of them");
}

static int open_live(struct run_source *source, struct run *run)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	const struct path_config *config = journeys->config;
	struct journey_source_options *wanted = &journeys->wanted;
	int r = config->common.cgroup ? cgroups_find_directory(config->common.cgroup, &journeys->cgroup, &run->why) : 0;

	wanted->where = journeys->where.len ? buf_text(&journeys->where) : NULL;
	wanted->rx = config->rx;
	wanted->tx = config->tx;
	wanted->by_tree = is_of_some(config);
	wanted->returns = config->returns;
	wanted->buffer_bytes = config->common.buffer_bytes;
	wanted->cgroup = journeys->cgroup;
	wanted->late_refused = live_warn_refused;
	if (r == 0 && run->store)
		r = run_stored(run, journey_keeper_open(&journeys->keeper, run->store));
	if (r == 0)
		r = journey_source_open(wanted, &journeys->live, &run->why);
	if (r == 0)
		r = run_follow(run, follow_one, journeys->live);
	if (r == 0)
		r = start(journeys);
	if (r < 0)
		return r;
	warn_hidden_stages(journeys);
	/* Hooks are attached when the first packet needs them, and others loaded when these cost too much. */
	run_needs(run, MAY_OBSERVE,
		  CAP_BIT(CAP_BPF) | CAP_BIT(CAP_PERFMON) | CAP_BIT(CAP_NET_ADMIN) | CAP_BIT(CAP_SYS_ADMIN));
	journeys->begin_ns = clock_monotonic_ns();
	if (journeys->progress)
		r = loop_add_timer(run->loop, PROGRESS_NS, PROGRESS_NS, on_progress, journeys, NULL);
	if (r == 0 && wanted->max_cpu > 0)
		r = loop_add_timer(run->loop, NSEC_PER_SEC, NSEC_PER_SEC, on_cost, journeys, NULL);
	return r < 0 ? why_set(&run->why, r, "cannot begin: %s", strerror(-r)) : 0;
}

/* Now, or when it was recorded. */
static uint64_t count_lost(const struct run_journeys *journeys)
{
	struct event_loss loss = {}, before = {};

	if (journeys->replay)
		return journey_replay_lost(journeys->replay);
	if (journeys->live)
		loss = journey_source_loss(journeys->live);
	if (journeys->before)
		before = journey_source_loss(journeys->before);
	return event_loss_total(&loss) + event_loss_total(&before);
}

static int finish(struct run_source *source, struct run *run)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	uint64_t lost;
	int r;

	/* Messages of finishing start on a new line. */
	if (journeys->progress)
		fputs(ERASE_LINE, stderr);
	r = journey_source_finish(journeys->live, &run->why);
	live_warn_hidden(journey_source_live(journeys->live));
	lost = count_lost(journeys);
	if (run->store && lost)
		(void)!store_add_loss(run->store, journey_type.name, lost);
	return r;
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

static int open_recorded(struct run_source *source, struct run *run)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	int r = recording_check_interface(run->recording, journeys->config->common.iface, &run->why);

	return r < 0 ? r : journey_replay_open(run->recording, &run->range, &journeys->replay, &run->why);
}

static int next(struct run_source *source, struct run *run, uint64_t *ret_ns)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	int r = journey_replay_next(journeys->replay, &journeys->next, &run->why);

	*ret_ns = journeys->next.time_ns;
	return r;
}

static int give(struct run_source *source, struct run *run _unused_)
{
	struct run_journeys *journeys = (struct run_journeys *)source;
	struct journey_event event;

	journeys->recorded++;
	if (journeys->filter)
		journey_to_event(&journeys->next, &event);
	if (!journeys->filter || expr_matches(journeys->filter, &event.record))
		hand_journey(journeys, &journeys->next);
	return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static struct journey_account whole_account(const struct run_journeys *journeys)
{
	struct journey_account account = journey_source_account(journeys->live), before;

	if (!journeys->before)
		return account;
	before = journey_source_account(journeys->before);
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

static void add_account(const struct run_journeys *journeys, struct buf *text)
{
	struct journey_account account = whole_account(journeys);
	const uint64_t ends[PATH_UNFINISHED + 1] = {[PATH_DELIVERED] = account.delivered,
						    [PATH_DROPPED] = account.dropped,
						    [PATH_FORWARDED] = account.forwarded,
						    [PATH_UNFINISHED] = account.unfinished};

	buf_add_format(text, "%" PRIu64 " packet%s followed", account.packets, text_plural(account.packets));
	if (account.packets) {
		buf_add_text(text, ": ");
		summary_add_ends(ends, text);
	}
	if (account.merged)
		buf_add_format(text, ", %" PRIu64 " merged into others", account.merged);
	if (account.cut)
		buf_add_format(text, ", %" PRIu64 " more as segments", account.cut);
	if (account.clamped)
		buf_add_format(text, "; %" PRIu64 " stage%s cut to 0 (clock skew between CPUs)", account.clamped,
			       text_plural(account.clamped));
	if (account.sample > 1)
		buf_add_format(text, "; one flow in %u%s", account.sample,
			       journeys->wanted.max_cpu > 0 ? " at the end" : "");
	if (journeys->before)
		buf_add_text(text, ", with few stages");
	if (!isnan(account.cpu))
		buf_add_format(text, "; cost %.1f %% of a CPU%s", 100 * account.cpu,
			       account.cpu > journeys->wanted.max_cpu ? ", above --max-cpu" : "");
}

/* A few are always in progress when a run ends; many deserve a warning. */
static void warn_unfinished(const struct run_journeys *journeys)
{
	struct journey_account account = journey_source_account(journeys->live);

	if (account.unfinished * MANY_UNFINISHED > account.packets)
		log_warn("%" PRIu64 " of %" PRIu64 " packets did not reach their end: no reader (nest sockets --where "
			 "'recvq > 0'), no reply from the peer, or not traced any further",
			 account.unfinished, account.packets);
}

static void account_journeys(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	struct run_journeys *journeys = (struct run_journeys *)source;

	account->events += journeys->handed_out;
	account->lost += count_lost(journeys);
	if (!journeys->live)
		return;
	warn_unfinished(journeys);
	add_account(journeys, &account->more);
}

static void close_journeys(struct run_source *source)
{
	struct run_journeys *journeys = (struct run_journeys *)source;

	journey_source_close(journeys->before);
	journey_source_close(journeys->live);
	journey_replay_close(journeys->replay);
	expr_free(journeys->filter);
	free(journeys->cgroup);
	buf_done(&journeys->where);
}

static const struct run_source_ops journeys_ops = {
	.prepare = prepare,
	.open = open_live,
	.open_recorded = open_recorded,
	.next = next,
	.give = give,
	.finish = finish,
	.account = account_journeys,
	.close = close_journeys,
};

void run_journeys_init(struct run_journeys *journeys, struct run *run, const struct path_config *config)
{
	*journeys = (struct run_journeys){
		.source = {.ops = &journeys_ops}, .run = run, .config = config, .where = BUF_INIT(65536)};
	run_add_source(run, &journeys->source);
}

uint64_t run_journeys_followed(const struct run_journeys *journeys)
{
	return journeys->live ? whole_account(journeys).packets : journeys->recorded;
}

bool run_journeys_narrowed(const struct run_journeys *journeys)
{
	const struct path_config *config = journeys->config;

	return journeys->where.len || is_of_some(config) || config->common.cgroup || config->rx != config->tx;
}

void run_journeys_add_note(const struct run_journeys *journeys, struct buf *note)
{
	const struct path_config *config = journeys->config;
	uint32_t sample = journeys->live ? journey_source_account(journeys->live).sample : 1;
	uint64_t lost = count_lost(journeys);

	if (!config->common.input.file && config->rx != config->tx)
		buf_add_format(note, "; only packets that %s", config->rx ? "arrive" : "leave");
	if (journeys->where.len)
		buf_add_format(note, "; where %s", buf_text(&journeys->where));
	if (sample > 1)
		buf_add_format(note, "; one flow in %u", sample);
	if (lost)
		buf_add_format(note, "; %" PRIu64 " %s lost", lost, lost == 1 ? "was" : "were");
}
