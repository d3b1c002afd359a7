/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables by name: those of the snapshot, and those of commands that show one (nest sockets). What a command would look
 * at is borrowed from it (run/look.h), so that rows are those of its --json.
 */
#pragma once

#include "run/command.h"
#include "run/look.h"

/* What a name stands for. */
struct table_name {
	const struct command *command;
	const char *table; /* of the snapshot, where the command is `tables` */
};

bool table_name_find(const char *name, struct table_name *ret_name);
/* Calls take with what the command would look at; an exit code. */
int table_name_borrow(const struct table_name *name, int (*take)(const struct look *look, void *context),
		      void *context);
/* The same for each table: *name and *help are set before. */
void table_name_each(int (*take)(const struct look *look, void *context), const char **name, const char **help,
		     void *context);
/* The fields of the rows, with the headings of the columns. The aliases are the caller's. */
struct shape table_name_shape(const struct look *look, struct field_alias **ret_aliases);
