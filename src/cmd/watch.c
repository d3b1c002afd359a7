/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest watch: stays, and prints when a stall begins, changes culprit, ends. */
#include "diagnose/infer/stall_log.h"
#include "run/command.h"
#include "run/live_diagnosis.h"
#include "run/output_exit.h"
#include "view/output.h"

struct config {
	struct diagnosis_options live;
	uint64_t duration_ns;
	uint64_t rate;
	struct output_options output;
};

static const struct option_spec options[] = {
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS", "end after this time (never)"),
	OPTION(struct config, rate, UINT, "rate", 0, "N",
	       "windows a second, 1 to 10 (1); shorter ones see shorter stalls and are less sure", .min = 1, .max = 10),
	OPTION_GROUP(struct config, live, diagnosis_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

struct watch {
	struct output *output;
	struct stall_log *log;
};

static void tell(const struct stall_log_record *record, void *context)
{
	struct watch *watch = context;

	(void)output_record(watch->output, &RECORD_OF(record));
}

static int report(struct live_diagnosis *live, const struct live_view *view)
{
	struct watch *watch = live->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	if (record)
		stall_log_add(watch->log, record);
	else
		stall_log_leave(watch->log, view->netns);
	return output_flush(watch->output);
}

static int run(const void *data)
{
	const struct config *config = data;
	struct watch watch = {};
	struct live_diagnosis live = {.options = &config->live,
				      .duration_ns = config->duration_ns,
				      .rate = (unsigned)config->rate,
				      .report = report,
				      .context = &watch};
	struct shape shape = SHAPE_OF(&stall_log_type);
	_cleanup_free_ char *closing = NULL;
	struct why why = {};
	int code = live_diagnosis_prepare(&live, "watch", NULL);

	if (code == EXIT_DONE && output_open(&config->output, &shape, &watch.output, &why) < 0) {
		log_error("watch: %s", why.text);
		code = EXIT_USAGE;
	}
	if (code == EXIT_DONE) {
		int result, written;
		size_t count;

		watch.log = stall_log_new(tell, &watch);
		result = live_diagnosis_run(&live);
		written = output_close(watch.output);
		count = stall_log_count(watch.log);
		if (count > 0)
			live.closing = closing =
				xasprintf("%zu %s still going on", count, count == 1 ? "stall is" : "stalls are");
		code = live_diagnosis_exit_code(&live, "watch", result);
		if (code == EXIT_DONE)
			code = output_exit_code(written);
	}
	stall_log_free(watch.log);
	live_diagnosis_done(&live);
	return code;
}

static const char *const examples[] = {
	"nest watch",
	"say when a stall begins and when it ends, until Ctrl-C",
	"nest watch -p 4711 --rate 5",
	"what holds one process up, stalls of less than half a second included",
	"nest watch --json --where 'certainty > 0.8'",
	"the same for a program, clear cases only",
	NULL,
};

static const struct command watch_command = {
	.name = "watch",
	.summary = "stay, and say when a stall begins, changes culprit, ends",
	.description =
		"One line when a stall begins, one when the same sufferers have another culprit, one when it is over, "
		"with how long it lasted; nothing in between. A stall has ended when two windows in a row do "
		"not show it; its end is when it was last seen.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(watch_command);
