/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An output format: it is told the columns, then sees records one by one. A new format is one file that registers a
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
	bool all_fields;                  /* hidden fields too, when the user named no columns */
	size_t state_size;                /* zeroed memory behind view->state */
	void (*begin)(struct view *view); /* each may be NULL but record */
	void (*record)(struct view *view, const struct record *record);
	void (*flush)(struct view *view); /* nothing more may come for a while: what was held back goes out */
	void (*again)(struct view *view); /* what follows is the next look at the same things */
	void (*end)(struct view *view);
};

REGISTRY(view_class, struct view_class);

#define VIEW_CLASS(object) REGISTER(view_class, struct view_class, object)

/* For tables: what stands for a text; an array of them ends with one of NULLs. */
struct view_word {
	const char *text;
	const char *shown;
};

struct view_column {
	struct field_ref ref;
	/* For tables: another heading than the field's name, and the field that fills in where it is unknown. */
	const char *heading;
	struct field_ref instead;
	struct field_ref prefix;       /* of an address: its length */
	const struct view_word *words; /* NULL: texts stand for themselves */
};

struct view {
	const struct view_class *class;
	struct out *out;
	VEC(struct view_column) columns;
	bool wide;
	bool repeated; /* the same things are sampled at intervals: a sample without a row still has its heading */
	bool stream;   /* records come one by one, as things happen */
	/* From now on a record changes nothing but the members below: threads may write, each with its own copy. */
	bool settled;
	void *state;
	struct buf cell; /* the one that is being written */
};

const struct view_class *view_class_find(const char *name);
