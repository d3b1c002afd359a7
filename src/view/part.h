/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For formats that use certain fields of any record. */
#pragma once

#include <string.h>

#include "view/view.h"

/* Fills refs with the columns of these names; missing ones have no field. */
static inline void view_find_parts(const struct view *view, const char *const *names, unsigned count,
				   struct field_ref *refs)
{
	vec_each(&view->columns, column)
		for (unsigned i = 0; i < count; i++)
			if (strcmp(column->ref.field->name, names[i]) == 0)
				refs[i] = column->ref;
}

static inline struct value view_part(const struct record *record, struct field_ref ref)
{
	return ref.field ? record_get(record, ref) : (struct value){.class = VALUE_UNKNOWN};
}
