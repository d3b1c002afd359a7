/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/saver.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "serve/serve.h"

#define NAME_LEN_MAX 64
#define SAVED_MAX    64 /* that are listed; the oldest make room */
#define BYTES_MAX    ((off_t)1 << 30)
#define WIDTH        100

static void saver_free(struct saver *saver)
{
	free(saver->what);
	free(saver->name);
	free(saver->path);
	free(saver->error);
	free(saver);
}

static struct saver *find_running(const struct serve *serve, uint64_t run)
{
	vec_each(&serve->savers, saver)
		if ((*saver)->process && (*saver)->run == run)
			return *saver;
	return NULL;
}

/* What it prints is shown by the tool's own process. */
static void on_output(void *context _unused_, const char *bytes _unused_, size_t len _unused_)
{
}

static void on_end(void *context, int status)
{
	struct saver *saver = context;
	const char *said = nest_process_errors(saver->process), *colon;

	/* The first line that says what failed, without the program's name. */
	if (strncmp(said, "nest: ready\n", 12) == 0)
		said += 12;
	colon = strstr(said, "nest: ");
	said = colon ? colon + 6 : said;
	/* It is ended by a signal that was asked for: then its exit code is 0. */
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_DONE)
		saver->error = xstrndup(*said ? said : "ended by a signal", *said ? strcspn(said, "\n") : 17);
	else if (saver->is_full)
		saver->error = xasprintf("ended at %lld MB", (long long)(BYTES_MAX / 1000000));
	saver->process = NULL;
}

/* --- starting --- */

static bool is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && (i == 0 || !strchr("._-", name[i])))
			return false;
	return len > 0 && len <= NAME_LEN_MAX;
}

static int check(const struct tool_run *run, const char *name, struct why *why)
{
	const struct serve *serve = run->serve;

	if (!serve->is_live)
		return why_set(why, -ENOTSUP, "this is a recording already");
	if (!serve->options->save_in)
		return why_set(why, -ENOTSUP,
			       "nest serve was started without a directory for recordings: --save-in DIR");
	if (!is_name(name))
		return why_set(why, -EINVAL,
			       "a name has up to %d letters, digits, dots, dashes and underscores, and begins with a "
			       "letter or digit",
			       NAME_LEN_MAX);
	if (!run->process)
		return why_set(why, -ENOTSUP, "the tool has ended");
	return find_running(serve, run->id) ? why_set(why, -EEXIST, "it is being saved already") : 0;
}

static struct saver *saver_new(const struct tool_run *run, const char *name)
{
	struct saver *saver = xzalloc(sizeof(*saver));

	*saver = (struct saver){.serve = run->serve,
				.run = run->id,
				.what = xstrdup(run->what),
				.name = xasprintf("%s.nest", name),
				.path = xasprintf("%s/%s.nest", run->serve->options->save_in, name),
				.start_ns = clock_real_ns()};
	return saver;
}

/* The oldest that has ended makes room. */
static void keep(struct serve *serve, struct saver *saver)
{
	for (size_t i = 0; i < serve->savers.count && serve->savers.count >= SAVED_MAX; i++)
		if (!serve->savers.items[i]->process) {
			saver_free(serve->savers.items[i]);
			memmove(&serve->savers.items[i], &serve->savers.items[i + 1],
				(--serve->savers.count - i) * sizeof(*serve->savers.items));
			break;
		}
	vec_push(&serve->savers, saver);
}

int saver_start(struct tool_run *run, const char *name, struct saver **ret_saver, struct why *why)
{
	struct saver *saver;
	struct nest_words words = {};
	int r = check(run, name, why);

	if (r < 0)
		return r;
	saver = saver_new(run, name);
	if (access(saver->path, F_OK) == 0) {
		r = why_set(why, -EEXIST, "there is a file %s already", saver->name);
	} else {
		nest_words_copy(&words, &run->words);
		nest_words_option(&words, "save", saver->path);
		r = nest_process_start(&(struct nest_process_request){.loop = run->serve->run.loop,
								      .words = words.words,
								      .width = WIDTH,
								      .apart = true,
								      .output = on_output,
								      .ended = on_end,
								      .context = saver},
				       &saver->process, why);
		nest_words_done(&words);
	}
	if (r < 0) {
		saver_free(saver);
		return r;
	}
	keep(run->serve, saver);
	*ret_saver = saver;
	return 0;
}

/* --- ending --- */

/* Once: a second Ctrl-C would not wait for the file to be whole. */
static void interrupt(struct saver *saver)
{
	if (saver->process && !saver->is_ending)
		nest_process_interrupt(saver->process);
	saver->is_ending = true;
}

bool saver_end(struct serve *serve, uint64_t run)
{
	struct saver *saver = find_running(serve, run);

	if (saver)
		interrupt(saver);
	return saver != NULL;
}

void saver_sweep(struct serve *serve)
{
	struct stat file;

	vec_each(&serve->savers, at) {
		struct saver *saver = *at;

		if (!saver->process || saver->is_full || stat(saver->path, &file) < 0 || file.st_size < BYTES_MAX)
			continue;
		saver->is_full = true;
		interrupt(saver);
	}
}

void saver_finish_all(struct serve *serve)
{
	/* All at once, then one after the other. */
	vec_each(&serve->savers, saver)
		interrupt(*saver);
	vec_each(&serve->savers, saver) {
		nest_process_finish((*saver)->process);
		saver_free(*saver);
	}
	vec_done(&serve->savers);
}
