/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>

#include "base/text.h"
#include "view/flame.h"
#include "view/format.h"

#define WIDTH  1200.0
#define ROW    18
#define TOP    50
#define LETTER 6.6
/* Narrower boxes are counted in a note, not drawn. */
#define NARROW 0.3

void flame_done(struct flame *flame)
{
	vec_done(&flame->boxes);
}

struct spot {
	double x, width;
	unsigned depth;
	double used; /* width used by boxes above it */
};

struct layout {
	struct spot *spots;
	unsigned depth;
	size_t hidden;
	double all;
};

static void place(const struct flame *f, struct layout *l)
{
	double at = 0;

	l->spots = xzalloc(max_of(f->boxes.count, (size_t)1) * sizeof(*l->spots));
	for (size_t i = 0; i < f->boxes.count; i++)
		l->all += f->boxes.items[i].parent == i ? (double)f->boxes.items[i].value : 0;
	for (size_t i = 0; i < f->boxes.count; i++) {
		const struct flame_box *box = &f->boxes.items[i];
		struct spot *spot = &l->spots[i];

		spot->width = l->all > 0 ? WIDTH * (double)box->value / l->all : 0;
		if (box->parent == i) {
			spot->x = at;
			at += spot->width;
		} else {
			struct spot *below = &l->spots[box->parent];

			spot->x = below->x + below->used;
			below->used += spot->width;
			spot->depth = below->depth + 1;
		}
		if (spot->width >= NARROW)
			l->depth = max_of(l->depth, spot->depth);
		else
			l->hidden++;
	}
}

static void add_color(const struct flame *f, const struct flame_box *box, struct buf *out)
{
	unsigned hash = 0;

	if (f->is_difference) {
		double more = (double)box->value - (double)box->before;
		double share = more / max_of((double)max_of(box->value, box->before), 1.0);
		unsigned pale = (unsigned)(245 - 150 * min_of(fabs(share), 1.0));

		buf_add_format(out, share >= 0 ? "rgb(250,%u,%u)" : "rgb(%u,%u,250)", pale, pale);
		return;
	}
	for (const char *c = box->name; *c; c++)
		hash = hash * 31 + (unsigned char)*c;
	buf_add_format(out, "rgb(%u,%u,%u)", 225 + hash % 25, 150 + hash / 25 % 80, 70 + hash / 2000 % 50);
}

static void add_value(const struct flame *f, uint64_t value, struct buf *out)
{
	if (f->is_time)
		format_add_duration(out, (int64_t)value);
	else
		format_add_count(out, (int64_t)value);
}

static void add_box(const struct flame *f, const struct layout *l, size_t i, struct buf *out)
{
	const struct flame_box *box = &f->boxes.items[i];
	const struct spot *spot = &l->spots[i];
	unsigned y = TOP + (l->depth - spot->depth) * ROW;
	size_t room = spot->width > 8 ? (size_t)((spot->width - 6) / LETTER) : 0, n = strlen(box->name);

	buf_add_format(out, "<g><title>");
	text_add_html(out, box->name, n);
	buf_add_text(out, ": ");
	add_value(f, box->value, out);
	if (f->is_difference) {
		buf_add_text(out, ", others ");
		add_value(f, box->before, out);
	}
	/* Time between sessions has no calls. */
	if (box->count)
		buf_add_format(out, ", %llu call%s", (unsigned long long)box->count, box->count == 1 ? "" : "s");
	buf_add_format(out, "</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%u\" fill=\"", spot->x, y,
		       spot->width, ROW - 1);
	add_color(f, box, out);
	buf_add_text(out, "\"/>");
	if (room >= 3) {
		buf_add_format(out, "<text x=\"%.2f\" y=\"%u\">", spot->x + 3, y + 13);
		text_add_html(out, box->name, min_of(n, n > room ? room - 1 : room));
		buf_add_text(out, n > room ? "…</text>" : "</text>");
	}
	buf_add_text(out, "</g>");
}

void flame_write_svg(const struct flame *f, struct out *out)
{
	struct layout l = {};
	unsigned height;

	place(f, &l);
	height = TOP + (l.depth + 1) * ROW + 10;
	buf_add_format(&out->pending,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%u\" viewBox=\"0 0 %.0f %u\">"
		       "<style>text{font:11px monospace}.t{font:bold 14px sans-serif}.n{font:12px "
		       "sans-serif;fill:#a11}</style>"
		       "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/><text class=\"t\" x=\"8\" y=\"20\">",
		       WIDTH, height, WIDTH, height);
	text_add_html(&out->pending, f->title, strlen(f->title));
	buf_add_text(&out->pending, "</text><text class=\"n\" x=\"8\" y=\"38\">");
	text_add_html(&out->pending, f->note ? f->note : "", f->note ? strlen(f->note) : 0);
	if (l.hidden)
		buf_add_format(&out->pending, " (%zu box%s too narrow to draw)", l.hidden, l.hidden == 1 ? "" : "es");
	buf_add_text(&out->pending, "</text>");
	out_end_line(out);
	for (size_t i = 0; i < f->boxes.count; i++)
		if (l.spots[i].width >= NARROW) {
			add_box(f, &l, i, &out->pending);
			out_end_line(out);
		}
	buf_add_text(&out->pending, "</svg>");
	out_end_line(out);
	free(l.spots);
}
