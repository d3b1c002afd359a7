/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequence diagrams as Mermaid and PlantUML source. */
#include "view/format.h"
#include "view/sequence.h"

typedef void add_name(struct buf *out, const char *text);

/* Some characters are special in Mermaid and the rest is HTML; #NUMBER; is a plain character. */
static void add_mermaid_name(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if ((unsigned char)*text < ' ')
			buf_add_char(out, '_');
		else if (strchr("<>&;#\"\\", *text))
			buf_add_format(out, "#%u;", (unsigned)(unsigned char)*text);
		else
			buf_add_char(out, *text);
	}
}

/* In PlantUML some doubled characters are markup (__init__), unless after a tilde. */
static void add_plantuml_name(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("_*/-~", *text) && text[1] == *text) {
			buf_add_format(out, "~%c%c", text[0], text[1]);
			text++;
		} else if ((unsigned char)*text < ' ' || strchr(";#\\\"", *text)) {
			buf_add_char(out, '_');
		} else {
			buf_add_char(out, *text);
		}
	}
}

static void add_label(struct buf *out, const struct sequence_item *item, add_name *add)
{
	if (item->times > 1)
		buf_add_format(out, "%u x ", item->times);
	add(out, item->label ? item->label : "");
	if (item->ns) {
		buf_add_text(out, " ");
		format_add_duration(out, (int64_t)item->ns);
	}
	if (item->folded)
		buf_add_format(out, " (+%u call%s)", item->folded, item->folded == 1 ? "" : "s");
}

static void add_mermaid(const struct sequence_item *item, struct buf *out)
{
	switch (item->kind) {
	case SEQUENCE_CALL:
		buf_add_format(out, "    L%u->>+L%u: ", item->from, item->to);
		add_label(out, item, add_mermaid_name);
		break;
	case SEQUENCE_RETURN:
		buf_add_format(out, "    L%u-->>-L%u: return", item->from, item->to);
		break;
	case SEQUENCE_VALUE:
		buf_add_format(out, "    L%u-)L%u: ", item->from, item->to);
		add_label(out, item, add_mermaid_name);
		break;
	case SEQUENCE_LOOP:
		buf_add_format(out, "    loop %u times", item->times);
		break;
	case SEQUENCE_GAP:
		buf_add_text(out, "    Note over L0: nothing for ");
		format_add_duration(out, (int64_t)item->ns);
		break;
	case SEQUENCE_BOX:
		buf_add_format(out, "    rect rgb(255, 225, 220)\n    Note over L%u: ", item->to);
		add_mermaid_name(out, item->label ? item->label : "");
		break;
	default:
		buf_add_text(out, "    end");
		break;
	}
}

void sequence_write_mermaid(const struct sequence *s, struct out *out)
{
	buf_add_text(&out->pending, "sequenceDiagram");
	out_end_line(out);
	for (size_t i = 0; i < s->lines.count; i++) {
		buf_add_format(&out->pending, "    participant L%zu as ", i);
		add_mermaid_name(&out->pending, s->lines.items[i]);
		out_end_line(out);
	}
	vec_each(&s->items, item) {
		add_mermaid(item, &out->pending);
		out_end_line(out);
	}
}

static void add_plantuml(const struct sequence_item *item, struct buf *out)
{
	switch (item->kind) {
	case SEQUENCE_CALL:
		buf_add_format(out, "L%u -> L%u ++ : ", item->from, item->to);
		add_label(out, item, add_plantuml_name);
		break;
	case SEQUENCE_RETURN:
		buf_add_format(out, "L%u --> L%u --", item->from, item->to);
		break;
	case SEQUENCE_VALUE:
		buf_add_format(out, "L%u ->> L%u : ", item->from, item->to);
		add_label(out, item, add_plantuml_name);
		break;
	case SEQUENCE_LOOP:
		buf_add_format(out, "loop %u times", item->times);
		break;
	case SEQUENCE_GAP:
		buf_add_text(out, "... ");
		format_add_duration(out, (int64_t)item->ns);
		buf_add_text(out, " ...");
		break;
	case SEQUENCE_BOX:
		buf_add_text(out, "group ");
		add_plantuml_name(out, item->label ? item->label : "");
		break;
	default:
		buf_add_text(out, "end");
		break;
	}
}

void sequence_write_plantuml(const struct sequence *s, struct out *out)
{
	buf_add_text(&out->pending, "@startuml");
	out_end_line(out);
	if (s->title) {
		buf_add_text(&out->pending, "title ");
		add_plantuml_name(&out->pending, s->title);
		out_end_line(out);
	}
	for (size_t i = 0; i < s->lines.count; i++) {
		buf_add_text(&out->pending, "participant \"");
		add_plantuml_name(&out->pending, s->lines.items[i]);
		buf_add_format(&out->pending, "\" as L%zu", i);
		out_end_line(out);
	}
	vec_each(&s->items, item) {
		add_plantuml(item, &out->pending);
		out_end_line(out);
	}
	buf_add_text(&out->pending, "@enduml");
	out_end_line(out);
}
