/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "view/list.h"
#include "view/view.h"

void list_print(struct out *out, const struct record_type *type, const struct list *list)
{
	struct shape shape = SHAPE_OF(type);
	struct view view = {.class = view_class_find("table"), .out = out};
	struct field_ref at = {};

	while (shape_next(&shape, &at))
		if (!at.field->hidden)
			vec_push(&view.columns, (struct view_column){.ref = at});
	view.state = xzalloc(view.class->state_size);
	if (view.class->begin)
		view.class->begin(&view);
	for (uint32_t i = 0; i < list->count; i++)
		view.class->record(&view, &RECORD_OF((const char *)list->items + (size_t)i * type->size));
	if (view.class->flush)
		view.class->flush(&view);
	if (view.class->end)
		view.class->end(&view);
	buf_done(&view.cell);
	free(view.state);
	vec_done(&view.columns);
}
