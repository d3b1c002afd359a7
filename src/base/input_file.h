/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/macros.h"

/*
 * Opens a file for reading: a descriptor or a negative errno. Only regular files, -EBADMSG otherwise: a FIFO would wait
 * for a writer, a device has no end. Output onto this file is refused from here on (new_file.h).
 */
int input_file_open(const char *path) _must_check_;
/* strerror for it. */
const char *input_file_error(int r);
