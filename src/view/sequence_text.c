/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sequence diagram for a terminal. */
#include "base/text.h"
#include "view/format.h"
#include "view/sequence.h"

/* Lifelines are close together and named by letters: a terminal is narrow. */
#define COLUMN 5

struct canvas {
	const struct sequence *s;
	struct out *out;
	size_t column; /* width of one lifeline */
	char *line;    /* the current row */
	size_t width;
};

static size_t middle(const struct canvas *c, uint32_t line)
{
	return line * c->column + c->column / 2;
}

static void begin_row(struct canvas *c)
{
	memset(c->line, ' ', c->width);
	for (uint32_t i = 0; i < c->s->lines.count; i++)
		c->line[middle(c, i)] = '|';
}

static void put(struct canvas *c, size_t at, const char *text)
{
	for (size_t i = 0; text[i] && at + i < c->width; i++)
		c->line[at + i] = text[i];
}

/* Labels that do not fit go after the diagram. */
static void end_row(struct canvas *c, const char *behind)
{
	size_t n = c->width;

	while (n && c->line[n - 1] == ' ')
		n--;
	if (*behind) {
		buf_add(&c->out->pending, c->line, max_of(n, c->s->lines.count * c->column));
		buf_add_text(&c->out->pending, " ");
		text_add_terminal(&c->out->pending, behind, strlen(behind));
	} else {
		buf_add(&c->out->pending, c->line, n);
	}
	out_end_line(c->out);
}

/* A ... Z, a ... z, then numbers. */
static void put_letter(uint32_t line, char text[16])
{
	if (line < 52)
		snprintf(text, 16, "%c", line < 26 ? 'A' + (int)line : 'a' + (int)line - 26);
	else
		snprintf(text, 16, "%u", line);
}

static void draw_names(struct canvas *c)
{
	char letter[16];

	for (uint32_t i = 0; i < c->s->lines.count; i++) {
		put_letter(i, letter);
		buf_add_format(&c->out->pending, "  %s  ", letter);
		text_add_terminal(&c->out->pending, c->s->lines.items[i], strlen(c->s->lines.items[i]));
		out_end_line(c->out);
	}
	out_end_line(c->out);
	memset(c->line, ' ', c->width);
	for (uint32_t i = 0; i < c->s->lines.count; i++) {
		put_letter(i, letter);
		put(c, middle(c, i), letter);
	}
	end_row(c, "");
}

static void draw_arrow(struct canvas *c, const struct sequence_item *item)
{
	size_t from = middle(c, item->from), to = middle(c, item->to), low = min_of(from, to), high = max_of(from, to);
	char dash = item->kind == SEQUENCE_RETURN ? '.' : item->kind == SEQUENCE_VALUE ? '=' : '-';

	if (from == to) {
		put(c, from, item->kind == SEQUENCE_RETURN ? "|<." : item->kind == SEQUENCE_VALUE ? "|=>" : "|->");
		return;
	}
	for (size_t i = low + 1; i < high; i++)
		c->line[i] = dash;
	c->line[to > from ? high - 1 : low + 1] = to > from ? '>' : '<';
}

static void add_label(struct buf *out, const struct sequence_item *item)
{
	buf_add_fill(out, ' ', (size_t)min_of(item->depth, 40u) * 2);
	if (item->times > 1)
		buf_add_format(out, "%u x ", item->times);
	buf_add_text(out, item->label ? item->label : "");
	if (item->ns) {
		buf_add_text(out, " ");
		format_add_duration(out, (int64_t)item->ns);
	}
	if (item->folded)
		buf_add_format(out, " (+%u call%s inside)", item->folded, item->folded == 1 ? "" : "s");
}

static void draw_item(struct canvas *c, const struct sequence_item *item)
{
	_cleanup_buf_ struct buf label = BUF_INIT(8192);

	begin_row(c);
	switch (item->kind) {
	case SEQUENCE_CALL:
	case SEQUENCE_VALUE:
		draw_arrow(c, item);
		add_label(&label, item);
		break;
	case SEQUENCE_RETURN:
		draw_arrow(c, item);
		break;
	case SEQUENCE_GAP:
		for (uint32_t i = 0; i < c->s->lines.count; i++)
			c->line[middle(c, i)] = ':';
		buf_add_text(&label, "... ");
		format_add_duration(&label, (int64_t)item->ns);
		break;
	case SEQUENCE_LOOP:
		buf_add_fill(&label, ' ', (size_t)min_of(item->depth, 40u) * 2);
		buf_add_format(&label, "[ loop %u times", item->times);
		if (item->ns) {
			buf_add_text(&label, ", ");
			format_add_duration(&label, (int64_t)item->ns);
			buf_add_text(&label, " in total");
		}
		break;
	case SEQUENCE_LOOP_END:
		buf_add_fill(&label, ' ', (size_t)min_of(item->depth, 40u) * 2);
		buf_add_text(&label, "]");
		break;
	case SEQUENCE_BOX:
		memset(c->line, '*', c->s->lines.count * c->column);
		buf_add_format(&label, "** %s", item->label ? item->label : "");
		break;
	default:
		memset(c->line, '*', c->s->lines.count * c->column);
		break;
	}
	end_row(c, buf_text(&label));
}

void sequence_write_text(const struct sequence *s, struct out *out)
{
	struct canvas c = {.s = s, .out = out, .column = COLUMN};

	c.width = max_of(s->lines.count, (size_t)1) * c.column;
	c.line = xmalloc(c.width);
	if (s->title) {
		text_add_terminal(&out->pending, s->title, strlen(s->title));
		out_end_line(out);
	}
	if (s->note) {
		text_add_terminal(&out->pending, s->note, strlen(s->note));
		out_end_line(out);
	}
	draw_names(&c);
	vec_each(&s->items, item)
		draw_item(&c, item);
	free(c.line);
}
