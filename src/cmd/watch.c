/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest watch: reports stalls as they start, change cause, and end. */
#include "diagnose/infer/stall_log.h"
#include "run/command.h"
#include "run/run_diagnosis.h"

struct config {
	struct diagnosis_options live;
	uint64_t duration_ns;
	uint64_t rate;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: never)"),
	OPTION(struct config, rate, UINT, "rate", 0, "N",
	       "windows per second, 1 to 10 (default 1); shorter windows see shorter stalls with less certainty",
	       .min = 1, .max = 10),
	OPTION_GROUP(struct config, live, diagnosis_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

static void print_stall(const struct stall_log_record *record, void *context)
{
	const struct run_diagnosis *live = context;

	(void)output_record(live->sink.output, &RECORD_OF(record));
}

static int report(struct run_diagnosis *live, const struct diagnosis_view *view)
{
	struct stall_log *follow = live->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	if (record)
		stall_log_add(follow, record);
	else
		stall_log_leave(follow, view->netns);
	return 0;
}

static void closing(struct run_diagnosis *live, struct buf *more)
{
	size_t count = stall_log_count(live->context);

	if (count > 0)
		buf_add_format(more, "%zu ongoing stall%s", count, count == 1 ? "" : "s");
}

static int run(const void *data)
{
	const struct config *config = data;
	struct run run = {.options.name = "watch"};
	struct run_diagnosis live = {.options = &config->live,
				     .duration_ns = config->duration_ns,
				     .rate = (unsigned)config->rate,
				     .records = &config->output,
				     .shape = SHAPE_OF(&stall_log_type),
				     .containers = true,
				     .report = report,
				     .closing = closing};
	int code;

	live.context = stall_log_new(print_stall, &live);
	run_diagnosis_init(&live, &run);
	code = run_carry_out(&run);
	stall_log_free(live.context);
	return code;
}

static const char *const examples[] = {
	"nest watch",
	"report stalls as they start and end, until Ctrl-C",
	"nest watch -p 4711 --rate 5",
	"stalls of one process, also those shorter than 0.5 s",
	"nest watch --json --where 'certainty > 0.8'",
	"stalls of certainty above 0.8, as JSON",
	NULL,
};

static const struct command watch_command = {
	.name = "watch",
	.summary = "stalls as they start, change cause, and end",
	.description =
		"One line when a stall starts, one when its culprit changes, one with its duration when it ends. A "
		"stall has ended when two consecutive windows do not show it; its end is when it was last seen.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(watch_command);
