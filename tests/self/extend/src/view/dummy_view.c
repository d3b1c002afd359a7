/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A format: a line for each record, whatever is in it. */
#include "view/view.h"

static void write_record(struct view *view, const struct record *record)
{
	(void)record;
	buf_add_text(&view->out->pending, "a record");
	out_end_line(view->out);
}

static const struct view_class dummy_view = {
	.name = "dummy",
	.help = "a line for each record",
	.record = write_record,
};
VIEW_CLASS(dummy_view);
