/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQL names and statements. */
#pragma once

#include <sqlite3.h>

#include "base/buf.h"

/* Quotes a name ("class" -> "\"class\""): some field and type names are SQL keywords. */
void sql_add_name(struct buf *sql, const char *name);
/* The type's name with _ for the dot. The caller frees it. */
char *sql_table_name(const char *type_name);

static inline void sql_finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

#define _cleanup_statement_ _cleanup_(sql_finalize)
