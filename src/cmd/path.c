/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest path: latency of packets inside this host, by stage. */
#include "run/command.h"
#include "run/path_show.h"
#include "run/run_events.h"

#define C struct path_config
static const struct option_spec options[] = {
	OPTION(C, slowest, UINT, "slowest", 0, "N", "show the N slowest journeys as waterfalls (default 5)", .min = 1,
	       .max = SLOWEST_MAX),
	OPTION(C, hist, FLAG, "hist", 0, NULL,
	       "show the distribution of each stage, and which stage causes the tail (slowest 1%)"),
	OPTION(C, by, NAMES, "by", 0, "FIELD,..", "group by these fields: comm, laddr, dev, cpu, or any other"),
	OPTION(C, rx, FLAG, "rx", 0, NULL, "limit to received packets"),
	OPTION(C, tx, FLAG, "tx", 0, NULL, "limit to sent packets"),
	OPTION(C, svg, TEXT, "svg", 0, "FILE", "draw waterfalls and a heat map per stage", .file = FILE_WRITE),
	OPTION(C, html, TEXT, "html", 0, "FILE", "the same as a self-contained page", .file = FILE_WRITE),
	OPTION(C, data, TEXT, "data", 0, "FILE",
	       "what the page shows, as JSON: at the end, and of a live run every second a line of what was seen so "
	       "far; -: standard output",
	       .file = FILE_WRITE),
	OPTION(C, trace, TEXT, "trace", 0, "FILE", "write trace-event JSON for ui.perfetto.dev: one track per CPU",
	       .file = FILE_WRITE),
	OPTION(C, returns, FLAG, "return", 0, NULL,
	       "also trace the return of the system call, and spliced data: adds cost to every system call of the "
	       "host"),
	OPTION(C, sample, TEXT, "sample", 0, "1/N", "trace one flow in N, with all of its packets"),
	OPTION(C, stages, TEXT, "stages", 0, "few|some|all",
	       "set of stages: fewer cost less for untraced flows; default: few with --sample, else all"),
	OPTION(C, max_cpu, TEXT, "max-cpu", 0, "SHARE",
	       "trace fewer flows if tracing costs more than this share of a CPU: 5%"),
	OPTION_GROUP(C, common, trace_select_table),
	OPTION_GROUP(C, common, trace_run_table),
	OPTION(C, common.command, COMMAND, NULL, 0, "COMMAND",
	       "run this command, trace its packets, stop when it ends"),
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
	"10 s of this host: the five slowest packets stage by stage, and the distribution per stage",
	"nest path --where 'rport == 443 and pid == 4711' --slowest 5",
	"the slowest journeys of one process's connections to port 443",
	"nest path --rx --hist --by comm -d 30",
	"received packets by program: time per stage, and the stage that causes the tail",
	"nest path -i eth0 --html path.html --trace path.json -d 10",
	"a page, and a trace for ui.perfetto.dev",
	"nest path --sample 1/64 --max-cpu 5% --save busy.nest",
	"on a busy host: one flow in 64, fewer above 5% of a CPU; nest path -f reads the recording",
	NULL,
};

static const struct command path_command = {
	.name = "path",
	.summary = "latency of packets inside this host, stage by stage",
	.description = "Traces received packets from the interrupt to the application that reads them, and sent "
		       "packets from the system call to the ACK. Without options it runs until Ctrl-C or -d, then "
		       "shows the five slowest journeys as waterfalls (one line per stage) and the distribution of "
		       "each stage.\n\nThe stages of a journey add up to its total. A stage not traced on this kernel "
		       "is listed, and its time is in the next stage; docs/path.md explains each stage and its blind "
		       "spots.\n\nAs records (--json, --csv, --show), journeys are printed as they end; with --hist "
		       "the distribution of each stage, with --slowest the slowest journeys at the end. nest explain "
		       "path.rx lists the fields of --where, also the time of each stage: --where 'sched_ns > 1ms'.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct path_config),
	.looks = true,
	.run = run,
};
COMMAND(path_command);
