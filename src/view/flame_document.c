/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph as a record: JSON, and the page that zooms and searches. */
#include "record/bare.h"
#include "view/flame.h"
#include "view/json.h"
#include "view/page.h"

/* Properties of the boxes, one list each. */
enum column { PARENT, VALUE, BEFORE, COUNT, NAME, COLUMNS };

struct document {
	const char *title;
	const char *note;
	bool is_time;
	bool is_difference;
	struct list names;
	struct list columns[COLUMNS];
};

#define D                          struct document
#define COLUMN(column, name, help) FIELD_AS(D, columns[column], name, LIST, help, .element = &bare_number_type)
static const struct field document_fields[] = {
	FIELD(D, title, TEXT, "what is drawn"),
	FIELD(D, note, TEXT, "what to see in it"),
	FIELD(D, is_time, BOOL, "values are nanoseconds"),
	FIELD(D, is_difference, BOOL, "values are compared with those before"),
	FIELD(D, names, LIST, "names of functions, each once", .element = &bare_text_type),
	COLUMN(PARENT, "parent", "of each box, callers first: the box below it; its own number: none"),
	COLUMN(VALUE, "value", "width, with the boxes above it"),
	COLUMN(BEFORE, "before", "what it is compared with, in the same unit"),
	COLUMN(COUNT, "count", "calls; 0: time between sessions"),
	COLUMN(NAME, "name", "index in names"),
};
#undef COLUMN
#undef D
static RECORD_TYPE(document_type, "flow_flame", struct document, document_fields, "a flame graph");

/* What the lists of a document point to. */
struct content {
	bare_numbers columns[COLUMNS];
	struct bare_pool names;
};

static struct document make(const struct flame *flame, struct content *content)
{
	struct document document = {.title = flame->title,
				    .note = flame->note,
				    .is_time = flame->is_time,
				    .is_difference = flame->is_difference};

	*content = (struct content){};
	vec_each(&flame->boxes, box) {
		vec_push(&content->columns[PARENT], box->parent);
		vec_push(&content->columns[VALUE], box->value);
		vec_push(&content->columns[BEFORE], box->before);
		vec_push(&content->columns[COUNT], box->count);
		vec_push(&content->columns[NAME], bare_pool_put(&content->names, box->name));
	}
	document.names = BARE_LIST(&content->names.texts);
	for (unsigned i = 0; i < COLUMNS; i++)
		document.columns[i] = BARE_LIST(&content->columns[i]);
	return document;
}

static void content_done(struct content *content)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		vec_done(&content->columns[i]);
	bare_pool_done(&content->names);
}

void flame_write_json(const struct flame *flame, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(flame, &content);

	json_add_object(&out->pending, &document_type, &document);
	out_end_line(out);
}

void flame_write_html(const struct flame *flame, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(flame, &content);

	if (page_write(out, "flame", &document_type, &document))
		return;
	page_begin_plain(out, flame->title);
	flame_write_svg(flame, out);
	page_end_plain(out);
}
