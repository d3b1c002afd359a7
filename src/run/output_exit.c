/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <signal.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/new_file.h"
#include "run/output_exit.h"

int output_refused(const char *command, int result, const struct why *why)
{
	if (result == -ECANCELED)
		return EXIT_DONE;
	log_error("%s: %s", command, why->text);
	return result == -EINVAL ? EXIT_USAGE : EXIT_IO;
}

int output_exit_code(const char *command, int result)
{
	if (result == 0)
		return EXIT_DONE;
	/* As the shell would have seen it. */
	if (result == -EPIPE)
		return EXIT_SIGNAL + SIGPIPE;
	log_error("%s: writing failed: %s", command, new_file_error(result));
	return EXIT_IO;
}
