/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/text.h"
#include "tool/core/draw.h"
#include "view/format.h"

static void add_field(const struct field *field, const void *row, struct buf *out)
{
	struct value value = value_get(field, row);

	buf_add_format(out, "%s%s ", out->len ? ", " : "", field->name);
	format_add_value(out, field, &value);
}

void draw_hist(const struct aggregate *aggregate, const void *row, struct out *out)
{
	const struct list *hist = aggregate_hist(aggregate, row);
	_cleanup_buf_ struct buf keys = BUF_INIT(65536);

	/* "comm nginx, rport 443" */
	for (size_t i = 0; i < aggregate_key_count(aggregate); i++)
		add_field(&aggregate_type(aggregate)->fields[i], row, &keys);
	if (keys.len) {
		buf_add_text(&out->pending, buf_text(&keys));
		out_end_line(out);
	}
	hist_print(out, aggregate_hist_field(aggregate), hist->items, hist->count, aggregate_max(aggregate, row));
	out_end_line(out);
}

bool draw_has_stack(const struct aggregate *aggregate)
{
	for (size_t i = 0; i < aggregate_key_count(aggregate); i++)
		if (aggregate_type(aggregate)->fields[i].kind == KIND_STACK)
			return true;
	return false;
}

static void draw_frames(const struct field *field, const void *row, struct out *out)
{
	struct value value = value_get(field, row);

	for (uint32_t i = 0; value.class == VALUE_STACK && i < value.stack->count; i++) {
		const char *frame = value.stack->frames[i];

		buf_add_text(&out->pending, "    ");
		text_add_terminal(&out->pending, frame, strlen(frame));
		out_end_line(out);
	}
	if (value.class != VALUE_STACK) {
		buf_add_format(&out->pending, "    %s unknown", field->name);
		out_end_line(out);
	}
}

/* Figures and other keys in one line, then the functions. */
void draw_stack(const struct aggregate *aggregate, const void *row, struct out *out)
{
	const struct record_type *type = aggregate_type(aggregate);
	_cleanup_buf_ struct buf rest = BUF_INIT(65536);

	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].kind != KIND_STACK && !type->fields[i].hidden)
			add_field(&type->fields[i], row, &rest);
	buf_add_text(&out->pending, buf_text(&rest));
	out_end_line(out);
	for (uint32_t i = 0; i < type->field_count; i++)
		if (type->fields[i].kind == KIND_STACK)
			draw_frames(&type->fields[i], row, out);
	out_end_line(out);
}
