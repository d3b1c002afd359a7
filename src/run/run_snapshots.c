/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include "run/run_snapshots.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "base/text.h"
#include "kernel/layout.h"
#include "snapshot/netlink/containers.h"
#include "snapshot/socket/time_wait.h"

/* Time without a sample that is a loss. */
#define GAP_NS NSEC_PER_SEC
/* Samples this far apart are committed one by one. */
#define COMMIT_NS (500 * NSEC_PER_MSEC)

/* The scout that found containers, for the process that samples; NULL: there are none. */
static struct snapshot *find_containers(struct run_snapshots *snapshots)
{
	_cleanup_snapshot_ struct snapshot *scout = NULL;

	if (!snapshots->containers || (snapshots->netns && *snapshots->netns))
		return NULL;
	scout = snapshot_new();
	containers_add(scout, &snapshots->namespaces);
	return snapshots->namespaces.items.count > 1 ? take_ptr(scout) : NULL;
}

static int prepare(struct run_source *source, struct run *run)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;
	_cleanup_snapshot_ struct snapshot *scout = NULL;
	int r;

	snapshots->request.namespaces = &snapshots->namespaces;
	if (run->options.input.file)
		return 0;
	r = netns_find(snapshots->netns, &snapshots->namespaces, &run->why);
	if (r == 0 && snapshots->dev)
		r = netns_check_interface(&snapshots->namespaces, snapshots->dev, &run->why);
	if (r == 0)
		scout = find_containers(snapshots);
	/* Programs are loaded by the process that samples, and looked up by this one for advice. */
	if (r == 0 && !run->options.once && snapshots->request.repeated && !snapshots->request.no_bpf)
		layout_prepare();
	/* A single one is taken here, before everything is given up. */
	if (r == 0 && !run->options.once)
		r = sampler_start(&snapshots->sampler, &snapshots->namespaces, snapshots->netns, scout, &run->why);
	return r;
}

static int give(struct run_source *source, struct run *run)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;
	int r = run->store && !snapshots->unsaved ? run_stored(run, store_add_snapshot(run->store, snapshots->snapshot))
						  : 0;

	/* A batch of samples that are far apart would be lost for too long. */
	if (r == 0 && run->store && snapshots->snapshot->pace_ns >= COMMIT_NS)
		r = run_stored(run, store_commit(run->store));
	if (r < 0)
		return r;
	snapshots->lost += snapshot_refused(snapshots->snapshot);
	run_hand_out(run, source, snapshots->snapshot);
	return 0;
}

/* What the process that samples does not know. */
static void complete(const struct run_snapshots *snapshots)
{
	const struct snapshot_request *request = &snapshots->request;

	snapshots->snapshot->pace_ns = snapshots->pace_ns;
	for (size_t i = 0; snapshots->sampler && i < request->left_out_count; i++)
		snapshot_gap(snapshots->snapshot, request->left_out[i].lost, "%s", request->left_out[i].why);
	if (snapshots->no_time_wait)
		snapshot_drop_time_wait(snapshots->snapshot);
}

static bool take_refresh(struct run_snapshots *snapshots)
{
	bool refresh = snapshots->refresh;

	snapshots->refresh = false;
	return refresh;
}

int run_snapshots_take(struct run_snapshots *snapshots, const struct snapshot_request *request,
		       struct snapshot *snapshot, struct why *why)
{
	struct snapshot_request here = *request;
	int r;

	here.namespaces = &snapshots->namespaces;
	if (!snapshots->sampler)
		return snapshot_take(snapshot, &here, why);
	r = sampler_ask(snapshots->sampler, request, take_refresh(snapshots), why);
	return r == 0 ? sampler_take(snapshots->sampler, snapshot, why) : r;
}

uint64_t run_snapshots_cpu_ns(const struct run_snapshots *snapshots)
{
	return snapshots->sampler ? sampler_cpu_ns(snapshots->sampler) : 0;
}

/* Nobody saw what came and went meanwhile: from a second on, that is a loss. */
static int note_skipped(struct run_snapshots *snapshots, uint64_t skipped)
{
	struct run *run = snapshots->run;
	uint64_t gap_ns = skipped * snapshots->pace_ns;

	snapshots->known_ns = clock_ns(CLOCK_BOOTTIME);
	snapshots->skipped += skipped;
	if (gap_ns < GAP_NS)
		return 0;
	snapshots->lost += skipped;
	snapshots->gaps_ns += gap_ns;
	return run->store ? run_stored(run, store_add_loss(run->store, "sample", skipped)) : 0;
}

static int ask(struct run_snapshots *snapshots)
{
	return sampler_ask(snapshots->sampler, &snapshots->request, take_refresh(snapshots), &snapshots->run->why);
}

/* The sample that was asked for, for the sinks. */
static int receive(struct run_snapshots *snapshots)
{
	int r = sampler_take(snapshots->sampler, snapshots->snapshot, &snapshots->run->why);

	snapshots->taken++;
	snapshots->known_ns = clock_ns(CLOCK_BOOTTIME);
	if (r < 0)
		return r;
	complete(snapshots);
	return give(&snapshots->source, snapshots->run);
}

static int ask_when_due(struct run_snapshots *snapshots, uint64_t skipped)
{
	int r = snapshots->taken ? note_skipped(snapshots, skipped) : 0;

	return r == 0 ? ask(snapshots) : r;
}

static void on_timer(void *context, uint64_t expirations)
{
	struct run_snapshots *snapshots = context;
	int r = 0;

	if (snapshots->paused)
		return;
	if (sampler_is_asked(snapshots->sampler))
		snapshots->missed += expirations;
	else
		r = ask_when_due(snapshots, expirations - 1);
	if (r < 0)
		run_stop(snapshots->run, r);
}

/* One that took longer than the pace is followed by the next at once. */
static void on_sample(void *context, uint32_t events _unused_)
{
	struct run_snapshots *snapshots = context;
	bool first = snapshots->taken == 0;
	uint64_t missed;
	int r = receive(snapshots);

	missed = snapshots->missed;
	snapshots->missed = 0;
	/* The first one loads the BPF programs: the samples that are due meanwhile are no loss. */
	if (r == 0 && missed && !snapshots->paused && !snapshots->run->stopped)
		r = ask_when_due(snapshots, first ? 0 : missed - 1);
	if (r < 0)
		run_stop(snapshots->run, r);
}

void run_snapshots_now(struct run_snapshots *snapshots)
{
	int r = sampler_is_asked(snapshots->sampler) ? receive(snapshots) : 0;

	if (r == 0)
		r = ask(snapshots);
	if (r == 0)
		r = receive(snapshots);
	if (r < 0)
		run_stop(snapshots->run, r);
}

void run_snapshots_set_pace(struct run_snapshots *snapshots, uint64_t pace_ns)
{
	struct run *run = snapshots->run;
	int r;

	if (pace_ns == snapshots->pace_ns || !snapshots->timer)
		return;
	snapshots->pace_ns = pace_ns;
	loop_remove(run->loop, take_ptr(snapshots->timer));
	r = loop_add_timer(run->loop, pace_ns, pace_ns, on_timer, snapshots, &snapshots->timer);
	if (r < 0)
		run_stop(run, why_set(&run->why, r, "cannot sample again: %s", strerror(-r)));
}

int run_snapshots_seek(struct run_snapshots *snapshots, uint64_t from_ns)
{
	struct run *run = snapshots->run;
	struct time_range range = {.from_ns = max_of(from_ns, run->range.from_ns), .to_ns = run->range.to_ns};
	struct replay *replay;
	int r = replay_open(run->recording, &range, snapshots->request.types, &replay, &run->why);

	if (r < 0)
		return r;
	replay_close(snapshots->replay);
	snapshots->replay = replay;
	snapshots->due_ns = 0;
	return 0;
}

static int open_live(struct run_source *source, struct run *run)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;
	int r;

	if (!snapshots->sampler)
		return 0;
	r = loop_add_timer(run->loop, 0, snapshots->pace_ns, on_timer, snapshots, &snapshots->timer);
	if (r == 0)
		r = loop_add_fd(run->loop, sampler_fd(snapshots->sampler), EPOLLIN, on_sample, snapshots, NULL);
	run_needs(run, MAY_ASK, 0);
	return r < 0 ? why_set(&run->why, r, "cannot sample again: %s", strerror(-r)) : 0;
}

static int open_recorded(struct run_source *source, struct run *run)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;
	int r = recording_check_interface(run->recording, snapshots->dev, &run->why);

	if (r == 0)
		r = replay_open(run->recording, &run->range, snapshots->request.types, &snapshots->replay, &run->why);
	if (r == 0 && run->options.once && replay_samples(snapshots->replay) == 0)
		return why_set(&run->why, -ENODATA, "no sample in that time range");
	return r;
}

/* Of a recording: the first one after --from, or else the last one. */
static int next_single(struct run_snapshots *snapshots, struct run *run)
{
	uint64_t skip = run->options.input.from ? 0 : replay_samples(snapshots->replay) - 1;
	int r = 1;

	for (uint64_t i = 0; r > 0 && i <= skip; i++)
		r = replay_next(snapshots->replay, snapshots->snapshot, &run->why);
	return r;
}

/* Tolerates a tenth of the interval: timers are not exact. */
static int next_apart(struct run_snapshots *snapshots, struct run *run)
{
	int r;

	while ((r = replay_next(snapshots->replay, snapshots->snapshot, &run->why)) > 0)
		if (snapshots->snapshot->begin_boot_ns >= snapshots->due_ns)
			break;
	snapshots->due_ns = snapshots->snapshot->begin_boot_ns + snapshots->apart_ns - snapshots->apart_ns / 10;
	return r;
}

static int take_single(struct run_snapshots *snapshots, struct run *run)
{
	int r = snapshot_take(snapshots->snapshot, &snapshots->request, &run->why);

	if (r == 0)
		complete(snapshots);
	return r;
}

static int next(struct run_source *source, struct run *run, uint64_t *ret_ns)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;
	int r;

	if (run->options.once && snapshots->due_ns)
		return 0;
	if (!snapshots->replay)
		r = take_single(snapshots, run) ?: 1;
	else if (run->options.once)
		r = next_single(snapshots, run);
	else
		r = next_apart(snapshots, run);
	if (run->options.once)
		snapshots->due_ns = UINT64_MAX;
	*ret_ns = snapshots->snapshot->begin_time_ns;
	return r;
}

/* The samples that did not come before the end. */
static int finish(struct run_source *source, struct run *run _unused_)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;

	if (!snapshots->taken || snapshots->paused || !snapshots->pace_ns)
		return 0;
	return note_skipped(snapshots, (clock_ns(CLOCK_BOOTTIME) - snapshots->known_ns) / snapshots->pace_ns);
}

static void account(struct run_source *source, struct run *run _unused_, struct run_account *account)
{
	const struct run_snapshots *snapshots = (struct run_snapshots *)source;

	account->lost += snapshots->lost + (snapshots->replay ? replay_refused(snapshots->replay) : 0);
	if (snapshots->gaps_ns)
		buf_add_format(&account->more, "%s%llu sample%s skipped, no sample for %.1f s",
			       account->more.len ? "; " : "", (unsigned long long)snapshots->skipped,
			       text_plural(snapshots->skipped), (double)snapshots->gaps_ns / NSEC_PER_SEC);
}

static void close_snapshots(struct run_source *source)
{
	struct run_snapshots *snapshots = (struct run_snapshots *)source;

	sampler_stop(snapshots->sampler);
	replay_close(snapshots->replay);
	snapshot_free(snapshots->snapshot);
	netns_list_done(&snapshots->namespaces);
}

static const struct run_source_ops snapshots_ops = {
	.prepare = prepare,
	.open = open_live,
	.open_recorded = open_recorded,
	.next = next,
	.give = give,
	.finish = finish,
	.account = account,
	.close = close_snapshots,
};

void run_snapshots_init(struct run_snapshots *snapshots, struct run *run, const char *netns)
{
	*snapshots = (struct run_snapshots){
		.source = {.ops = &snapshots_ops}, .run = run, .netns = netns, .snapshot = snapshot_new()};
	run_add_source(run, &snapshots->source);
}

void run_snapshots_refresh(struct run_snapshots *snapshots)
{
	snapshots->refresh = true;
}

bool run_snapshots_match(const char *wanted, const struct netns_record *netns)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", netns->netns);
	return !wanted || strcmp(wanted, "all") == 0 || strcmp(wanted, number) == 0 ||
	       strncmp(wanted, netns->name, sizeof(netns->name)) == 0;
}

void run_snapshots_warn_gaps(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, gap_type, const struct gap_record, gap) {
		_cleanup_buf_ struct buf text = BUF_INIT(4096);

		buf_add_text(&text, "not seen: ");
		text_add_terminal(&text, gap->lost, strlen(gap->lost));
		buf_add_text(&text, " (");
		text_add_terminal(&text, gap->source, strlen(gap->source));
		buf_add_text(&text, ": ");
		text_add_terminal(&text, gap->why, strlen(gap->why));
		log_warn("%s)", buf_text(&text));
	}
}
