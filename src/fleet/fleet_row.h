/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows on the wire: one JSON object per line (ClickHouse: JSONEachRow), the key in front. A value is what a recording
 * stores: flags and handles are numbers, names of enums and addresses text, lists and stacks JSON in a text, unknown is
 * null.
 */
#pragma once

#include <sqlite3.h>

#include "fleet/fleet_table.h"

/* Who sends. */
struct fleet_origin {
	char host[FLEET_HOST_MAX + 1];
	char boot[FLEET_BOOT_MAX + 1];
	uint64_t stream;
};

/* Everything before the number of the row; rows of one origin begin with the same bytes. */
void fleet_row_add_head(struct buf *out, const struct fleet_origin *origin);
/* The cells behind the number of the row, each with a comma in front; returns the time of the row, 0 without one. */
uint64_t fleet_row_add_cells(struct buf *out, const struct shape *shape, const struct record *record);
/* The same from a row of a recording, column by column; a value that does not fit its field is left out. */
uint64_t fleet_row_add_stored(struct buf *out, sqlite3_stmt *statement, int first_column,
			      const struct field *const *fields, size_t count);
/*
 * Whether the text holds this many lines, each a flat JSON object of this origin with rows numbered from first on; the
 * reason otherwise. For what comes from the network.
 */
int fleet_row_check(const char *text, size_t len, const struct fleet_origin *origin, uint64_t first, uint64_t rows,
		    struct why *why) _must_check_;
