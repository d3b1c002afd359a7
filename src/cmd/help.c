/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest help: the commands, one command, and what make install puts beside the program. */
#include <errno.h>

#include "base/files.h"
#include "base/out.h"
#include "run/command.h"
#include "run/completion.h"
#include "run/output_exit.h"
#include "tool/core/tool.h"

struct config {
	const char *command;
	const char *member;
	bool man;
	const char *pages_dir;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, command, TEXT, "COMMAND", "explain this command"),
	POSITIONAL(struct config, member, TEXT, "MEMBER", "second word of a command: nest help flow record"),
	OPTION(struct config, man, FLAG, "man", 'm', NULL, "print the manual page (mdoc)"),
	OPTION(struct config, pages_dir, TEXT, "install-pages", 0, "DIR",
	       "write manual pages and shell completions below DIR, as make install does", .file = FILE_TREE),
	OPTION_END,
};

#define WIDTH 80

/* Names only, by layer. */
static void add_tools(struct buf *out)
{
	_cleanup_free_ const struct tool **tools = NULL;
	const char *layer = "";
	size_t count, line = out->len;

	tools = tool_list(&count);
	for (size_t i = 0; i < count; i++) {
		bool other = strcmp(layer, tools[i]->layer) != 0;

		layer = tools[i]->layer;
		if (other || out->len - line + 1 + strlen(tools[i]->name) > WIDTH) {
			buf_add_text(out, i ? "\n" : "");
			line = out->len;
			buf_add_format(out, "  %-14s", other ? layer : "");
		}
		buf_add_format(out, " %s", tools[i]->name);
	}
	buf_add_text(out, "\n");
}

static void add_overview(struct buf *out)
{
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	buf_add_text(out, "nest: the network stack trace for Linux\n\nUsage: nest [COMMAND] [OPTIONS]\n\nCommands:\n");
	commands = command_list(&count);
	for (size_t i = 0; i < count; i++)
		if (!command_is_member(commands[i]))
			buf_add_format(out, "  %-14s %s\n", commands[i]->name, commands[i]->summary);
	buf_add_text(out, "\nTools, each a command (nest tools):\n");
	add_tools(out);
	buf_add_text(out, "\nNetwork namespaces: snapshots (diagnose, watch, sockets, links ...) cover the\n"
			  "one nest runs in, or with -p that of the process; events (tools, trace, path)\n"
			  "come from all. -N NETNS selects one, -N all selects all.\n");
	buf_add_text(out, "\nnest COMMAND --help explains one. Exit codes: 0 done, 1 findings (--fail-on),\n"
			  "2 usage, 3 cannot observe, 4 loss above --max-loss, 5 input or output failed,\n"
			  "128+n ended by signal n.\n");
}

/* The page nest(8) that the others refer to. */
static void add_main_man(struct buf *out)
{
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	buf_add_text(out, ".Dd $Mdocdate$\n.Dt NEST 8\n.Os nest " NEST_VERSION "\n.Sh NAME\n.Nm nest\n"
			  ".Nd the network stack trace for Linux\n.Sh SYNOPSIS\n.Nm\n.Op Ar command\n.Op Ar options\n"
			  ".Sh DESCRIPTION\nThe commands, each with a page of its own:\n.Bl -tag -width completion\n");
	commands = command_list(&count);
	for (size_t i = 0; i < count; i++) {
		buf_add_text(out, ".It Xr nest\\-");
		command_add_man_name(out, commands[i]->name);
		buf_add_format(out, " 8\n%s.\n", commands[i]->summary);
	}
	buf_add_text(out, ".El\n");
}

static int install_man(const char *dir, struct why *why)
{
	_cleanup_free_ const struct command **commands = NULL;
	_cleanup_buf_ struct buf page = BUF_INIT(BUF_CAP_DEFAULT);
	size_t count;
	int r;

	add_main_man(&page);
	r = files_write(dir, "nest.8", &page, why);
	commands = command_list_all(&count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		_cleanup_free_ char *name = xasprintf("nest-%s.8", commands[i]->name);
		char *blank = strchr(name, ' ');

		if (blank)
			*blank = '-';

		buf_clear(&page);
		command_add_man(commands[i], &page);
		r = files_write(dir, name, &page, why);
	}
	return r;
}

static int install_pages(const char *share)
{
	_cleanup_free_ char *man = xasprintf("%s/man/man8", share);
	struct why why = {};
	int r = files_make_dirs(man, &why);

	if (r == 0)
		r = install_man(man, &why);
	for (unsigned i = 0; r == 0 && i < COMPLETION_SHELLS; i++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", share, completion_places[i].dir);
		_cleanup_buf_ struct buf script = BUF_INIT(BUF_CAP_DEFAULT);

		completion_add(i, &script);
		r = files_make_dirs(dir, &why);
		if (r == 0)
			r = files_write(dir, completion_places[i].file, &script, &why);
	}
	return r < 0 ? command_fail(EXIT_IO, "%s", why.text) : EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	const struct command *command = NULL;
	struct out out;

	if (config->pages_dir)
		return install_pages(config->pages_dir);
	if (config->command) {
		char *words[] = {(char *)config->command, (char *)config->member};
		int used;

		command = command_find_words(config->member ? 2 : 1, words, &used);
		if (!command || used != (config->member ? 2 : 1))
			return config->member && command_find_words(1, words, &used)
				       ? command_unknown(config->command, config->member)
				       : command_unknown(NULL, config->command);
	}
	out_init(&out, STDOUT_FILENO);
	if (config->man && command)
		command_add_man(command, &out.pending);
	else if (config->man)
		add_main_man(&out.pending);
	else if (command)
		command_add_help(command, &out.pending);
	else
		add_overview(&out.pending);
	return output_exit_code("help", out_done(&out));
}

static const struct command help_command = {
	.name = "help",
	.summary = "list of commands, or help on one",
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(help_command);
