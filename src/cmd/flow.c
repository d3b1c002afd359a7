/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow: the family of commands about function traces. Each of them is a file flow_NAME.c. */
#include "base/out.h"
#include "base/text.h"
#include "run/command.h"
#include "run/output_exit.h"

struct config {
	const char *member;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, member, TEXT, "COMMAND", "command to run; default: list the commands"),
	OPTION_END,
};

static int list(const struct command *const *commands, size_t count)
{
	struct out out;

	out_init(&out, STDOUT_FILENO);
	buf_add_text(&out.pending, "nest flow: function traces of a server, split by session\n\nUsage: nest flow "
				   "COMMAND [OPTIONS]\n\nCommands:\n");
	for (size_t i = 0; i < count; i++) {
		const char *member = command_in_family(commands[i], "flow");

		if (member)
			buf_add_format(&out.pending, "  %-14s %s\n", member, commands[i]->summary);
	}
	buf_add_text(&out.pending, "\nnest flow COMMAND --help explains one.\n");
	return output_exit_code("flow", out_done(&out));
}

static int run(const void *data)
{
	_cleanup_free_ const struct command **commands = NULL;
	const struct config *config = data;
	size_t count;

	if (config->member)
		return command_unknown("flow", config->member);
	commands = command_list(&count);
	return list(commands, count);
}

static const struct command flow_command = {
	.name = "flow",
	.summary = "function traces of a server, split by session",
	.description = "A trace holds every function call of a program and its socket operations, so that the sessions "
		       "it served can be separated and compared. nest flow record writes one; the other flow commands "
		       "read it. nest flow lists them.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(flow_command);
