/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest demo: diagnosis of recordings embedded in the program; needs no privilege. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "run/command.h"
#include "store/bundled.h"

/* Unpacked; they are far smaller. */
#define RECORDING_MAX ((size_t)64 << 20)

struct config {
	const char *name;
	const char *extract;
};

static const struct option_spec options[] = {
	OPTION(struct config, extract, TEXT, "extract", 0, "FILE",
	       "write the recording to this file, for other commands to read", .file = FILE_WRITE),
	POSITIONAL(struct config, name, TEXT, "NAME", "the recording to show in full; default: all of them, in short"),
	OPTION_END,
};

static const struct bundled *find(const char *name)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(256), hint = BUF_INIT(256);
	const struct bundled *found = bundled_find(name);
	struct near near = {.word = name};

	if (found)
		return found;
	for (const struct bundled *bundled = bundled_list; bundled->name; bundled++)
		near_consider(&near, bundled->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	log_error("demo: unknown recording '%s'%s (nest demo lists them)", buf_text(&shown), buf_text(&hint));
	return NULL;
}

static int run_on(const char *command, char *path)
{
	char *words[] = {(char *)"-f", path, NULL};

	return command_run(command_find(command), 2, words);
}

static int show(const struct bundled *bundled, bool full)
{
	_cleanup_free_ char *path = xasprintf(BUNDLED_PREFIX "%s", bundled->name);
	int code;

	printf("%s: %s\n\n", bundled->name, bundled->story);
	(void)fflush(stdout);
	code = run_on("watch", path);
	if (code == EXIT_DONE && full) {
		printf("\nAt the end:\n\n");
		(void)fflush(stdout);
		code = run_on("diagnose", path);
	}
	printf("\n");
	(void)fflush(stdout);
	return code;
}

static int extract(const struct bundled *bundled, const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	_cleanup_buf_ struct buf bytes = BUF_INIT(RECORDING_MAX);
	int r = fd < 0 ? -errno : bundled_unpack(bundled, &bytes);

	if (r == 0 && write(fd, bytes.data, bytes.len) != (ssize_t)bytes.len)
		r = errno ? -errno : -EIO;
	if (r < 0)
		return command_fail(EXIT_IO, "demo: cannot write %s: %s", path, strerror(-r));
	return EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	const struct bundled *bundled = config->name ? find(config->name) : NULL;
	int code = EXIT_DONE;

	if (config->name && !bundled)
		return EXIT_USAGE;
	if (config->extract && !bundled)
		return command_fail(EXIT_USAGE, "demo: --extract needs the name of a recording");
	if (config->extract)
		return extract(bundled, config->extract);
	if (bundled)
		return show(bundled, true);
	for (bundled = bundled_list; code == EXIT_DONE && bundled->name; bundled++)
		code = show(bundled, false);
	return code;
}

static const char *const examples[] = {
	"nest demo",
	"five recordings and the findings in them",
	"nest demo local-queue",
	"one of them with the full diagnosis",
	"nest report demo:lossy-path",
	"the same recording for any other command",
	NULL,
};

static const struct command demo_command = {
	.name = "demo",
	.summary = "diagnosis of bundled recordings; needs no privilege",
	.description = "The recordings are from the laboratory (lab/make-demo): a real kernel, real applications, one "
		       "fault each. The code that diagnoses the live host diagnoses them.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(demo_command);
