/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/runner.h"

#include <errno.h>
#include <string.h>

#include "run/command.h"
#include "show/nest_process.h"

/* Behind pane->runner. */
struct running {
	struct runner *runner;
	struct pane *pane;
	struct nest_process *process;
};

/* --- words --- */

static bool find_file_option(const struct option_spec *spec, void *context)
{
	bool *found = context;

	*found = *found || spec->letter == 'f';
	return !*found;
}

static bool takes_file(const char *name)
{
	const struct command *command = command_find(name);
	bool found = false;

	if (command && command->options)
		option_each(command->options, find_file_option, &found);
	return found;
}

static bool has_word(char **words, const char *word)
{
	for (; *words; words++)
		if (strncmp(*words, word, strlen(word)) == 0)
			return true;
	return false;
}

static size_t count_words(char **words)
{
	size_t count = 0;

	while (words[count])
		count++;
	return count;
}

static void add_option(char ***words, const char *option, const char *value)
{
	size_t count = count_words(*words);

	*words = xrealloc_array(*words, count + 3, sizeof(**words));
	(*words)[count] = xstrdup(option);
	(*words)[count + 1] = xstrdup(value);
	(*words)[count + 2] = NULL;
}

/* The same namespace and the same recording as the screen. */
static int make_words(const struct runner *runner, const struct pane *pane, char ***ret_words, struct why *why)
{
	char **words = pane_split_words(pane->command);
	bool is_top = words && words[0] && strcmp(words[0], "top") == 0;

	if (!words || !words[0] || is_top ||
	    (!command_exists(words[0]) && !command_exists(pane->command) && strcmp(words[0], "flow") != 0)) {
		int r = why_set(why, -ENOENT,
				words && words[0] ? "'%.60s' cannot be run here (nest help lists commands)"
						  : "a quote is not closed, or there are too many words",
				words && words[0] ? words[0] : "");

		pane_free_words(words);
		return r;
	}
	if (runner->file && takes_file(words[0]) && !has_word(words, "-f"))
		add_option(&words, "-f", runner->file);
	else if (!runner->file && runner->netns && command_takes_netns(words[0]) && !has_word(words, "-N"))
		add_option(&words, "-N", runner->netns);
	*ret_words = words;
	return 0;
}

/* --- the process --- */

static void on_output(void *context, const char *bytes, size_t len)
{
	struct running *running = context;

	pane_feed(running->pane, bytes, len);
	running->runner->changed(running->runner->context);
}

static void on_end(void *context, int status)
{
	struct running *running = context;
	struct runner *runner = running->runner;

	running->pane->runner = NULL;
	pane_end(running->pane, status);
	free(running);
	runner->changed(runner->context);
}

int runner_start(struct runner *runner, struct pane *pane, struct why *why)
{
	struct running *running;
	char **words = NULL;
	int r = make_words(runner, pane, &words, why);

	if (r < 0)
		return r;
	pane->summary = command_find(words[0]) ? command_find(words[0])->summary : "";
	running = xzalloc(sizeof(*running));
	*running = (struct running){.runner = runner, .pane = pane};
	r = nest_process_start(&(struct nest_process_request){.loop = runner->loop,
							      .words = words,
							      .width = runner->width,
							      .output = on_output,
							      .ended = on_end,
							      .context = running},
			       &running->process, why);
	pane_free_words(words);
	if (r < 0)
		free(running);
	else
		pane->runner = running;
	return r;
}

void runner_stop(struct runner *runner _unused_, struct pane *pane)
{
	struct running *running = pane->runner;

	if (!running)
		return;
	nest_process_stop(running->process);
	pane->runner = NULL;
	free(running);
}
