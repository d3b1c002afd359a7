/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sql.h"
#include "base/alloc.h"

void sql_add_name(struct buf *sql, const char *name)
{
	buf_add_char(sql, '"');
	for (; *name; name++) {
		if (*name == '"')
			buf_add_char(sql, '"');
		buf_add_char(sql, *name);
	}
	buf_add_char(sql, '"');
}

char *sql_table_name(const char *type_name)
{
	char *name = xstrdup(type_name);

	for (char *c = name; *c; c++)
		if (*c == '.')
			*c = '_';
	return name;
}
