/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A command, and a record type that it shows. */
#include "run/command.h"
#include "run/output_exit.h"
#include "view/output.h"

struct dummy {
	uint64_t lat_ns;
};

static const struct field dummy_fields[] = {
	FIELD(struct dummy, lat_ns, DURATION, "how long it took"),
};
static RECORD_TYPE(dummy_type, "dummy", struct dummy, dummy_fields, "nothing much");

static const struct option_spec options[] = {
	OPTION_GROUP(struct output_options, json, output_option_table),
	OPTION_END,
};

static int run(const void *config)
{
	struct dummy dummy = {1500};
	struct shape shape = SHAPE_OF(&dummy_type);
	struct output *output;

	if (output_open(config, &shape, &output, NULL) < 0)
		return EXIT_USAGE;
	(void)output_record(output, &RECORD_OF(&dummy));
	return output_exit_code("dummy", output_close(output));
}

static const struct command dummy_command = {
	.name = "dummy",
	.summary = "show nothing much",
	.options = options,
	.config_size = sizeof(struct output_options),
	.run = run,
};
COMMAND(dummy_command);
