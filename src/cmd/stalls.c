/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest stalls: interruptions of connections, and what they had in common. */
#include "base/clock.h"
#include "run/command.h"
#include "run/run_stalls.h"

struct config {
	const char *netns;
	uint64_t duration_ns;
	uint64_t least_ns;
	uint64_t rate;
	struct input_options input;
	const char *save;
	struct output_options output;
};

static const struct option_spec options[] = {
	NETNS_OPTION(struct config, netns),
	OPTION(struct config, duration_ns, SECONDS, "duration", 'd', "SECONDS",
	       "stop after this time (default: at Ctrl-C)"),
	OPTION(struct config, least_ns, SECONDS, "min", 0, "SECONDS",
	       "leave out shorter interruptions (default 0.2; shorter ones are not seen)"),
	OPTION(struct config, rate, UINT, "rate", 0, "N", "samples per second, 1 to 50 (default 10)", .min = 1,
	       .max = 50),
	OPTION_GROUP(struct config, input, input_option_table),
	OPTION(struct config, save, TEXT, "save", 0, "FILE", "also record to this file, for -f", .file = FILE_WRITE),
	OPTION_GROUP(struct config, output, output_option_table),
	OPTION_END,
};

static const struct config defaults = {.rate = 10};

static const struct output_column columns[] = {
	{"time_ns"}, {"span_ns"},      {"kind"},  {"shared"},     {"pid"},         {"comm"},     {"laddr"},
	{"lport"},   {"raddr"},        {"rport"}, {"path_conns"}, {"other_conns"}, {"timeouts"}, {"retrans"},
	{"dev"},     {"link_changes"}, {},
};

static int run(const void *data)
{
	const struct config *config = data;
	struct run run = {.options = {.name = "stalls",
				      .duration_ns = config->duration_ns,
				      .input = config->input,
				      .save = config->save,
				      .attaches = true}};
	struct run_stalls stalls = {.output = &config->output, .columns = columns, .least_ns = config->least_ns};

	run_stalls_init(&stalls, &run, config->netns);
	stalls.snapshots.pace_ns = NSEC_PER_SEC / config->rate;
	return run_carry_out(&run);
}

static const char *const examples[] = {
	"nest stalls -d 60",
	"interruptions of the next minute",
	"nest stalls --where 'shared in (path, host, link)'",
	"only interruptions of several connections",
	"nest stalls -f incident.nest --min 1",
	"interruptions of 1 s and more in a recording",
	NULL,
};

static const struct command stalls_command = {
	.name = "stalls",
	.summary = "interruptions of TCP connections, and what they share",
	.description =
		"One line per interruption when it ends: a connection had data in flight and a retransmission timeout "
		"passed without an ACK, or the peer closed its window, or a steady stream of received data paused. "
		"SHARED is what the connections interrupted at the same time share: link, path, host, peer.\n\nThe "
		"start is exact to milliseconds, from the kernel's ages of the last ACK and data; the end lies "
		"between two samples, and the field error is the accuracy of the length.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.looks = true,
	.run = run,
};
COMMAND(stalls_command);
