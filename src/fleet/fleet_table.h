/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of the fleet: those of a recording that hold one row per happening (events, findings, verdicts, losses,
 * marks), with the columns of the key in front:
 *
 *	host, boot     where the row was recorded
 *	stream, row    start of the recording, and the number of the row in its table
 *
 * The key names a row once and for all: a row that arrives twice is the same row, and missing numbers are lost rows. A
 * field whose name is a column of the key has `event_` in front.
 */
#pragma once

#include "base/why.h"
#include "record/value.h"

#define FLEET_TABLE_MAX 64
#define FLEET_HOST_MAX  64
#define FLEET_BOOT_MAX  39

struct fleet_table {
	char name[FLEET_TABLE_MAX + 1]; /* tcp_close */
	struct shape shape;
	unsigned days; /* that rows are kept, where the server deletes old rows by itself */
};

/* By the name of the type or of the table; -ENOENT when rows of this kind are not shipped. */
int fleet_table_find(const char *name, struct fleet_table *ret_table) _must_check_;
/* All of them, sorted by name; the caller frees the array. */
struct fleet_table *fleet_table_list(size_t *ret_count);
/* The name of a field's column. */
void fleet_add_column_name(struct buf *out, const struct field *field);
bool fleet_is_key(const char *column);
