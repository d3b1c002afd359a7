/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table as it is looked at: its rows, the chosen columns, order, filter and tree, and the selected row. */
#pragma once

#include "top/model/top_table.h"

#define BOARD_COLUMNS_MAX 64
#define BOARD_FLAT        UINT32_MAX

struct board {
	const struct top_table *table;
	struct grid grid;
	void *state; /* of the table */
	VEC(struct grid_column) columns;
	unsigned widths[BOARD_COLUMNS_MAX]; /* of columns; they only grow, so that nothing jumps */
	unsigned first_column;              /* scrolled to the right */
	uint32_t first;                     /* the first line that is shown */
	uint32_t selected;                  /* line */
	struct buf selected_id;             /* of the row; empty: a group, or none */
	char *where;                        /* text of the filter; NULL: none */
	char *always;                       /* what the command line selects; NULL: everything */
	uint32_t tree;                      /* index in the table's trees, or BOARD_FLAT */
	bool all;                           /* also rows that the table hides */
	bool changed;                       /* the user chose columns, order or tree */
};

struct board *board_new(const struct top_table *table);
void board_free(struct board *board);
/* Takes new rows and keeps the selection. */
void board_fill(struct board *board, const struct top_moment *moment);
/* After a choice changed. */
void board_arrange(struct board *board);
/* The filter; "" or NULL: none. -EINVAL with a caret. */
int board_set_where(struct board *board, const char *text, struct why *why) _must_check_;
/* Shows rows that the table hides, or hides them again. */
void board_show_all(struct board *board, bool all);
/* What the command line selects; a table without these fields shows everything. */
void board_set_always(struct board *board, const char *text);
/* A field; "-field" is descending. False: the table has no such field. */
bool board_set_sort(struct board *board, const char *text);
bool board_set_tree(struct board *board, const char *field);
/* Names separated by commas. False, and nothing changed, if one is not a field. */
bool board_set_columns(struct board *board, const char *names);
void board_add_columns(const struct board *board, struct buf *out);
/* A field, in or out. */
void board_toggle_column(struct board *board, struct field_ref ref);
/* Moves the selection by lines; clamped. */
void board_move(struct board *board, int64_t lines);
void board_select(struct board *board, uint32_t line);
/* The selected line; NULL: there is none. */
const struct grid_line *board_line(const struct board *board);
/* The selected record; false: none, or a group. */
bool board_record(const struct board *board, struct record *ret_record);
/* What makes the row the same again. */
void board_add_id(const struct board *board, const struct record *record, struct buf *out);
/* The row with that identity; UINT32_MAX: gone. */
uint32_t board_find(const struct board *board, const char *id);
/* Selects the next line in which a shown cell contains the text, ignoring case; false: none. */
bool board_search(struct board *board, const char *text, bool next);
/* Words behind `nest` that show the same rows. */
void board_add_command(const struct board *board, struct buf *out);
