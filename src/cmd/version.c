/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest version (and nest --version). */
#include "run/command.h"

static int run(const void *config _unused_)
{
	puts("nest " NEST_VERSION);
	return fflush(stdout) == 0 ? EXIT_DONE : EXIT_IO;
}

static const struct command version_command = {
	.name = "version",
	.summary = "print the version",
	.run = run,
};
COMMAND(version_command);
