/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest limits: limits and their use. */
#include "run/look.h"
#include "snapshot/proc/host_limit.h"

struct config {
	struct look_options look;
};

static const struct option_spec options[] = {
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

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
		.shape = &shape,
		.columns = columns,
		.types = types,
	});
}

static const char *const examples[] = {
	"nest limits --where 'share > 0.9'",
	"limits that are nearly reached",
	NULL,
};

static const struct command limits_command = {
	.name = "limits",
	.summary = "limits and their use: memory, ports, files, queues, tables",
	.description = "Limits of the host and of each namespace are always shown; those of processes (descriptors), "
		       "listeners (accept queue) and remote addresses (local ports) from half of the limit on, and "
		       "always the one closest to its limit. -w shows the setting behind each.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(limits_command);
