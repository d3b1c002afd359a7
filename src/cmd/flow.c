/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest flow: the family of commands about function traces. Each of them is a file flow_NAME.c. */
#include "base/out.h"
#include "base/text.h"
#include "run/command.h"

struct config {
	const char *member;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, member, TEXT, "COMMAND", "what to do; without it the commands are listed"),
	OPTION_END,
};

static int list(const struct command *const *commands, size_t count)
{
	struct out out;

	out_init(&out, STDOUT_FILENO);
	buf_add_text(&out.pending, "nest flow: what a server does, function by function, session by session\n\n"
				   "Usage: nest flow COMMAND [OPTIONS]\n\nCommands:\n");
	for (size_t i = 0; i < count; i++) {
		const char *member = command_in_family(commands[i], "flow");

		if (member)
			buf_add_format(&out.pending, "  %-14s %s\n", member, commands[i]->summary);
	}
	buf_add_text(&out.pending, "\nnest flow COMMAND --help explains one.\n");
	return out_done(&out) < 0 ? EXIT_IO : EXIT_DONE;
}

static int run(const void *data)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256), hint = BUF_INIT(256);
	_cleanup_free_ const struct command **commands = NULL;
	const struct config *config = data;
	struct near near = {.word = config->member};
	size_t count;

	commands = command_list(&count);
	if (!config->member)
		return list(commands, count);
	for (size_t i = 0; i < count; i++) {
		const char *member = command_in_family(commands[i], "flow");

		if (member)
			near_consider(&near, member);
	}
	near_add_text(&near, &hint);
	text_add_terminal(&shown, config->member, strnlen(config->member, 60));
	return command_fail(EXIT_USAGE, "there is no command 'flow %s'%s (nest flow lists them)", buf_text(&shown),
			    buf_text(&hint));
}

static const struct command flow_command = {
	.name = "flow",
	.summary = "what a server does, function by function, session by session",
	.description =
		"A trace holds every call of the functions of a program and what it did to its sockets, so that the "
		"sessions it served can be told apart and compared. nest flow record makes one; the other commands "
		"of the family read it. nest flow alone lists them.",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(flow_command);
