/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/loop.h"
#include "base/text.h"
#include "run/snapshot_view.h"

const struct option_spec look_option_table[] = {
	NETNS_OPTION(struct look_options, netns),
	OPTION(struct look_options, no_bpf, FLAG, "no-bpf", 0, NULL,
	       "do not load BPF programs: /proc and netlink alone"),
	OPTION(struct look_options, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop looking again after this time"),
	OPTION_GROUP(struct look_options, input, input_option_table),
	OPTION_END,
};

struct run {
	const struct look *look;
	struct snapshot *snapshot;
	struct snapshot_request request;
	struct output *output;
	struct loop *loop;
	uint64_t done; /* looks */
	uint64_t shown;
	uint64_t lost;
};

void snapshot_tell_gaps(const struct snapshot *snapshot)
{
	snapshot_each(snapshot, gap_type, const struct gap_record, gap) {
		_cleanup_buf_ struct buf text = BUF_INIT(4096);

		text_add_terminal(&text, gap->source, strlen(gap->source));
		buf_add_text(&text, ": ");
		text_add_terminal(&text, gap->why, strlen(gap->why));
		buf_add_text(&text, "; not known: ");
		text_add_terminal(&text, gap->lost, strlen(gap->lost));
		log_warn("%s", buf_text(&text));
	}
}

/* 0, or -1 when there is nobody to show it to. */
static int show_snapshot(struct run *run)
{
	if (run->done++ == 0)
		snapshot_tell_gaps(run->snapshot);
	run->shown += run->look->show(run->snapshot, run->output, run->look->context);
	run->lost += snapshot_refused(run->snapshot);
	/* A reader that has gone is told at the end; looking on for nobody is pointless. */
	return output_flush(run->output) < 0 ? -1 : 0;
}

/* 0, or the exit code that ends the command. */
static int look_once(struct run *run)
{
	struct why why = {};
	int r = snapshot_take(run->snapshot, &run->request, &why);

	if (r < 0) {
		log_error("%s: %s", run->look->command, why.text[0] ? why.text : strerror(-r));
		return EXIT_CANNOT_OBSERVE;
	}
	return show_snapshot(run);
}

static void on_timer(void *context, uint64_t expirations)
{
	struct run *run = context;
	int code = look_once(run);

	(void)expirations;
	if (code != 0 || (run->look->count && run->done >= run->look->count))
		loop_stop(run->loop, code > 0 ? code : 0);
}

static void on_end(void *context, uint64_t expirations)
{
	struct run *run = context;

	(void)expirations;
	loop_stop(run->loop, 0);
}

static void on_signal(void *context, int signal_number)
{
	struct run *run = context;

	loop_stop(run->loop, signal_number == SIGHUP ? EXIT_SIGNAL + SIGHUP : 0);
}

static int look_often(struct run *run)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	int r = loop_new(&loop);

	run->loop = loop;
	if (r == 0)
		r = loop_add_end_signals(loop, on_signal, run);
	if (r == 0)
		r = loop_add_timer(loop, 0, run->look->interval_ns, on_timer, run, NULL);
	if (r == 0 && run->look->options->duration_ns)
		r = loop_add_timer(loop, run->look->options->duration_ns, 0, on_end, run, NULL);
	if (r == 0)
		r = loop_run(loop);
	if (r < 0) {
		log_error("%s: %s", run->look->command, strerror(-r));
		return EXIT_IO;
	}
	return r;
}

static int open_output(struct run *run)
{
	const struct look *look = run->look;
	struct why why = {};
	int r = output_open_columns(look->output, look->shape, look->columns, &run->output, &why);

	if (r < 0)
		log_error("%s: %s", look->command, why.text);
	return r < 0 ? (r == -EINVAL ? EXIT_USAGE : EXIT_IO) : EXIT_DONE;
}

static int look_live(struct run *run)
{
	const struct look *look = run->look;
	_cleanup_netns_ struct netns_list namespaces = {};
	struct why why = {};
	int r = netns_find(look->options->netns, &namespaces, &why);

	if (r == 0 && look->dev)
		r = netns_check_interface(&namespaces, look->dev, &why);
	if (r < 0) {
		log_error("%s: %s", look->command, why.text);
		return r == -ENOENT || r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT_OBSERVE;
	}
	r = open_output(run);
	if (r != EXIT_DONE)
		return r;
	run->request = (struct snapshot_request){
		.namespaces = &namespaces,
		.types = look->fewer_types && !output_uses(run->output, look->shape, look->fewer_part)
				 ? look->fewer_types
				 : look->types,
		.no_bpf = look->options->no_bpf,
		.repeated = look->interval_ns > 0,
	};
	return look->interval_ns ? look_often(run) : look_once(run);
}

/* Samples that are at least an interval apart. A tenth of it is forgiven: timers are not exact. */
static int replay_often(struct run *run, struct replay *replay, struct why *why)
{
	const struct look *look = run->look;
	uint64_t begin_ns = 0, next_ns = 0;
	int r, ended = 0;

	while (!ended && (r = replay_next(replay, run->snapshot, why)) > 0) {
		uint64_t now_ns = run->snapshot->begin_boot_ns;

		if (now_ns < next_ns)
			continue;
		if (begin_ns == 0)
			begin_ns = now_ns;
		if (look->options->duration_ns && now_ns - begin_ns > look->options->duration_ns)
			break;
		next_ns = now_ns + look->interval_ns - look->interval_ns / 10;
		ended = show_snapshot(run) < 0 || (look->count && run->done >= look->count);
	}
	return ended ? 0 : r;
}

static int replay_once(struct run *run, struct replay *replay, struct why *why)
{
	uint64_t skip = run->look->options->input.from ? 0 : replay_samples(replay) - 1;
	int r = 0;

	if (replay_samples(replay) == 0)
		return why_set(why, -ENODATA, "there is no sample in that time");
	for (uint64_t i = 0; i <= skip; i++) {
		r = replay_next(replay, run->snapshot, why);
		if (r <= 0)
			return r;
	}
	(void)show_snapshot(run);
	return 0;
}

static int look_recorded(struct run *run)
{
	_cleanup_(recording_closep) struct recording *recording = NULL;
	_cleanup_(replay_closep) struct replay *replay = NULL;
	const struct look *look = run->look;
	struct time_range range;
	struct why why = {};
	int r = input_open(&look->options->input, &recording, &range, &why);

	if (r == 0)
		r = replay_open(recording, &range, look->types, &replay, &why);
	if (r == 0 && open_output(run) != EXIT_DONE)
		return EXIT_USAGE;
	if (r == 0)
		r = look->interval_ns ? replay_often(run, replay, &why) : replay_once(run, replay, &why);
	if (replay)
		run->lost += replay_refused(replay);
	if (r < 0) {
		log_error("%s: %s", look->command, why.text);
		return EXIT_IO;
	}
	return EXIT_DONE;
}

int look_run(const struct look *look)
{
	_cleanup_snapshot_ struct snapshot *snapshot = NULL;
	struct run run = {.look = look};
	int r, code;

	snapshot = snapshot_new();
	run.snapshot = snapshot;
	code = look->options->input.file ? look_recorded(&run) : look_live(&run);
	r = run.output ? output_exit_code(output_close(run.output)) : EXIT_DONE;
	/* What could not even begin has nothing to count. */
	if (run.done > 0)
		log_info("%llu events, %llu lost", (unsigned long long)run.shown, (unsigned long long)run.lost);
	return code > 0 ? code : r;
}

static bool make_record(const void *context, size_t number, void *room, struct record *record)
{
	const struct snapshot_table *table = context;

	(void)room;
	*record = RECORD_OF(table->items + number * table->type->size);
	return true;
}

uint64_t look_show_table(const struct snapshot *snapshot, const struct record_type *type, struct output *output)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);

	return output_batch(output,
			    &(struct output_batch){.count = table->count, .make = make_record, .context = table});
}
