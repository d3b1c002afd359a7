/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shell completions, written from the declarations of commands and options. */
#pragma once

#include "base/buf.h"

enum completion_shell { COMPLETION_BASH, COMPLETION_ZSH, COMPLETION_FISH, COMPLETION_SHELLS };

struct completion_place {
	const char *dir; /* below PREFIX/share */
	const char *file;
};

extern const struct completion_place completion_places[COMPLETION_SHELLS];

void completion_add(enum completion_shell shell, struct buf *out);
