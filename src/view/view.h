/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output format: gets the columns, then the records one by one. A new format is one file that registers a
 * view_class; `--format NAME` finds it.
 */
#pragma once

#include "base/out.h"
#include "base/vec.h"
#include "record/value.h"

struct view;

struct view_class {
	const char *name;
	const char *help;
	bool all_fields;                  /* also hidden fields, unless --show selects columns */
	const char *needs;                /* a column without which it shows nothing; NULL: none */
	const char *lacks;                /* the error without it: "--format NAME needs ..." */
	size_t state_size;                /* size of view->state, zeroed */
	void (*begin)(struct view *view); /* only record is mandatory */
	void (*record)(struct view *view, const struct record *record);
	void (*flush)(struct view *view); /* writes buffered rows */
	void (*again)(struct view *view); /* the next sample starts */
	void (*end)(struct view *view);
};

REGISTRY(view_class, struct view_class);

#define VIEW_CLASS(object) REGISTER(view_class, struct view_class, object)

/* For tables: replacement of a text; an array ends with NULLs. */
struct view_word {
	const char *text;
	const char *shown;
};

struct view_column {
	struct field_ref ref;
	/* For tables: a heading other than the field's name, and the field shown when this one is unknown. */
	const char *heading;
	struct field_ref instead;
	struct field_ref prefix;       /* of an address: its prefix length */
	const struct view_word *words; /* NULL: no replacements */
};

struct view {
	const struct view_class *class;
	struct out *out;
	VEC(struct view_column) columns;
	bool wide;
	bool repeated; /* sampled at intervals: a sample without rows still shows the header */
	bool stream;   /* records arrive one by one, as events happen */
	/* Once set, a record changes only the members below: threads may write, each with its own copy. */
	bool settled;
	void *state;
	struct buf cell; /* the current cell */
};

const struct view_class *view_class_find(const char *name);
