/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest limits: what can run out, and how much of it is left. */
#include "run/snapshot_view.h"
#include "snapshot/proc/host_limit.h"

struct config {
	struct look_options look;
	struct output_options output;
	uint64_t interval_ns;
	uint64_t count;
};

static const struct option_spec options[] = {
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_GROUP(struct config, output, output_option_table),
	POSITIONAL(struct config, interval_ns, SECONDS, "INTERVAL", "look again every so many seconds"),
	POSITIONAL(struct config, count, UINT, "COUNT", "how many looks"),
	OPTION_END,
};

static uint64_t show(const struct snapshot *snapshot, struct output *output, void *context)
{
	(void)context;
	return look_show_table(snapshot, &host_limit_type, output);
}

static int run(const void *data)
{
	static const struct record_type *const types[] = {&host_limit_type, NULL};
	static const struct shape shape = SHAPE_OF(&host_limit_type);
	static const struct output_column columns[] = {
		{"limit"}, {"of"}, {"used_bytes", "USED", .instead = "used"}, {"max_bytes", "MAX", .instead = "max"},
		{"share"}, {},
	};
	const struct config *config = data;

	return look_run(&(struct look){
		.command = "limits",
		.options = &config->look,
		.output = &config->output,
		.shape = &shape,
		.columns = columns,
		.types = types,
		.interval_ns = config->interval_ns,
		.count = config->count,
		.show = show,
	});
}

static const char *const examples[] = {
	"nest limits --where 'share > 0.9'",
	"what is nearly used up",
	NULL,
};

static const struct command limits_command = {
	.name = "limits",
	.summary = "what can run out: memory, ports, files, queues, tables",
	.description =
		"Figures of the host and of each namespace are always shown; processes (descriptors), listeners "
		"(connections that wait to be accepted) and remote addresses (local ports) when at least half is "
		"used, and always the one that is nearest to its limit. -w names the setting behind each.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(limits_command);
