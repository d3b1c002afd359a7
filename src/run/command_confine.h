/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command may still do once its options are known (base/confine.h). Options that name files say so in their
 * table (enum option_file), and everything here follows from it.
 */
#pragma once

#include "base/confine.h"
#include "run/command.h"

/*
 * Called before a command runs. One that reads files instead of the live host (FILE_INPUT) is confined now, before it
 * opens any of them. For the others the files are noted for command_confine_live.
 */
int command_confine(const struct command *command, const void *config, struct why *why) _must_check_;
/* A file that is not among the options, before the command runs any further. */
void command_confine_note(enum option_file kind, const char *path);
/*
 * For a command that observes the live host, once everything is attached: may and keep are what it needs from now on.
 * Nothing happens in a process that is confined already.
 */
int command_confine_live(unsigned may, uint64_t keep, struct why *why) _must_check_;
/* Whether anything is given up at all: not in a program built with AddressSanitizer. */
bool command_confines(void);
