/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/command.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/option_file.h"
#include "base/out.h"
#include "base/text.h"
#include "run/command_confine.h"
#include "run/output_exit.h"
#include "run/starter.h"
#include "run/tool_command.h"

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct command *const *)a)->name, (*(const struct command *const *)b)->name);
}

/* Made once from the declarations of tools, for the life of the program. */
static VEC(struct command) tool_commands;

static void make_tool_commands(void)
{
	_cleanup_free_ const struct tool **tools = NULL;
	size_t count;

	if (tool_commands.count)
		return;
	tools = tool_list(&count);
	for (size_t i = 0; i < count; i++)
		vec_push(&tool_commands, tool_command(tools[i]));
}

static const struct command **list(bool with_tools, size_t *ret_count)
{
	VEC(const struct command *) list = {};

	registry_each(command, command)
		vec_push(&list, *command);
	if (with_tools) {
		make_tool_commands();
		vec_each(&tool_commands, command)
			vec_push(&list, command);
	}
	vec_sort(&list, by_name);
	*ret_count = list.count;
	return list.items;
}

const struct command **command_list(size_t *ret_count)
{
	return list(false, ret_count);
}

const struct command **command_list_all(size_t *ret_count)
{
	return list(true, ret_count);
}

const struct command *command_find(const char *name)
{
	registry_each(command, command)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	make_tool_commands();
	vec_each(&tool_commands, command)
		if (strcmp(command->name, name) == 0)
			return command;
	return NULL;
}

bool command_exists(const char *name)
{
	return command_find(name) != NULL;
}

bool command_runs_here(const char *name)
{
	const struct tool *tool = tool_find(name);

	return command_exists(name) && !(tool && tool_unavailable(tool));
}

static bool find_netns(const struct option_spec *spec, void *context)
{
	bool *found = context;

	*found = *found || (spec->letter == 'N' && strcmp(spec->name, "netns") == 0);
	return !*found;
}

bool command_takes_netns(const char *name)
{
	const struct command *command = command_find(name);
	const struct tool *tool = tool_find(name);
	bool found = false;

	/* CPUs serve all namespaces: their events belong to none, and -N would hide them. */
	if (tool && strcmp(tool->layer, "softirq") == 0)
		return false;
	if (command && command->options)
		option_each(command->options, find_netns, &found);
	return found;
}

const char *command_in_family(const struct command *command, const char *family)
{
	size_t n = strlen(family);

	return strncmp(command->name, family, n) == 0 && command->name[n] == ' ' ? command->name + n + 1 : NULL;
}

bool command_is_member(const struct command *command)
{
	return strchr(command->name, ' ') != NULL;
}

const struct command *command_find_words(int argc, char **argv, int *ret_words)
{
	const char *second;

	*ret_words = 2;
	registry_each(command, command)
		if (argc > 1 && (second = command_in_family(*command, argv[0])) && strcmp(second, argv[1]) == 0)
			return *command;
	*ret_words = 1;
	return command_find(argv[0]);
}

static int print_help(const struct command *command)
{
	struct out out;

	out_init(&out, STDOUT_FILENO);
	command_add_help(command, &out.pending);
	return output_exit_code(command->name, out_done(&out));
}

/* Removes -v and --verbose before --: they mean the same for every command. Returns the number of words left. */
static int take_verbose(int argc, char **argv)
{
	int kept = 0, i = 0;

	for (; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--verbose") != 0 && strcmp(argv[i], "-v") != 0)
			argv[kept++] = argv[i];
	for (; i < argc; i++)
		argv[kept++] = argv[i];
	argv[kept] = NULL;
	return kept;
}

int command_refuse(const char *name, const struct why *why)
{
	size_t line = strcspn(why->text, "\n");

	log_error("%s: %.*s (nest %s --help)%s", name, (int)line, why->text, name, why->text + line);
	return EXIT_USAGE;
}

int command_unknown(const char *family, const char *word)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256), hint = BUF_INIT(256);
	_cleanup_free_ const struct command **commands = NULL;
	struct near near = {.word = word};
	size_t count;

	commands = command_list_all(&count);
	for (size_t i = 0; i < count; i++) {
		const char *name = family                           ? command_in_family(commands[i], family)
				   : command_is_member(commands[i]) ? NULL
								    : commands[i]->name;

		if (name)
			near_consider(&near, name);
	}
	near_add_text(&near, &hint);
	text_add_terminal(&shown, word, strnlen(word, 60));
	return command_fail(EXIT_USAGE, "unknown command '%s%s%s'%s (nest %s lists them)", family ?: "",
			    family ? " " : "", buf_text(&shown), buf_text(&hint), family ?: "help");
}

/* Whether the words ask for help; those after -- belong to another command. */
static bool asks_for_help(int argc, char **argv)
{
	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

int command_run(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ void *config = xzalloc(command->config_size);
	struct option_words file = {};
	struct why why = {};
	int words, r;

	if (asks_for_help(argc, argv))
		return print_help(command);
	words = argc;
	argc = take_verbose(argc, argv);
	if (argc < words)
		log_set_level(LOG_LEVEL_STATUS);
	if (command->defaults)
		memcpy(config, command->defaults, command->config_size);
	r = option_file_read(command->options, argc, argv, &file, &why);
	if (r == 0)
		r = option_parse(command->options, (int)file.words.count, file.words.items, config, &why);
	if (r == -EIO) {
		log_error("%s: %s", command->name, why.text);
		r = EXIT_IO;
	} else if (r < 0) {
		r = command_refuse(command->name, &why);
	} else if ((r = command_confine(command, config, &why)) < 0) {
		log_error("%s: %s", command->name, why.text);
		r = r == -EBADMSG ? EXIT_IO : EXIT_CANNOT_OBSERVE;
	} else {
		r = command->run ? command->run(config) : command->run_subject(command->subject, config);
	}
	if (command->starts)
		starter_end();
	option_done(command->options, config);
	option_file_done(&file);
	return r;
}

/* --- what may be started for others --- */

struct naming {
	const uint8_t *config;
	const char *directory;
	bool names;
};

/* DIRECTORY/NAME, with a name that leads nowhere else. */
static bool is_in(const char *path, const char *directory)
{
	size_t len = directory ? strlen(directory) : 0;

	return len > 0 && strncmp(path, directory, len) == 0 && path[len] == '/' && path[len + 1] != '\0' &&
	       path[len + 1] != '.' && !strchr(path + len + 1, '/');
}

/* Beside standard output. */
static bool names_file(const struct option_spec *spec, const char *path, const char *directory)
{
	return path && !(spec->file == FILE_WRITE && (strcmp(path, "-") == 0 || is_in(path, directory)));
}

static bool find_named(const struct option_spec *spec, void *context)
{
	struct naming *naming = context;
	const void *member = naming->config + spec->offset;

	if (spec->kind == OPT_COMMAND)
		naming->names |= ((const struct command_line *)member)->argc > 0;
	if (spec->kind == OPT_TEXT && spec->file != FILE_NONE)
		naming->names |= names_file(spec, *(const char *const *)member, naming->directory) ||
				 (spec->second && *(const char *const *)(naming->config + spec->second));
	if (spec->kind == OPT_TEXTS && spec->file != FILE_NONE)
		naming->names |= ((const struct text_list *)member)->count > 0;
	return !naming->names;
}

static bool parses_without_files(const struct command *command, int argc, char **argv, const char *directory)
{
	_cleanup_free_ void *config = xzalloc(command->config_size);
	struct naming naming = {.config = config, .directory = directory};
	struct why why = {};
	bool parsed;

	if (command->defaults)
		memcpy(config, command->defaults, command->config_size);
	parsed = option_parse(command->options, argc, argv, config, &why) == 0;
	option_each(command->options, find_named, &naming);
	option_done(command->options, config);
	return parsed && !naming.names;
}

bool command_only_looks(int argc, char **argv, const char *directory)
{
	VEC(char *) words = {};
	const struct command *command;
	int used, count;
	bool looks;

	command = argc > 0 ? command_find_words(argc, argv, &used) : NULL;
	if (!command || !command->looks || !command->options)
		return false;
	for (int i = used; i < argc; i++)
		vec_push(&words, argv[i]);
	vec_push(&words, NULL);
	count = take_verbose((int)words.count - 1, words.items);
	looks = parses_without_files(command, count, words.items, directory);
	vec_done(&words);
	return looks;
}

/* --- help text --- */

#define HELP_WIDTH     80
#define HELP_INDENT    26
#define EXAMPLE_INDENT 6

/* Words of a paragraph, folded at the width; the first line begins at column `at`. */
static void add_folded(struct buf *out, const char *text, size_t at, size_t indent)
{
	while (*text) {
		size_t n = strcspn(text, " \n");

		if (at > indent && at + 1 + n > HELP_WIDTH) {
			buf_add_char(out, '\n');
			buf_add_fill(out, ' ', indent);
			at = indent;
		} else if (at > indent) {
			buf_add_char(out, ' ');
			at++;
		}
		buf_add(out, text, n);
		at += n;
		text += n;
		text += strspn(text, " \n");
	}
	buf_add_char(out, '\n');
}

static void add_paragraph(struct buf *out, const char *text)
{
	buf_add_char(out, '\n');
	add_folded(out, text, 0, 0);
}

static void add_paragraphs(const char *text, struct buf *out, void (*add)(struct buf *out, const char *paragraph))
{
	while (*text) {
		const char *end = strstr(text, "\n\n");
		_cleanup_free_ char *paragraph = xstrndup(text, end ? (size_t)(end - text) : strlen(text));

		add(out, paragraph);
		text = end ? end + 2 : "";
	}
}

void command_add_paragraphs(const struct command *command, struct buf *out,
			    void (*add)(struct buf *out, const char *paragraph))
{
	_cleanup_buf_ struct buf more = BUF_INIT(65536);

	if (command->describe)
		command->describe(&more);
	add_paragraphs(command->description ?: "", out, add);
	add_paragraphs(buf_text(&more), out, add);
}

static void add_help_of(const struct option_spec *spec, struct buf *out)
{
	_cleanup_buf_ struct buf usage = BUF_INIT(256);

	option_add_usage(spec, &usage);
	buf_add_format(out, "  %s", buf_text(&usage));
	if (usage.len + 4 > HELP_INDENT) {
		buf_add_char(out, '\n');
		buf_add_fill(out, ' ', HELP_INDENT);
	} else {
		buf_add_fill(out, ' ', HELP_INDENT - 2 - usage.len);
	}
	if (spec->kind == OPT_COMMAND) {
		add_folded(out, spec->help, HELP_INDENT, HELP_INDENT);
		return;
	}
	if (spec->choices) {
		_cleanup_buf_ struct buf text = BUF_INIT(1024);

		buf_add_format(&text, "%s:", spec->help);
		for (unsigned i = 0; spec->choices[i]; i++)
			buf_add_format(&text, "%s %s", i ? "," : "", spec->choices[i]);
		add_folded(out, buf_text(&text), HELP_INDENT, HELP_INDENT);
		return;
	}
	add_folded(out, spec->help, HELP_INDENT, HELP_INDENT);
}

struct help {
	struct buf *out;
	bool positionals; /* which half of the table is wanted */
	bool any;
};

static bool add_option(const struct option_spec *spec, void *context)
{
	struct help *help = context;

	if (option_is_positional(spec) != help->positionals)
		return true;
	if (!help->any)
		buf_add_text(help->out, help->positionals ? "\nArguments:\n" : "\nOptions:\n");
	help->any = true;
	add_help_of(spec, help->out);
	return true;
}

const struct option_spec command_common_options[] = {
	{.kind = OPT_FLAG, .name = "verbose", .letter = 'v', .help = "print status lines also on a terminal"},
	{.kind = OPT_FLAG, .name = "help", .letter = 'h', .help = "show this text"},
	OPTION_END,
};

void command_add_help(const struct command *command, struct buf *out)
{
	struct help arguments = {.out = out, .positionals = true}, options = {.out = out};

	buf_add_format(out, "nest %s: %s\n\nUsage: nest %s [OPTIONS]", command->name, command->summary, command->name);
	option_add_synopsis(command->options, out);
	buf_add_char(out, '\n');
	command_add_paragraphs(command, out, add_paragraph);
	option_each(command->options, add_option, &arguments);
	option_each(command->options, add_option, &options);
	option_each(command_common_options, add_option, &options);
	if (!command->examples)
		return;
	buf_add_text(out, "\nExamples:\n");
	for (const char *const *example = command->examples; *example; example += 2) {
		buf_add_format(out, "  %s\n      ", example[0]);
		add_folded(out, example[1], EXAMPLE_INDENT, EXAMPLE_INDENT);
	}
}
