/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/look.h"

#include <errno.h>

#include "snapshot/netlink/link.h"

const struct option_spec look_option_table[] = {
	NETNS_OPTION(struct look_options, netns),
	OPTION(struct look_options, no_bpf, FLAG, "no-bpf", 0, NULL,
	       "load no BPF programs: use /proc and netlink only"),
	OPTION(struct look_options, duration_ns, SECONDS, "duration", 'd', "SECONDS", "stop after this time"),
	OPTION_GROUP(struct look_options, input, input_option_table),
	OPTION(struct look_options, save, TEXT, "save", 0, "FILE", "also record to this file, for -f",
	       .file = FILE_WRITE),
	OPTION_GROUP(struct look_options, output, output_option_table),
	POSITIONAL(struct look_options, interval_ns, SECONDS, "INTERVAL", "print again every N seconds"),
	POSITIONAL(struct look_options, count, UINT, "COUNT", "stop after COUNT samples", .min = 1),
	OPTION_END,
};

/* The sink that shows each snapshot. */
struct look_table {
	struct run_sink sink;
	const struct look *look;
	struct run_snapshots snapshots;
	uint64_t done; /* looks */
};

static int prepare(struct run_sink *sink, struct run *run)
{
	struct look_table *table = (struct look_table *)sink;
	const struct look *look = table->look;
	int r = output_open_columns(&look->options->output, look->shape, look->columns, &sink->output, &run->why);

	if (r < 0)
		return r;
	/* The reader of a recording may want to see more. */
	if (look->fewer_types && !run->options.input.file && !run->options.save &&
	    !output_uses(sink->output, look->shape, look->fewer_part))
		table->snapshots.request.types = look->fewer_types;
	return 0;
}

static bool make_record(const void *context, size_t number, void *room, struct record *record)
{
	const struct snapshot_table *table = context;

	(void)room;
	*record = RECORD_OF(table->items + number * table->type->size);
	return true;
}

static uint64_t show_table(const struct snapshot *snapshot, const struct record_type *type, struct output *output)
{
	const struct snapshot_table *table = snapshot_table(snapshot, type);

	return output_batch(output,
			    &(struct output_batch){.count = table->count, .make = make_record, .context = table});
}

static int take(struct run_sink *sink, struct run *run _unused_, const void *item)
{
	struct look_table *table = (struct look_table *)sink;
	const struct snapshot *snapshot = item;
	const struct look *look = table->look;

	if (table->done++ == 0)
		run_snapshots_warn_gaps(item);
	if (look->options->interval_ns && table->done > look->looks_before)
		output_interval(sink->output,
				&(struct output_moment){.time_ns = snapshot->begin_time_ns, .elapsed_ns = UINT64_MAX},
				true);
	sink->shown += look->show ? look->show(item, sink->output, look->context)
				  : show_table(item, look->shape->types[0], sink->output);
	/* Nothing to sample for once the reader has gone; the end reports it. */
	return output_flush(sink->output) < 0 ||
	       (look->options->count && table->done == look->options->count + look->looks_before);
}

static const struct run_sink_ops table_ops = {.prepare = prepare, .take = take};

/* Of the command that is borrowed now. */
static struct {
	int (*take)(const struct look *look, void *context);
	void *context;
} borrower;

bool look_is(const struct command *command)
{
	for (const struct option_spec *spec = command->options; spec && spec->kind != OPT_END; spec++)
		if (spec->kind == OPT_GROUP && spec->group == look_option_table)
			return true;
	return false;
}

int look_borrow(const struct command *command, int argc, char **argv,
		int (*borrow)(const struct look *look, void *context), void *context)
{
	int code = EXIT_USAGE;

	if (!look_is(command))
		return code;
	borrower.take = borrow;
	borrower.context = context;
	code = command_run(command, argc, argv);
	borrower.take = NULL;
	return code;
}

int look_run(const struct look *look)
{
	const struct look_options *options = look->options;
	struct run run = {.options = {.name = look->command,
				      .duration_ns = options->interval_ns ? options->duration_ns : 0,
				      .input = options->input,
				      .save = options->save,
				      .once = !options->interval_ns}};
	struct look_table table = {.sink = {.ops = &table_ops}, .look = look};

	if (borrower.take)
		return take_ptr(borrower.take)(look, borrower.context);
	run_snapshots_init(&table.snapshots, &run, options->netns);
	table.snapshots.dev = look->dev;
	table.snapshots.request.types = look->types;
	table.snapshots.request.no_bpf = options->no_bpf;
	table.snapshots.request.repeated = options->interval_ns > 0;
	table.snapshots.pace_ns = table.snapshots.apart_ns = options->interval_ns;
	run_add_sink(&run, &table.snapshots.source, &table.sink);
	return run_carry_out(&run);
}
