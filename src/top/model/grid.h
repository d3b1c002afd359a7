/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of a table of nest top: copies of records, so that they can be looked at for as long as one likes while the next
 * snapshot is taken. Knows records and fields, nothing of what they are about. Filter, order and tree are computed when
 * rows or the choice change; cells are made only for rows that are drawn.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/expr.h"
#include "show/keeper.h"

/* Rows that are kept; more are counted. */
#define GRID_ROWS_MAX ((size_t)1 << 20)

/* A column: a field, and what a tree makes of it. */
struct grid_column {
	struct field_ref ref;
	struct field_ref instead; /* shown where the field is unknown; .field NULL: nothing */
	const char *heading;      /* NULL: the field's name */
	bool adds;                /* the sum of a group means something */
	uint8_t ink;              /* enum ink, of values that are known and not zero */
};

/* Rows with the same value of the field that the tree is made by. */
struct grid_group {
	char *name;
	uint32_t first, count; /* in `order` */
	bool folded;
};

/* What is drawn in one line. */
struct grid_line {
	uint32_t row;   /* UINT32_MAX: a group */
	uint32_t group; /* UINT32_MAX: not in a tree */
};

struct grid {
	const struct shape *shape;
	size_t row_size;
	size_t offsets[RECORD_PARTS_MAX];
	uint8_t *rows;
	size_t count, room;
	uint64_t refused; /* rows beyond GRID_ROWS_MAX */
	struct keeper keeper;
	/* The choice. */
	struct expr *where;
	struct expr *hide; /* rows that are left out and counted; NULL: none */
	struct field_ref sort;
	bool descending;
	struct field_ref tree; /* .field NULL: a flat table */
	struct map folded;     /* names of groups */
	/* What follows from it. */
	size_t hidden;
	VEC(uint32_t) order;
	VEC(struct grid_group) groups;
	VEC(struct grid_line) lines;
	struct map sums; /* of groups, as they were asked for */
};

void grid_init(struct grid *grid, const struct shape *shape);
void grid_done(struct grid *grid);
/* New rows follow. */
void grid_clear(struct grid *grid);
/* Copies the record with its texts and lists. */
void grid_add(struct grid *grid, const struct record *record);
struct record grid_record(const struct grid *grid, uint32_t row);
/* Filters, sorts and groups: after rows or the choice changed. */
void grid_arrange(struct grid *grid);
/* The value in a column, of the field that stands in for it where it is unknown; *ret_field is the one. */
struct value grid_value(const struct grid *grid, const struct grid_column *column, uint32_t row,
			const struct field **ret_field);
/* The sum of a column over a group; unknown if a value was. */
struct value grid_sum(struct grid *grid, const struct grid_column *column, const struct grid_group *group);
/* Folds or unfolds a group. */
void grid_fold(struct grid *grid, uint32_t group);
void grid_fold_all(struct grid *grid, bool folded);
/* Whether two records have the same value in a field. */
bool grid_same(const struct record *a, const struct record *b, struct field_ref ref);
