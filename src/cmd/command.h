/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command is one file in cmd/ that declares this and registers it; main finds it, parses its options, hands over. Help,
 * man page and completion come from the declaration.
 */
#pragma once

#include "base/exit_code.h"
#include "base/log.h"
#include "base/option.h"

struct command {
	const char *name;
	const char *summary;               /* one line, no full stop */
	const char *description;           /* paragraphs for help and man page, separated by blank lines; may be NULL */
	const char *const *examples;       /* "command line", "what it does", ..., NULL; may be NULL */
	const struct option_spec *options; /* may be NULL */
	size_t config_size;
	const void *defaults; /* of config_size bytes; NULL = all zero */
	/* Returns an exit code. */
	int (*run)(const void *config);
};

REGISTRY(command, struct command);

#define COMMAND(object) REGISTER(command, struct command, object)

/* All commands, sorted by name; the array is the caller's to free, the commands are not. */
const struct command **command_list(size_t *ret_count);
const struct command *command_find(const char *name);
bool command_exists(const char *name);
/* Parses the words after the command's name and runs it. */
int command_run(const struct command *command, int argc, char **argv);
/* The text of `nest CMD --help`. */
void command_add_help(const struct command *command, struct buf *out);
/* The same as a manual page in mdoc. */
void command_add_man(const struct command *command, struct buf *out);
