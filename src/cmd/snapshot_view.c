/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/loop.h"
#include "base/text.h"
#include "cmd/snapshot_view.h"

const struct option_spec look_option_table[] = {
	OPTION(struct look_options, netns, TEXT, "netns", 'N', "NETNS",
	       "look into this network namespace: a name, a path, a process id, or all"),
	OPTION(struct look_options, no_bpf, FLAG, "no-bpf", 0, NULL,
	       "do not load BPF programs: /proc and netlink alone"),
	OPTION(struct look_options, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop looking again after this time"),
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

/* Once each: a gap that repeats at every look says nothing new. */
static void tell_gaps(const struct snapshot *snapshot)
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

/* 0, or the exit code that ends the command. */
static int look_once(struct run *run)
{
	struct why why = {};
	int r = snapshot_take(run->snapshot, &run->request, &why);

	if (r < 0) {
		log_error("%s: %s", run->look->command, why.text[0] ? why.text : strerror(-r));
		return EXIT_CANNOT_OBSERVE;
	}
	if (run->done++ == 0)
		tell_gaps(run->snapshot);
	run->shown += run->look->show(run->snapshot, run->output, run->look->context);
	run->lost += snapshot_refused(run->snapshot);
	/* A reader that has gone is told at the end; looking on for nobody is pointless. */
	if (output_flush(run->output) < 0)
		return -1;
	return 0;
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

	(void)signal_number;
	loop_stop(run->loop, 0);
}

static int look_often(struct run *run)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	int r = loop_new(&loop);

	run->loop = loop;
	if (r == 0)
		r = loop_add_signal(loop, SIGINT, on_signal, run);
	if (r == 0)
		r = loop_add_signal(loop, SIGTERM, on_signal, run);
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

int look_run(const struct look *look)
{
	_cleanup_netns_ struct netns_list namespaces = {};
	_cleanup_snapshot_ struct snapshot *snapshot = NULL;
	struct run run = {.look = look};
	struct why why = {};
	int r, code;

	r = netns_find(look->options->netns, &namespaces, &why);
	if (r < 0) {
		log_error("%s: %s", look->command, why.text);
		return r == -ENOENT || r == -EINVAL ? EXIT_USAGE : EXIT_CANNOT_OBSERVE;
	}
	r = output_open(look->output, look->shape, &run.output, &why);
	if (r < 0) {
		log_error("%s: %s", look->command, why.text);
		return r == -EINVAL ? EXIT_USAGE : EXIT_IO;
	}
	snapshot = snapshot_new();
	run.snapshot = snapshot;
	run.request = (struct snapshot_request){
		.namespaces = &namespaces,
		.types = look->types,
		.no_bpf = look->options->no_bpf,
		.repeated = look->interval_ns > 0,
	};
	code = look->interval_ns ? look_often(&run) : look_once(&run);
	r = output_exit_code(output_close(run.output));
	log_info("%llu events, %llu lost", (unsigned long long)run.shown, (unsigned long long)run.lost);
	return code > 0 ? code : r;
}

uint64_t look_show_table(const struct snapshot *snapshot, const struct record_type *type, struct output *output)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);
	uint64_t shown = 0;

	for (size_t i = 0; i < table->count; i++)
		shown += output_record(output, &RECORD_OF(table->items + i * type->size));
	return shown;
}
