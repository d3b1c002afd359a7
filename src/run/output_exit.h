/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/why.h"

/* Says why output_open refused. EXIT_USAGE, EXIT_IO if the file cannot be opened, EXIT_DONE after a list of fields. */
int output_refused(const char *command, int result, const struct why *why);
/* Exit code for what output_close returned, with a message where one is due. */
int output_exit_code(const char *command, int result);
