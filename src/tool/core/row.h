/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of selected fields: a record type built at run time with copies of other types' fields; rows hold the values
 * themselves. Used for group keys and for the union of several events. Texts are interned, and padding and unknown
 * values have one form, so that equal rows are equal bytes.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/value.h"

struct row_layout {
	VEC(struct field) fields;
	uint32_t size;
	struct map texts;  /* text -> interned copy */
	struct map stacks; /* frames as text -> struct stack * */
};

void row_layout_init(struct row_layout *layout);
void row_layout_done(struct row_layout *layout);
/* Appends a copy of this field; its offset is in the last element of fields. */
void row_layout_add(struct row_layout *layout, const struct field *like);
/* Appends a field of the caller's struct, which follows the row; offset within that struct. */
void row_layout_add_after(struct row_layout *layout, const struct field *field, uint32_t base);
/*
 * Copies the value of a field (part NULL: unknown) to the layout's field with that index: of the same type, or an
 * unsigned number for a wider one.
 */
void row_set(struct row_layout *layout, size_t index, void *row, const struct field *from, const void *part);
