/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One line for each row with a stack or text: the texts, user functions, kernel functions, and the count. Rows are
 * aggregates of events; a single event counts once.
 */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "view/folded.h"
#include "view/part.h"

void folded_add_stack(struct buf *line, const struct stack *stack, const char *mark)
{
	for (uint32_t i = stack->count; stack->frames && i-- > 0;) {
		buf_add_char(line, ';');
		text_add_folded(line, stack->frames[i], strlen(stack->frames[i]));
		buf_add_text(line, mark);
	}
}

static void add_texts(struct buf *line, const struct view *view, const struct record *record)
{
	vec_each(&view->columns, column) {
		struct value value = record_get(record, column->ref);

		if (column->ref.field->kind != KIND_TEXT)
			continue;
		if (line->len)
			buf_add_char(line, ';');
		text_add_folded(line, value.class == VALUE_TEXT ? value.text : "-",
				value.class == VALUE_TEXT ? value.len : 1);
	}
}

static void write_record(struct view *view, const struct record *record)
{
	static const char *const names[] = {"ustack", "kstack", "count"};
	struct field_ref refs[ARRAY_SIZE(names)] = {};
	struct buf *line = &view->out->pending;
	_cleanup_buf_ struct buf words = BUF_INIT(1 << 16);
	struct value count;

	view_find_parts(view, names, ARRAY_SIZE(names), refs);
	add_texts(&words, view, record);
	for (unsigned i = 0; i < 2; i++) {
		struct value stack = view_part(record, refs[i]);

		if (stack.class == VALUE_STACK)
			folded_add_stack(&words, stack.stack, i ? "_[k]" : "");
	}
	if (words.len == 0)
		return;
	count = view_part(record, refs[2]);
	buf_add_format(line, "%s %" PRIu64, buf_text(&words) + (buf_text(&words)[0] == ';'),
		       count.class == VALUE_UNKNOWN ? UINT64_C(1) : count.uint);
	out_end_line(view->out);
}

static const struct view_class folded_view = {
	.name = "folded",
	.help = "folded stacks for flame graph programs, with counts",
	.record = write_record,
};
VIEW_CLASS(folded_view);
