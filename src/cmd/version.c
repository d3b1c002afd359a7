/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest version (and nest --version). */
#include "base/embed.h"
#include "base/out.h"
#include "run/build_info.h"
#include "run/command.h"
#include "run/output_exit.h"

struct config {
	bool licences;
};

static const struct option_spec options[] = {
	OPTION(struct config, licences, FLAG, "licences", 0, NULL,
	       "print the licence of nest and of all that is bundled in it"),
	OPTION_END,
};

static void add_licences(struct buf *text)
{
	const struct embedded_file *file = embed_find("licences.txt");

	buf_add_text(text,
		     "nest is free software: GPL-2.0-or-later (BPF programs: GPL-2.0-only). There is no warranty.\n");
	if (file)
		buf_add(text, file->begin, (size_t)(file->end - file->begin));
}

static int run(const void *data)
{
	const struct config *config = data;
	struct out out;

	out_init(&out, STDOUT_FILENO);
	build_info_add(&out.pending);
	if (config->licences)
		add_licences(&out.pending);
	return output_exit_code("version", out_done(&out));
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
