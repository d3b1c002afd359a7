/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest top: the live screen. */
#include "base/clock.h"
#include "base/confine.h"
#include "run/command.h"
#include "top/screen/top_keys.h"
#include "top/screen/top_run.h"

static const struct option_spec options[] = {
	OPTION(struct top_options, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: never)"),
	OPTION(struct top_options, page, TEXT, "page", 0, "NAME",
	       "begin with this page: overview, connections, programs, any table"),
	OPTION(struct top_options, theme, TEXT, "theme", 0, "NAME", "colours: default, light, mono"),
	OPTION(struct top_options, keep_ns, DURATION, "keep", 0, "TIME",
	       "keep the last minutes in a temporary file for the key S (default 2m; 0s: keep nothing)"),
	OPTION(struct top_options, speed, RATIO, "speed", 0, "N",
	       "with -f: recorded seconds per second (default 1; 0: paused)"),
	OPTION(struct top_options, flow, TEXT, "flow", 0, "TRACE",
	       "list the views of this function trace (nest flow record) among the tools", .file = FILE_READ),
	OPTION_GROUP(struct top_options, live, diagnosis_option_table),
	POSITIONAL(struct top_options, interval_ns, SECONDS, "INTERVAL", "refresh every N seconds (default 1)"),
	OPTION_END,
};

static int run(const void *config)
{
	return top_run(config);
}

static const char *const examples[] = {
	"nest top",
	"findings, traffic, programs and interfaces of this host",
	"nest top -N all",
	"all network namespaces",
	"nest top -p 4711 --page connections",
	"the connections of one process",
	"nest top -f incident.nest",
	"replay a recording; n goes to the next finding",
	NULL,
};

static const struct top_options defaults = {.interval_ns = NSEC_PER_SEC, .keep_ns = 120 * NSEC_PER_SEC, .speed = 1};

static const struct command top_command = {
	.name = "top",
	.summary = "live screen: findings, connections, programs, interfaces, tools",
	.description =
		"Pages are tables that can be sorted, filtered with the expressions of --where, and grouped as a "
		"tree. Enter opens a row: links, figures over time, all fields. Backspace returns. A tool or any "
		"other command runs inside the screen.\n\nWhere the diagnosis would cost more than 12 % of a CPU, it "
		"runs for some seconds and pauses in between; the first line shows how often.",
	.describe = top_keys_add_manual,
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct top_options),
	.defaults = &defaults,
	.run = run,
	.starts = true,
	.reader_may = MAY_SCRATCH | MAY_NAME_FILES,
};
COMMAND(top_command);
