/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "base/exit_code.h"
#include "base/log.h"
#include "run/output_exit.h"

int output_refused(const char *command, int result, const struct why *why)
{
	log_error("%s: %s", command, why->text);
	return result == -EINVAL ? EXIT_USAGE : EXIT_IO;
}

int output_exit_code(int result)
{
	if (result == 0)
		return EXIT_DONE;
	if (result == -EPIPE)
		return EXIT_SIGNAL + 13; /* SIGPIPE, as the shell would have seen it */
	log_error("writing the output failed: %s", strerror(-result));
	return EXIT_IO;
}
