/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sequence diagram as a record: JSON, and the page that folds, zooms and searches. */
#include "record/bare.h"
#include "view/json.h"
#include "view/page.h"
#include "view/sequence.h"

/* Properties of the items, one list each. */
enum column { KIND, FROM, TO, DEPTH, TIMES, FOLDED, START, LATENCY, LABEL, COLUMNS };

struct document {
	const char *title;
	const char *note;
	uint64_t left_out;
	struct list lines;
	struct list labels;
	struct list columns[COLUMNS];
};

#define D                          struct document
#define COLUMN(column, name, help) FIELD_AS(D, columns[column], name, LIST, help, .element = &bare_number_type)
static const struct field document_fields[] = {
	FIELD(D, title, TEXT, "what is drawn"),
	FIELD(D, note, TEXT, "what to see in it"),
	FIELD(D, left_out, COUNT, "calls that are not included"),
	FIELD(D, lines, LIST, "names of the lifelines", .element = &bare_text_type),
	FIELD(D, labels, LIST, "names of calls, each once", .element = &bare_text_type),
	COLUMN(KIND, "kind",
	       "of each item, top to bottom: 0 call, 1 return, 2 loop, 3 its end, 4 gap, 5 value, 6 box, 7 its end"),
	COLUMN(FROM, "from", "lifeline where it begins"),
	COLUMN(TO, "to", "lifeline where it ends"),
	COLUMN(DEPTH, "depth", "depth of the call"),
	COLUMN(TIMES, "times", "repetitions: of a loop, or of a call in a row"),
	COLUMN(FOLDED, "folded", "calls inside that are not items"),
	COLUMN(START, "start_ns", "time since the start of the diagram"),
	COLUMN(LATENCY, "lat_ns", "duration"),
	COLUMN(LABEL, "label", "index in labels"),
};
#undef COLUMN
#undef D
static RECORD_TYPE(document_type, "flow_diagram", struct document, document_fields, "a sequence diagram");

/* What the lists of a document point to. */
struct content {
	bare_numbers columns[COLUMNS];
	struct bare_pool labels;
};

static void take_item(struct content *content, const struct sequence_item *item)
{
	const uint64_t values[COLUMNS] = {
		[KIND] = item->kind,
		[FROM] = item->from,
		[TO] = item->to,
		[DEPTH] = item->depth,
		[TIMES] = item->times,
		[FOLDED] = item->folded,
		[START] = item->start_ns,
		[LATENCY] = item->ns,
		[LABEL] = bare_pool_put(&content->labels, item->label ?: ""),
	};

	for (unsigned i = 0; i < COLUMNS; i++)
		vec_push(&content->columns[i], values[i]);
}

static struct document make(const struct sequence *sequence, struct content *content)
{
	struct document document = {.title = sequence->title, .note = sequence->note, .left_out = sequence->folded};

	*content = (struct content){};
	vec_each(&sequence->items, item)
		take_item(content, item);
	document.lines = BARE_LIST(&sequence->lines);
	document.labels = BARE_LIST(&content->labels.texts);
	for (unsigned i = 0; i < COLUMNS; i++)
		document.columns[i] = BARE_LIST(&content->columns[i]);
	return document;
}

static void content_done(struct content *content)
{
	for (unsigned i = 0; i < COLUMNS; i++)
		vec_done(&content->columns[i]);
	bare_pool_done(&content->labels);
}

void sequence_write_json(const struct sequence *sequence, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(sequence, &content);

	json_add_object(&out->pending, &document_type, &document);
	out_end_line(out);
}

void sequence_write_html(const struct sequence *sequence, struct out *out)
{
	_cleanup_(content_done) struct content content;
	struct document document = make(sequence, &content);

	if (page_write(out, "sequence", &document_type, &document))
		return;
	page_begin_plain(out, document.title ?: "nest flow diagram");
	sequence_write_svg(sequence, out);
	page_end_plain(out);
}
