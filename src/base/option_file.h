/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options in a file: lines of `name = value`, the names and values of the command line, read before the words of the
 * command line, so that those win. A flag is yes or no. Empty lines and lines that begin with # are ignored.
 *
 *	store = /var/lib/nest/agent.nest
 *	age = 24h
 *	passive = yes
 */
#pragma once

#include "base/option.h"

/* The option that names such a file, in every command that has it. */
#define OPTION_FILE_NAME "config"

struct option_words {
	VEC(char *) words; /* as the command line would have them: --name=value */
};

/* The lines of a text, which name stands for in messages: name:line. */
int option_file_parse(const char *text, const char *name, const struct option_spec *table,
		      struct option_words *ret_file, struct why *why) _must_check_;
/*
 * The file that --config of the words names, for a table that has that option; else nothing. Then the words of the
 * command line follow those of the file.
 */
int option_file_read(const struct option_spec *table, int argc, char **argv, struct option_words *ret_file,
		     struct why *why) _must_check_;
void option_file_done(struct option_words *file);
