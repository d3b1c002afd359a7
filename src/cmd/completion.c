/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest completion: shell completion scripts. */
#include "run/completion.h"
#include "base/out.h"
#include "run/command.h"
#include "run/output_exit.h"

const struct completion_place completion_places[COMPLETION_SHELLS] = {
	[COMPLETION_BASH] = {"bash-completion/completions", "nest"},
	[COMPLETION_ZSH] = {"zsh/site-functions", "_nest"},
	[COMPLETION_FISH] = {"fish/vendor_completions.d", "nest.fish"},
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static bool takes_file(const struct option_spec *spec)
{
	return spec->arg && (strcmp(spec->arg, "FILE") == 0 || strcmp(spec->arg, "DIR") == 0);
}

/* The second words of a family, with a blank before each. */
static void add_members(const struct command *family, struct buf *out)
{
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	commands = command_list(&count);
	for (size_t i = 0; i < count; i++) {
		const char *member = command_in_family(commands[i], family->name);

		if (member)
			buf_add_format(out, " %s", member);
	}
}

/* --- bash --- */

static bool add_bash_word(const struct option_spec *spec, void *context)
{
	if (spec->name)
		buf_add_format(context, " --%s", spec->name);
	return true;
}

static bool add_bash_choices(const struct option_spec *spec, void *context)
{
	struct buf *out = context;

	if (!spec->name || !spec->choices)
		return true;
	buf_add_format(out, "\t\t--%s) words=\"", spec->name);
	for (unsigned i = 0; spec->choices[i]; i++)
		buf_add_format(out, "%s%s", i ? " " : "", spec->choices[i]);
	buf_add_text(out, "\" ;;\n");
	return true;
}

static void add_bash(const struct command **commands, size_t count, struct buf *out)
{
	buf_add_text(out, "# bash completion for nest, made by nest completion\n"
			  "_nest()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
			  "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"");
	for (size_t i = 0; i < count; i++)
		if (!command_is_member(commands[i]))
			buf_add_format(out, "%s ", commands[i]->name);
	buf_add_text(out, "--verbose --help --version\"\n\telse\n\t\tlocal command=${COMP_WORDS[1]}\n"
			  "\t\t[ \"$COMP_CWORD\" -eq 2 ] || case \"$command ${COMP_WORDS[2]}\" in\n");
	for (size_t i = 0; i < count; i++)
		if (command_is_member(commands[i]))
			buf_add_format(out, "\t\t\"%s\") command=\"%s\" ;;\n", commands[i]->name, commands[i]->name);
	buf_add_text(out, "\t\t\"\") ;;\n\t\tesac\n\t\tcase $command in\n");
	for (size_t i = 0; i < count; i++) {
		buf_add_format(out, "\t\t\"%s\") words=\"", commands[i]->name);
		option_each(command_common_options, add_bash_word, out);
		add_members(commands[i], out);
		option_each(commands[i]->options, add_bash_word, out);
		buf_add_text(out, "\" ;;\n");
	}
	buf_add_text(out, "\t\tesac\n\t\tcase $prev in\n");
	for (size_t i = 0; i < count; i++)
		option_each(commands[i]->options, add_bash_choices, out);
	buf_add_text(out,
		     "\t\t\"\") ;;\n\t\tesac\n\tfi\n\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n}\n"
		     "complete -o default -F _nest nest\n");
}

/* --- zsh --- */

/* Inside single quotes, with the characters that _arguments and _describe read as their own. */
static void add_quoted(struct buf *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'')
			buf_add_text(out, "'\\'");
		else if (strchr(special, *text))
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
}

static bool add_zsh_option(const struct option_spec *spec, void *context)
{
	struct buf *out = context;

	if (!spec->name)
		return true;
	if (spec->letter)
		buf_add_format(out, " \\\n\t\t'(-%c --%s)'{-%c,--%s}'[", spec->letter, spec->name, spec->letter,
			       spec->name);
	else
		buf_add_format(out, " \\\n\t\t'--%s[", spec->name);
	add_quoted(out, spec->help, "[]:\\");
	buf_add_char(out, ']');
	if (spec->kind != OPT_FLAG)
		buf_add_format(out, ":%s:", spec->arg);
	if (spec->choices) {
		buf_add_char(out, '(');
		for (unsigned i = 0; spec->choices[i]; i++)
			buf_add_format(out, "%s%s", i ? " " : "", spec->choices[i]);
		buf_add_char(out, ')');
	} else if (takes_file(spec)) {
		buf_add_text(out, "_files");
	}
	buf_add_char(out, '\'');
	return true;
}

static void add_zsh(const struct command **commands, size_t count, struct buf *out)
{
	buf_add_text(out, "#compdef nest\n# zsh completion for nest, made by nest completion\n"
			  "local -a commands\ncommands=(\n");
	for (size_t i = 0; i < count; i++) {
		if (command_is_member(commands[i]))
			continue;
		buf_add_format(out, "\t'%s:", commands[i]->name);
		add_quoted(out, commands[i]->summary, ":\\");
		buf_add_text(out, "'\n");
	}
	buf_add_text(out, ")\nif (( CURRENT == 2 )); then\n\t_describe command commands\n\treturn\nfi\n"
			  "local command=$words[2]\nshift words\n(( CURRENT-- ))\n"
			  "(( CURRENT == 2 )) || case \"$command $words[2]\" in\n");
	for (size_t i = 0; i < count; i++)
		if (command_is_member(commands[i]))
			buf_add_format(out, "'%s') command='%s'; shift words; (( CURRENT-- )) ;;\n", commands[i]->name,
				       commands[i]->name);
	buf_add_text(out, "esac\ncase $command in\n");
	for (size_t i = 0; i < count; i++) {
		_cleanup_buf_ struct buf members = BUF_INIT(4096);

		buf_add_format(out, "'%s')\n\t_arguments", commands[i]->name);
		option_each(command_common_options, add_zsh_option, out);
		option_each(commands[i]->options, add_zsh_option, out);
		add_members(commands[i], &members);
		if (members.len)
			buf_add_format(out, " \\\n\t\t'1:command:(%s)'", buf_text(&members) + 1);
		buf_add_text(out, " \\\n\t\t'*:argument:_files'\n\t;;\n");
	}
	buf_add_text(out, "esac\n");
}

/* --- fish --- */

struct fish {
	struct buf *out;
	const struct command *command; /* NULL: options of every command */
};

/* Where a command's options belong: after its name, all words of it. */
static void add_fish_place(struct buf *out, const char *name)
{
	size_t first = strcspn(name, " ");

	buf_add_format(out, "complete -c nest -n '__fish_seen_subcommand_from %.*s", (int)first, name);
	if (name[first])
		buf_add_format(out, "; and __fish_seen_subcommand_from %s", name + first + 1);
	buf_add_char(out, '\'');
}

static bool add_fish_option(const struct option_spec *spec, void *context)
{
	const struct fish *fish = context;
	struct buf *out = fish->out;

	if (!spec->name)
		return true;
	if (fish->command)
		add_fish_place(out, fish->command->name);
	else
		buf_add_text(out, "complete -c nest");
	buf_add_format(out, " -l %s", spec->name);
	if (spec->letter)
		buf_add_format(out, " -s %c", spec->letter);
	if (spec->kind != OPT_FLAG)
		buf_add_text(out, takes_file(spec) ? " -r -F" : " -x");
	if (spec->choices) {
		buf_add_text(out, " -a '");
		for (unsigned i = 0; spec->choices[i]; i++)
			buf_add_format(out, "%s%s", i ? " " : "", spec->choices[i]);
		buf_add_char(out, '\'');
	}
	buf_add_text(out, " -d '");
	add_quoted(out, spec->help, "\\");
	buf_add_text(out, "'\n");
	return true;
}

static void add_fish(const struct command **commands, size_t count, struct buf *out)
{
	struct fish all = {.out = out};

	buf_add_text(out, "# fish completion for nest, made by nest completion\n");
	option_each(command_common_options, add_fish_option, &all);
	for (size_t i = 0; i < count; i++) {
		struct fish fish = {.out = out, .command = commands[i]};

		if (command_is_member(commands[i]))
			buf_add_format(out, "complete -c nest -n '__fish_seen_subcommand_from %.*s' -f -a %s -d '",
				       (int)strcspn(commands[i]->name, " "), commands[i]->name,
				       strchr(commands[i]->name, ' ') + 1);
		else
			buf_add_format(out, "complete -c nest -n __fish_use_subcommand -f -a %s -d '",
				       commands[i]->name);
		add_quoted(out, commands[i]->summary, "\\");
		buf_add_text(out, "'\n");
		option_each(commands[i]->options, add_fish_option, &fish);
	}
}

void completion_add(enum completion_shell shell, struct buf *out)
{
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	commands = command_list_all(&count);
	if (shell == COMPLETION_BASH)
		add_bash(commands, count, out);
	else if (shell == COMPLETION_ZSH)
		add_zsh(commands, count, out);
	else
		add_fish(commands, count, out);
}

/* --- the command --- */

struct config {
	unsigned shell;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, shell, CHOICE, "SHELL", "shell to write for", .choices = shells, .required = true),
	OPTION_END,
};

static int run(const void *data)
{
	const struct config *config = data;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	completion_add((enum completion_shell)config->shell, &out.pending);
	return output_exit_code("completion", out_done(&out));
}

static const char *const examples[] = {
	". <(nest completion bash)",
	"enable completion in this shell",
	NULL,
};

static const struct command completion_command = {
	.name = "completion",
	.summary = "shell completion script",
	.description = "make install installs the scripts of all three shells.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(completion_command);
