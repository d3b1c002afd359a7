/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A screen of nest top is a table that registers itself: which records, which columns, sorted by what, grouped by what.
 * The screen draws, sorts, filters and explains it and knows nothing else about it.
 *
 *	static const struct top_column columns[] = {{"dev"}, {"rx_rate", .adds = true}, {}};
 *	static const struct top_table links_table = {
 *		.name = "interfaces", .key = '5', .help = "interfaces with rates", .types = needs,
 *		.shape = {2, {&link_type, &link_move_type}}, .columns = columns, .sort = "-rx_rate", .id = {"dev"},
 *		.fill = fill_links,
 *	};
 *	TOP_TABLE(links_table);
 */
#pragma once

#include "show/findings.h"
#include "snapshot/core/snapshot.h"
#include "top/draw/canvas.h"
#include "top/model/grid.h"

struct top_column {
	const char *field;
	const char *heading; /* NULL: the field's name */
	const char *instead; /* the field shown where this one is unknown */
	bool adds;           /* the sum of a group means something */
	enum ink ink;        /* of values that are known and not zero */
};

/* Where one can go from a row: another table with a filter, or a command. */
struct top_link {
	char *label;
	char *table;   /* its name; NULL: a command */
	char *command; /* words after `nest`; or the filter of the table */
};

struct top_links {
	VEC(struct top_link) items;
};

void top_links_done(struct top_links *links);
/* The filter, or the words behind `nest`, as in printf. */
void top_links_add(struct top_links *links, const char *table, const char *label, const char *format, ...)
	_printf_(4, 5);

/* What tables are filled from. */
struct top_moment {
	const struct snapshot *snapshot;
	struct findings *findings;
	bool live;
	const char *flow; /* a function trace that was given; NULL: none */
};

#define TOP_IDS_MAX   4
#define TOP_TREES_MAX 8
#define TOP_PLOTS_MAX 6

struct top_table {
	const char *name;
	const char *tab;     /* a shorter name for narrow terminals; NULL: the same */
	char key;            /* that shows it; 0: only in the list of tables */
	const char *help;    /* one line */
	const char *command; /* of nest, that shows the same rows; NULL: nest tables; "": none does */
	const struct record_type *const *types; /* of the snapshot; NULL at the end */
	struct shape shape;
	const struct top_column *columns; /* ends with one without a field; NULL: all that are not hidden */
	const char *sort;                 /* a field; "-field": largest first; NULL: as they come */
	const char *hide;                 /* an expression: rows left out until the user asks for them; may be NULL */
	const char *hidden;               /* what they are called: "in TIME_WAIT" */
	const char *trees[TOP_TREES_MAX]; /* fields that rows can be grouped by */
	const char *id[TOP_IDS_MAX];      /* fields that make it the same row again */
	const char *plots[TOP_PLOTS_MAX]; /* fields drawn over time for one row */
	unsigned first_part;              /* details: of the shape, the part that comes before the others */
	bool texts_first;                 /* details: what it says comes before figures over time */
	bool runs;                        /* Enter follows the first link instead of showing details */
	size_t state_size;                /* zeroed memory that stays from one filling to the next */
	void (*fill)(struct grid *grid, const struct top_moment *moment, void *state);
	void (*release)(void *state);                                        /* may be NULL */
	void (*links)(const struct record *record, struct top_links *links); /* may be NULL */
};

REGISTRY(top_table, struct top_table);

#define TOP_TABLE(object) REGISTER(top_table, struct top_table, object)

/* Those with a key in the order of their keys, then the others by name; the caller frees the array. */
const struct top_table **top_table_list(size_t *ret_count);
const struct top_table *top_table_find(const char *name);
