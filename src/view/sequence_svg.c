/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sequence diagram as SVG. */
#include "base/text.h"
#include "view/format.h"
#include "view/sequence.h"

#define ROW      20
#define TOP      84
#define LEFT     16
#define LINE_MIN 110
#define LINE_MAX 230
#define LETTER   7

static void xml_add_text(struct buf *out, const char *text)
{
	text_add_html(out, text, strlen(text));
}

struct picture {
	const struct sequence *s;
	struct buf *out;
	unsigned pitch; /* distance of lifelines */
	unsigned width, height;
	unsigned *open; /* open calls per lifeline */
};

static unsigned x_of(const struct picture *p, uint32_t line)
{
	return LEFT + p->pitch / 2 + line * p->pitch;
}

static unsigned y_of(size_t row)
{
	return TOP + (unsigned)row * ROW + ROW / 2;
}

static void add_title(const struct picture *p, const char *text, unsigned y, const char *class)
{
	buf_add_format(p->out, "<text class=\"%s\" x=\"%u\" y=\"%u\">", class, LEFT, y);
	xml_add_text(p->out, text);
	buf_add_text(p->out, "</text>\n");
}

static void add_life_lines(const struct picture *p)
{
	for (uint32_t i = 0; i < p->s->lines.count; i++) {
		const char *name = p->s->lines.items[i];
		size_t n = strlen(name), room = (p->pitch - 14) / LETTER;

		buf_add_format(p->out,
			       "<line class=\"life\" x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>"
			       "<rect class=\"head\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"22\" rx=\"3\"/>"
			       "<text class=\"name\" x=\"%u\" y=\"%u\"><title>",
			       x_of(p, i), TOP - 6, x_of(p, i), p->height - 12, x_of(p, i) - p->pitch / 2 + 4, TOP - 28,
			       p->pitch - 8, x_of(p, i), TOP - 13);
		xml_add_text(p->out, name);
		buf_add_text(p->out, "</title>");
		if (n > room)
			buf_add_text(p->out, "…");
		xml_add_text(p->out, n > room ? name + (n - room + 1) : name);
		buf_add_text(p->out, "</text>\n");
	}
}

static void add_label(struct buf *out, const struct sequence_item *item)
{
	if (item->times > 1)
		buf_add_format(out, "%u × ", item->times);
	xml_add_text(out, item->label ? item->label : "");
	if (item->folded)
		buf_add_format(out, " (+%u call%s)", item->folded, item->folded == 1 ? "" : "s");
	if (item->ns) {
		buf_add_text(out, "<tspan class=\"time\" dx=\"6\">");
		format_add_duration(out, (int64_t)item->ns);
		buf_add_text(out, "</tspan>");
	}
}

static void add_arrow(const struct picture *p, const struct sequence_item *item, size_t row)
{
	unsigned from = x_of(p, item->from), to = x_of(p, item->to), y = y_of(row);
	const char *class = item->kind == SEQUENCE_RETURN ? "return" : item->kind == SEQUENCE_VALUE ? "value" : "call";

	if (from == to && item->kind == SEQUENCE_RETURN)
		return;
	if (from == to)
		buf_add_format(p->out, "<path class=\"%s\" d=\"M%u %u h16 v8 h-10\" marker-end=\"url(#%s-end)\"/>",
			       class, from, y - 2, class);
	else
		buf_add_format(
			p->out,
			"<line class=\"%s\" x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" marker-end=\"url(#%s-end)\"/>",
			class, from, y, to > from ? to - 4 : to + 4, y, class);
	if (item->kind == SEQUENCE_RETURN) {
		buf_add_text(p->out, "\n");
		return;
	}
	buf_add_format(p->out, "<text class=\"label\" x=\"%u\" y=\"%u\">",
		       from == to ? from + 22 : min_of(from, to) + 8, from == to ? y + 2 : y - 4);
	add_label(p->out, item);
	buf_add_text(p->out, "</text>\n");
}

/* A frame is as wide as its content, so it is drawn at its end; this keeps its start. */
struct frame {
	size_t row;
	const struct sequence_item *item;
	uint32_t first, last; /* lifelines */
	unsigned right;       /* end of the longest label */
};

static void add_frame(const struct picture *p, const struct frame *frame, size_t row, unsigned level)
{
	bool box = frame->item->kind == SEQUENCE_BOX;
	unsigned inset = min_of(level, 8u) * 4, top = y_of(frame->row) - ROW / 2 + 2;
	unsigned left = x_of(p, frame->first) - p->pitch / 2 + 2 + inset;
	unsigned right = max_of(x_of(p, frame->last) + p->pitch / 2, frame->right + 8);

	right = min_of(right, p->width - LEFT / 2) - inset;
	buf_add_format(p->out,
		       "<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"3\"/>"
		       "<text class=\"%s-name\" x=\"%u\" y=\"%u\">",
		       box ? "box" : "loop", left, top, right - left, y_of(row) - top + 4, box ? "box" : "loop",
		       left + 6, top + 13);
	if (box) {
		xml_add_text(p->out, frame->item->label ? frame->item->label : "");
	} else {
		buf_add_format(p->out, "loop %u times", frame->item->times);
		if (frame->item->ns) {
			buf_add_text(p->out, ", ");
			format_add_duration(p->out, (int64_t)frame->item->ns);
			buf_add_text(p->out, " in total");
		}
	}
	buf_add_text(p->out, "</text>\n");
}

static unsigned label_end(const struct picture *p, const struct sequence_item *item)
{
	unsigned letters =
		(unsigned)(item->label ? strlen(item->label) : 0) + (item->folded ? 14 : 0) + (item->ns ? 8 : 0);
	unsigned begin = item->from == item->to ? x_of(p, item->from) + 22 : x_of(p, min_of(item->from, item->to)) + 8;

	return item->kind == SEQUENCE_RETURN ? 0 : begin + letters * LETTER;
}

static void widen(struct frame *frame, uint32_t first, uint32_t last, unsigned right)
{
	frame->first = min_of(frame->first, first);
	frame->last = max_of(frame->last, last);
	frame->right = max_of(frame->right, right);
}

/* The frames of one kind; boxes are filled and drawn first. */
static void add_frames(const struct picture *p, enum sequence_kind kind)
{
	VEC(struct frame) open = {};

	for (size_t i = 0; i < p->s->items.count; i++) {
		const struct sequence_item *item = &p->s->items.items[i];

		if (item->kind == SEQUENCE_LOOP || item->kind == SEQUENCE_BOX) {
			vec_push(&open, (struct frame){.row = i, .item = item, .first = UINT32_MAX});
		} else if ((item->kind == SEQUENCE_LOOP_END || item->kind == SEQUENCE_BOX_END) && open.count) {
			struct frame frame = open.items[--open.count];

			if (frame.item->kind == kind && frame.first != UINT32_MAX)
				add_frame(p, &frame, i, (unsigned)open.count);
			if (open.count)
				widen(&open.items[open.count - 1], frame.first, frame.last, frame.right);
		} else if (open.count && item->kind != SEQUENCE_GAP) {
			widen(&open.items[open.count - 1], min_of(item->from, item->to), max_of(item->from, item->to),
			      label_end(p, item));
		}
	}
	vec_done(&open);
}

static void add_gap(const struct picture *p, const struct sequence_item *item, size_t row)
{
	buf_add_format(p->out,
		       "<rect class=\"gap\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\"/><text class=\"gap-name\" "
		       "x=\"%u\" y=\"%u\">",
		       LEFT / 2, y_of(row) - 8, p->width - LEFT, ROW - 4, p->width / 2, y_of(row) + 4);
	format_add_duration(p->out, (int64_t)item->ns);
	buf_add_text(p->out, " without a call</text>\n");
}

/* Ends the innermost open call of that lifeline; two programs in one diagram return independently. */
static size_t take_call(const struct picture *p, size_t *open, size_t *count, uint32_t line)
{
	size_t at = *count - 1, found;

	while (at && p->s->items.items[open[at]].to != line)
		at--;
	found = open[at];
	memmove(open + at, open + at + 1, (*count - at - 1) * sizeof(*open));
	--*count;
	return found;
}

/* Bars on the lifelines, from a call to its return. */
static void add_bars(const struct picture *p)
{
	VEC(size_t) open = {};

	for (size_t i = 0; i < p->s->items.count; i++) {
		const struct sequence_item *item = &p->s->items.items[i];

		if (item->kind == SEQUENCE_CALL) {
			vec_push(&open, i);
			p->open[item->to]++;
		} else if (item->kind == SEQUENCE_RETURN && open.count) {
			size_t begin = take_call(p, open.items, &open.count, item->from);
			uint32_t line = p->s->items.items[begin].to;

			p->open[line]--;
			buf_add_format(p->out, "<rect class=\"bar\" x=\"%u\" y=\"%u\" width=\"8\" height=\"%u\"/>\n",
				       x_of(p, line) - 4 + min_of(p->open[line], 6u) * 3, y_of(begin),
				       max_of(y_of(i) - y_of(begin), 4u));
		}
	}
	vec_done(&open);
}

static void add_items(const struct picture *p)
{
	for (size_t i = 0; i < p->s->items.count; i++) {
		const struct sequence_item *item = &p->s->items.items[i];

		if (item->kind == SEQUENCE_GAP)
			add_gap(p, item, i);
		else if (item->kind == SEQUENCE_CALL || item->kind == SEQUENCE_RETURN || item->kind == SEQUENCE_VALUE)
			add_arrow(p, item, i);
	}
}

static const char *const style =
	"<style>text{font:12px sans-serif;fill:#222}.title{font-size:15px;font-weight:bold}.note{fill:#a22}"
	".name{text-anchor:middle;font-weight:bold}.head{fill:#eef3fa;stroke:#7a93b5}.life{stroke:#b9c4d3;stroke-"
	"dasharray:4 3}"
	".bar{fill:#dce8f7;stroke:#7a93b5}.call{stroke:#224;fill:none}.return{stroke:#889;stroke-dasharray:3 3}"
	".value{stroke:#0a7d2c;stroke-width:2;fill:none}.label{font-family:monospace;font-size:11px}.time{fill:#1559b0}"
	".loop{fill:none;stroke:#9a7fb8}.loop-name{fill:#6a4a90;font-size:11px}.box{fill:#fff0ee;stroke:#c22;stroke-"
	"width:2}"
	".box-name{fill:#a11;font-weight:bold;font-size:11px}.gap{fill:#f6f2e4}.gap-name{fill:#865;text-anchor:middle;"
	"font-size:11px}"
	"</style>\n<defs>"
	"<marker id=\"call-end\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\"><path "
	"d=\"M0 0L8 4L0 8z\" fill=\"#224\"/></marker>"
	"<marker id=\"return-end\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\"><path "
	"d=\"M0 0L7 4L0 8\" fill=\"none\" stroke=\"#889\"/></marker>"
	"<marker id=\"value-end\" markerWidth=\"8\" markerHeight=\"8\" refX=\"6\" refY=\"4\" orient=\"auto\"><path "
	"d=\"M0 0L8 4L0 8z\" fill=\"#0a7d2c\"/></marker>"
	"</defs>\n";

void sequence_write_svg(const struct sequence *s, struct out *out)
{
	struct picture p = {.s = s, .out = &out->pending, .pitch = LINE_MIN};
	size_t lines = max_of(s->lines.count, (size_t)1);

	vec_each(&s->lines, line)
		p.pitch = max_of(p.pitch, min_of((unsigned)strlen(*line) * LETTER + 24, (unsigned)LINE_MAX));
	/* Room at the right for the labels of the last lifeline. */
	p.width = LEFT * 2 + p.pitch * (unsigned)lines + 160;
	p.height = TOP + (unsigned)(s->items.count + 2) * ROW;
	p.open = xzalloc(lines * sizeof(*p.open));
	out->pending.cap = max_of(out->pending.cap, (size_t)1 << 30);
	buf_add_format(p.out,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\">\n",
		       p.width, p.height, p.width, p.height);
	buf_add_text(p.out, style);
	buf_add_format(p.out, "<rect width=\"%u\" height=\"%u\" fill=\"#fff\"/>\n", p.width, p.height);
	add_frames(&p, SEQUENCE_BOX);
	if (s->title)
		add_title(&p, s->title, 22, "title");
	if (s->note)
		add_title(&p, s->note, 42, "note");
	add_life_lines(&p);
	add_bars(&p);
	add_frames(&p, SEQUENCE_LOOP);
	add_items(&p);
	buf_add_text(p.out, "</svg>");
	out_end_line(out);
	free(p.open);
}
