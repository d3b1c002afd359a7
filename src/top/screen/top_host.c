/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the screen asks of the run: commands, the clipboard, the recording, and when the diagnosis rests. */
#include <malloc.h>
#include <string.h>

#include "base/clock.h"
#include "snapshot/socket/socket.h"
#include "top/screen/top_run.h"

#define PLAY_MAX_NS    (40 * NSEC_PER_MSEC)   /* of one turn: keys come between */
#define FIRST_NS       (6100 * NSEC_PER_MSEC) /* what is seen first of a recording: after three windows */
#define PAGE_BEFORE_NS (5 * NSEC_PER_SEC)
#define PAGE_STEP_NS   (900 * NSEC_PER_MSEC)
#define BURST_NS       (5 * NSEC_PER_SEC) /* the diagnosis needs three windows */
#define SHARE_MAX      0.12               /* of a core that the diagnosis may take all the time */
#define SHARE_MANY     0.04 /* the same where there are many connections: the page costs something as well */
#define COSTLY_MIN     2    /* times in a row: loading programs at the beginning does not count */
#define SHARE_REST     0.02 /* and on average where it would take more */
#define MANY_SOCKETS   2000
#define REST_MAX_NS    (300 * NSEC_PER_SEC)

static int run_pane(void *context, struct pane *pane, struct why *why)
{
	struct top_run *top = context;

	return runner_start(&top->runner, pane, why);
}

static void stop_pane(void *context, struct pane *pane)
{
	struct top_run *top = context;

	runner_stop(&top->runner, pane);
}

static void copy(void *context, const char *text)
{
	struct top_run *top = context;

	terminal_copy(top->terminal, text);
}

static int save(void *context, const char *path, struct why *why)
{
	struct top_run *top = context;

	return keeping_copy(&top->keeping, top->run.store, path, why);
}

static void suspend(void *context)
{
	struct top_run *top = context;

	terminal_suspend(top->terminal);
}

/* --- recordings --- */

static void set_position(struct top_run *top)
{
	top->screen->status.speed = top->playback.speed;
	top->playback.tick_ns = 0;
}

static void step_to(struct top_run *top, uint64_t at_ns, uint64_t limit_ns)
{
	uint64_t begin_ns = clock_monotonic_ns();
	int r = 0;

	while (r == 0 && run_next_ns(&top->run) <= at_ns &&
	       (limit_ns == 0 || clock_monotonic_ns() - begin_ns < limit_ns))
		r = run_step(&top->run);
	if (r < 0)
		run_stop(&top->run, r);
}

void top_run_seek(struct top_run *top, uint64_t at_ns)
{
	uint64_t from_ns = at_ns > PLAYBACK_BEFORE_NS ? at_ns - PLAYBACK_BEFORE_NS : 0;
	struct screen *screen = top->screen;
	bool frozen = screen->frozen;
	int r;

	screen_restart(screen);
	run_diagnosis_restart(&top->diagnosis);
	r = run_snapshots_seek(&top->diagnosis.snapshots, from_ns);
	if (r == 0)
		r = run_restep(&top->run);
	if (r < 0) {
		run_stop(&top->run, r);
		return;
	}
	screen->frozen = false;
	top->shown_ns = 0;
	top->playback.at_ns = at_ns;
	top->seeking = true;
	step_to(top, at_ns, 0);
	top->seeking = false;
	screen->stale = false;
	screen->frozen = frozen;
	set_position(top);
}

/*
 * Rates and plots need the time before: it is read again, for the page alone. The run itself has read ahead, and its
 * diagnosis goes on as if nothing had happened.
 */
void top_run_open_recorded(struct top_run *top)
{
	struct time_range range = {.from_ns = top->shown_ns - PAGE_BEFORE_NS, .to_ns = top->shown_ns};
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_(replay_closep) struct replay *replay = NULL;
	struct run *run = &top->run;
	uint64_t shown_ns = 0;
	int r;

	top->screen->stale = false;
	if (!screen_shown(top->screen)->boards[0] || !top->shown_ns)
		return;
	if (screen_shown(top->screen)->plots)
		memset(screen_shown(top->screen)->plots, 0, TOP_PLOTS_MAX * sizeof(struct series));
	range.from_ns = max_of(range.from_ns, run->range.from_ns);
	r = replay_open(run->recording, &range, NULL, &replay, &run->why);
	while (r >= 0 && (r = replay_next(replay, snapshot, &run->why)) > 0)
		if (snapshot->begin_time_ns >= shown_ns + PAGE_STEP_NS || snapshot->begin_time_ns == range.to_ns) {
			shown_ns = snapshot->begin_time_ns;
			screen_refill(top->screen, snapshot);
		}
	if (r < 0)
		run_stop(run, r);
}

/* At the beginning there is a first screen to see, although nothing has moved yet. */
void top_run_play(struct top_run *top)
{
	struct playback *playback = &top->playback;
	uint64_t at_ns;

	if (!top->shown_ns) {
		top_run_seek(top, playback_clamp(playback, (int64_t)(playback->begin_ns + FIRST_NS)));
		top_run_redraw(top);
		return;
	}
	at_ns = playback_advance(playback, clock_monotonic_ns());
	if (playback->speed > 0)
		step_to(top, at_ns, PLAY_MAX_NS);
	if (playback->speed > 0 && at_ns >= playback->end_ns) {
		playback->speed = 0;
		set_position(top);
		screen_say(top->screen, "end of the recording");
		top_run_redraw(top);
	}
}

static void seek(void *context, int64_t by_ns)
{
	struct top_run *top = context;

	top_run_seek(top, playback_clamp(&top->playback, (int64_t)top->playback.at_ns + by_ns));
}

static int seek_to(void *context, const char *time, struct why *why)
{
	struct top_run *top = context;
	uint64_t at_ns;
	int r = input_parse_time(top->run.recording, time, &at_ns, why);

	if (r == 0)
		top_run_seek(top, playback_clamp(&top->playback, (int64_t)at_ns));
	return r;
}

static void faster(void *context, int direction)
{
	struct top_run *top = context;

	playback_faster(&top->playback, direction);
	set_position(top);
}

static void hold(void *context)
{
	struct top_run *top = context;

	top->playback.speed = top->playback.speed > 0 ? 0 : 1;
	set_position(top);
}

static bool next_finding(void *context, int direction)
{
	struct top_run *top = context;
	uint64_t at_ns = playback_next_finding(&top->playback, direction);

	/* The windows begin elsewhere than those of the recorder did: one later it is seen for sure. */
	if (at_ns)
		top_run_seek(top, playback_clamp(&top->playback, (int64_t)(at_ns + NSEC_PER_SEC)));
	return at_ns != 0;
}

struct screen_host top_run_host(struct top_run *top)
{
	bool recorded = top->options->live.input.file != NULL;
	struct screen_host host = {
		.context = top, .run = run_pane, .stop = stop_pane, .copy = copy, .suspend = suspend};

	if (top->keeping.file)
		host.save = save;
	if (recorded) {
		host.seek = seek;
		host.seek_to = seek_to;
		host.faster = faster;
		host.hold = hold;
		host.next_finding = next_finding;
	}
	return host;
}

/* --- what the diagnosis costs --- */

/*
 * It samples the whole stack five times per second. Where that costs much (many connections), it works for some
 * seconds and then rests, so that the screen stays cheap; the first line says how often.
 */
void top_run_budget(struct top_run *top)
{
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID), passed, rest;
	double share;

	cpu_ns += run_snapshots_cpu_ns(&top->look) + run_snapshots_cpu_ns(&top->diagnosis.snapshots);
	if (!top->burst_begin_ns) {
		top->burst_begin_ns = now_ns;
		top->burst_cpu_ns = cpu_ns;
		return;
	}
	passed = now_ns - top->burst_begin_ns;
	share = (double)(cpu_ns - top->burst_cpu_ns) / (double)passed;
	if (passed < BURST_NS / 2)
		return;
	top->burst_begin_ns = 0;
	top->costly = share > (top->thrifty ? SHARE_MANY : SHARE_MAX) ? top->costly + 1 : 0;
	if (top->costly < COSTLY_MIN)
		return;
	top->costly = 0;
	rest = (uint64_t)((double)BURST_NS * share / SHARE_REST);
	rest = min_of(rest, REST_MAX_NS);
	top->rests_until_ns = now_ns + rest;
	top->diagnosis.snapshots.paused = true;
	snprintf(top->note, sizeof(top->note), "every %llu s", (unsigned long long)((rest + BURST_NS) / NSEC_PER_SEC));
	top->screen->status.diagnosis = top->note;
}

void top_run_save_effort(struct top_run *top, const struct snapshot *snapshot)
{
	const struct snapshot_table *sockets = snapshot_table(snapshot, &socket_type);

	/* It waits for the first look at the host. */
	if (!top->rests_until_ns)
		top->diagnosis.snapshots.paused = false;
	if (top->thrifty || !sockets || sockets->count <= MANY_SOCKETS)
		return;
	top->thrifty = true;
	top->diagnosis.snapshots.request.active_only = true;
	top->diagnosis.snapshots.unsaved = !top->options->live.save;
	top->screen->host.save = NULL;
}

void top_run_wake(struct top_run *top)
{
	if (!top->rests_until_ns)
		return;
	/* It starts from nothing afterwards: most of the memory of the program is not kept for a rest of minutes. */
	if (!top->rests) {
		run_diagnosis_restart(&top->diagnosis);
		(void)malloc_trim(0);
		top->rests = true;
	}
	if (clock_monotonic_ns() < top->rests_until_ns)
		return;
	top->rests_until_ns = 0;
	top->rests = false;
	top->diagnosis.snapshots.paused = false;
}
