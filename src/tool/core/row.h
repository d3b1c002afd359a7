/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows of chosen fields: a record type made at run time, whose fields are copies of other types' and whose rows hold
 * the values themselves. Keys of groups are such rows, and so are the joint records of several events. Texts are kept
 * once, and padding and unknown values have one form, so two rows with the same values are the same bytes.
 */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "record/value.h"

struct row_layout {
	VEC(struct field) fields;
	uint32_t size;
	struct map texts;  /* text -> its one copy */
	struct map stacks; /* frames as text -> struct stack * */
};

void row_layout_init(struct row_layout *layout);
void row_layout_done(struct row_layout *layout);
/* Appends a field like this one; its place is in the last of the fields. */
void row_layout_add(struct row_layout *layout, const struct field *like);
/* Appends a field of the caller's struct, which follows the others; offset as within that struct. */
void row_layout_add_after(struct row_layout *layout, const struct field *field, uint32_t base);
/* Copies the value of a field of a record (part NULL: unknown) to the layout's field with that index. */
void row_set(struct row_layout *layout, size_t index, void *row, const struct field *from, const void *part);
