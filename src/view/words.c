/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Each record as a block of lines: field, value, meaning. Unknown fields are omitted. */
#include "base/text.h"
#include "view/format.h"
#include "view/view.h"

struct state {
	bool any;
};

static void write_record(struct view *view, const struct record *record)
{
	struct buf *out = &view->out->pending;
	struct state *state = view->state;
	int width = 0;

	vec_each(&view->columns, column)
		width = max_of(width, (int)strlen(column->ref.field->name));
	if (state->any)
		out_end_line(view->out);
	state->any = true;
	vec_each(&view->columns, column) {
		const struct field *field = column->ref.field;
		struct value value = record_get(record, column->ref);
		_cleanup_buf_ struct buf text = BUF_INIT(BUF_CAP_DEFAULT);

		if (value.class == VALUE_UNKNOWN)
			continue;
		format_add_value(&text, field, &value);
		buf_add_format(out, "%-*s %-20s %s", width, field->name, buf_text(&text), field->help);
		out_end_line(view->out);
	}
}

static const struct view_class words_view = {
	.name = "words",
	.help = "one block per record: every known field with its meaning",
	.all_fields = true,
	.state_size = sizeof(struct state),
	.record = write_record,
};
VIEW_CLASS(words_view);
