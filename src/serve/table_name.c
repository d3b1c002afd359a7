/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/table_name.h"

#include <string.h>

#include "base/alloc.h"

bool table_name_find(const char *name, struct table_name *ret_name)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	const struct command *command = command_find(name);

	if (command && look_is(command) && strcmp(name, "tables") != 0) {
		*ret_name = (struct table_name){.command = command};
		return true;
	}
	for (size_t i = 0; i < snapshot->table_count; i++)
		if (strcmp(snapshot->tables[i].type->name, name) == 0) {
			*ret_name = (struct table_name){command_find("tables"), snapshot->tables[i].type->name};
			return true;
		}
	return false;
}

int table_name_borrow(const struct table_name *name, int (*take)(const struct look *look, void *context), void *context)
{
	char *words[2] = {(char *)name->table, NULL};

	return look_borrow(name->command, name->table ? 1 : 0, words, take, context);
}

struct shape table_name_shape(const struct look *look, struct field_alias **ret_aliases)
{
	struct shape shape = *look->shape;

	*ret_aliases = output_aliases(look->columns);
	shape.aliases = *ret_aliases;
	return shape;
}

void table_name_each(int (*take)(const struct look *look, void *context), const char **name, const char **help,
		     void *context)
{
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	_cleanup_free_ const struct command **commands = NULL;
	size_t count;

	commands = command_list(&count);
	for (size_t i = 0; i < count; i++)
		if (look_is(commands[i]) && strcmp(commands[i]->name, "tables") != 0) {
			*name = commands[i]->name;
			*help = commands[i]->summary;
			(void)table_name_borrow(&(struct table_name){.command = commands[i]}, take, context);
		}
	for (size_t i = 0; i < snapshot->table_count; i++) {
		*name = snapshot->tables[i].type->name;
		*help = snapshot->tables[i].type->help;
		(void)table_name_borrow(&(struct table_name){command_find("tables"), *name}, take, context);
	}
}
