/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest path: where inside this host packets spend their time. */
#include "run/command.h"
#include "run/path_show.h"
#include "run/run_events.h"

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

static int run(const void *data)
{
	const struct path_config *config = data;
	struct run run = {.options = run_options_of("path", &config->common)};
	struct run_journeys journeys;
	struct path_show show;

	run_journeys_init(&journeys, &run, config);
	path_show_init(&show, &journeys);
	return run_carry_out(&run);
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
	.run = run,
};
COMMAND(path_command);
