/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/command_confine.h"

#include <errno.h>
#include <string.h>

#include "base/new_file.h"
#include "base/text.h"
#include "run/starter.h"

/* Of the command that runs; a process runs one. */
static struct confine files;
static bool confined;

/* LeakSanitizer opens /proc and stops the threads at the end of the process: what is built with it stays free. */
#ifdef __SANITIZE_ADDRESS__
static const bool confines = false;
#else
static const bool confines = true;
#endif

bool command_confines(void)
{
	return confines;
}

struct search {
	const uint8_t *config;
	bool reader;
	const char *directory; /* for commands that are started */
	const char *waits;     /* a FIFO, which would be read when somebody writes to it */
};

void command_confine_note(enum option_file kind, const char *path)
{
	switch (kind) {
	case FILE_INPUT:
	case FILE_READ:
		confine_add_input(&files, path);
		if (path)
			new_file_note_input_path(path);
		break;
	case FILE_WRITE:
		confine_add_output(&files, path);
		break;
	case FILE_TREE:
		confine_add_tree(&files, path, true);
		break;
	case FILE_SERVER:
		files.may |= path ? MAY_SERVE : 0;
		break;
	case FILE_LISTEN:
		files.may |= path ? MAY_SERVE : 0;
		if (path && strncmp(path, "unix:", 5) == 0)
			confine_add_socket(&files, path + 5);
		break;
	case FILE_FOR_STARTED:
	case FILE_NONE:
		break;
	}
}

/* One that the shell opened, such as <(COMMAND), has a writer. */
static bool is_fifo(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISFIFO(info.st_mode) && !new_file_is_descriptor(path);
}

static void add_file(struct search *search, enum option_file kind, const char *path)
{
	if ((kind == FILE_INPUT || kind == FILE_READ) && path && is_fifo(path))
		search->waits = path;
	search->reader |= kind == FILE_INPUT && path;
	search->directory = kind == FILE_FOR_STARTED ? path : search->directory;
	command_confine_note(kind, path);
}

static bool add_files_of(const struct option_spec *spec, void *context)
{
	struct search *search = context;
	const void *member = search->config + spec->offset;

	if (spec->kind == OPT_TEXT)
		add_file(search, spec->file, *(const char *const *)member);
	if (spec->kind == OPT_TEXT && spec->second)
		add_file(search, spec->file, *(const char *const *)(search->config + spec->second));
	for (size_t i = 0; spec->kind == OPT_TEXTS && i < ((const struct text_list *)member)->count; i++)
		add_file(search, spec->file, ((const struct text_list *)member)->items[i]);
	return true;
}

static int apply(struct why *why)
{
	int r;

	files.may |= MAY_WRITE;
	r = confines ? confine_apply(&files, why) : 0;
	confine_done(&files);
	confined = true;
	return r;
}

int command_confine(const struct command *command, const void *config, struct why *why)
{
	struct search search = {.config = config};

	if (confined || !command->options)
		return 0;
	option_each(command->options, add_files_of, &search);
	if (search.waits) {
		_cleanup_buf_ struct buf shown = BUF_INIT(8192);

		text_add_terminal(&shown, search.waits, strnlen(search.waits, 1000));
		return why_set(why, -EBADMSG, "%s is not a regular file", buf_text(&shown));
	}
	if (command->starts) {
		int r = starter_begin(!search.reader, search.directory, why);

		if (r < 0)
			return r;
		files.may |= MAY_ASK;
	}
	if (!search.reader)
		return 0;
	files.may |= command->reader_may;
	return apply(why);
}

int command_confine_live(unsigned may, uint64_t keep, struct why *why)
{
	if (confined)
		return 0;
	files.may |= may;
	files.keep |= keep;
	return apply(why);
}
