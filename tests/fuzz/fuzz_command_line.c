/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Command lines of every command and tool, made from its own table of options. The first byte chooses the command; the
 * rest are words, one a line. A word that begins with @ becomes an option of the table, chosen by its second byte, with
 * the rest as its value. What parses becomes the plan of a tool: a run that could begin, or a sentence to show.
 */
#include <fcntl.h>

#include "fuzz.h"
#include "run/command.h"
#include "tool/core/pipeline.h"

#define WORDS_MAX 40

struct choice {
	unsigned wanted, count; /* the wanted one, and all so far */
	const char *name;
};

static bool note_name(const struct option_spec *spec, void *context)
{
	struct choice *choice = context;

	if (spec->name && choice->count++ == choice->wanted)
		choice->name = spec->name;
	return true;
}

/* "@xVALUE" as --NAME or --NAME=VALUE. */
static char *option_word(const struct option_spec *table, const char *word)
{
	struct choice choice = {.wanted = UINT32_MAX};

	option_each(table, note_name, &choice);
	if (choice.count == 0)
		return xstrdup(word);
	choice = (struct choice){.wanted = (uint8_t)word[1] % choice.count};
	option_each(table, note_name, &choice);
	return word[2] ? xasprintf("--%s=%s", choice.name, word + 2) : xasprintf("--%s", choice.name);
}

/* Files are neither written nor read, and nothing is attached. */
static void plan_tool(const struct command *command, void *config)
{
	struct trace_options *options = config;
	struct trace_plan plan;
	struct pipeline pipeline;
	struct why why = {};
	int r;

	options->output.file = NULL;
	tool_plan(tool_find(command->name), config, &plan);
	/* Control characters in these messages are escaped where they are printed (log.c). */
	if (!plan.why.text[0]) {
		r = pipeline_open(&pipeline, &plan, options, &why);
		fuzz_require(r >= 0 || why.text[0] || r == -ECANCELED);
		(void)!pipeline_close(&pipeline);
	}
	trace_plan_done(&plan);
}

static const struct command *choose(uint8_t number)
{
	static const struct command **commands;
	static size_t count;

	if (!commands) {
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		/* Headings go to standard output; the report of the fuzzer does not. */
		fuzz_require(null >= 0 && dup2(null, STDOUT_FILENO) == STDOUT_FILENO);
		commands = command_list_all(&count);
	}
	return commands[number % count];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct command *command;
	_cleanup_free_ char *text = NULL;
	_cleanup_free_ void *config = NULL;
	char *words[WORDS_MAX + 1] = {}, *rest, *word;
	struct why why = {};
	int count = 0, r;

	if (size < 1)
		return 0;
	command = choose(data[0]);
	if (!command->options)
		return 0;
	rest = text = fuzz_text(data + 1, size - 1);
	while (count < WORDS_MAX && (word = strsep(&rest, "\n")))
		words[count++] = word[0] == '@' && word[1] ? option_word(command->options, word) : xstrdup(word);
	config = xzalloc(max_of(command->config_size, (size_t)1));
	if (command->defaults)
		memcpy(config, command->defaults, command->config_size);
	r = option_parse(command->options, count, words, config, &why);
	fuzz_require(r == 0 || r == -EINVAL);
	fuzz_require((r == 0) == (why.text[0] == '\0'));
	fuzz_require(!fuzz_has_control(why.text, strlen(why.text)));
	if (r == 0 && tool_find(command->name))
		plan_tool(command, config);
	option_done(command->options, config);
	for (int i = 0; i < count; i++)
		free(words[i]);
	return 0;
}
