/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest version (and nest --version). */
#include "base/embed.h"
#include "run/build_info.h"
#include "run/command.h"

struct config {
	bool licences;
};

static const struct option_spec options[] = {
	OPTION(struct config, licences, FLAG, "licences", 0, NULL,
	       "print the licence of nest and of all that is bundled in it"),
	OPTION_END,
};

static void print_licences(void)
{
	const struct embedded_file *file = embed_find("licences.txt");

	puts("nest is free software: GPL-2.0-or-later (BPF programs: GPL-2.0-only). There is no warranty.");
	if (file)
		fwrite(file->begin, 1, (size_t)(file->end - file->begin), stdout);
}

static int run(const void *data)
{
	const struct config *config = data;
	_cleanup_buf_ struct buf text = BUF_INIT(8192);

	build_info_add(&text);
	fputs(buf_text(&text), stdout);
	if (config->licences)
		print_licences();
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_IO;
}

static const char *const examples[] = {
	"nest version --licences",
	"licences of nest and of what is bundled in it",
	NULL,
};

static const struct command version_command = {
	.name = "version",
	.summary = "print the version",
	.description = "Prints the version on the first line, then the commit of the build (-: unknown), the libraries "
		       "in use, and the BPF objects inside the program.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.run = run,
};
COMMAND(version_command);
