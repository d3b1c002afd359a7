/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as a page: the record, shown by the components of web/. */
#include "base/text.h"
#include "report/report.h"
#include "view/page.h"

struct document {
	struct list report;
	struct list changes;
};

static const struct field document_fields[] = {
	FIELD(struct document, report, LIST, "the report", .element = &report_type, .single = true),
	FIELD(struct document, changes, LIST, "differences from another report, the largest first",
	      .element = &report_change_type),
};
static RECORD_TYPE(document_type, "report.page", struct document, document_fields, "a report, and what has changed");

/* In a program without components of pages: the text for a terminal. */
static void print_plain(const struct report_record *report, const struct list *changes, struct out *out)
{
	struct out text;

	out_init(&text, -1);
	text.kept = true;
	text.utf8 = true;
	text.width = 0;
	report_print(report, changes, &text);
	page_begin_plain(out, "nest report");
	buf_add_text(&out->pending, "<pre>");
	text_add_html(&out->pending, buf_text(&text.pending), text.pending.len);
	buf_add_text(&out->pending, "</pre>");
	page_end_plain(out);
	out_drop(&text);
}

void report_print_html(const struct report_record *report, const struct list *changes, struct out *out)
{
	struct document document = {.report = {report, 1}};

	if (changes)
		document.changes = *changes;
	if (!page_write(out, "report", &document_type, &document))
		print_plain(report, changes, out);
}
