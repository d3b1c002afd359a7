/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of SQL, and its statements. */
#pragma once

#include <sqlite3.h>

#include "base/buf.h"

/* "class" -> "\"class\"": names are fields' and types' own, but some are words of SQL. */
void sql_add_name(struct buf *sql, const char *name);
/* A table's name: that of the type, with _ for the dot. To be freed. */
char *sql_table_name(const char *type_name);

static inline void sql_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

#define _cleanup_statement_ _cleanup_(sql_finalize)
