/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file of SVG without scripts: what a ticket or a paper wants. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "path/picture.h"
#include "path/waterfall.h"
#include "view/format.h"

#define WIDTH   1080
#define MARGIN  16
#define ROW     18
#define LABELS  290 /* where bars and maps begin */
#define MAP_H   52
#define MAP_GAP 8
#define LETTER  6.7
#define TITLE_H 56
#define HEAD_H  46 /* of a waterfall: title and the widest gap */
#define AXIS_H  24
#define SECTION 34
#define TICKS   4

struct drawing {
	const struct path_picture *picture;
	struct buf *svg;
	double y;
};

static const char *const style =
	"<style>text{font:12px "
	"sans-serif;fill:#1d2330}.h{font-size:16px;font-weight:bold}.s{font-size:14px;font-weight:bold}"
	".b{font-weight:bold}.q{fill:#5d6779}.w{fill:#b3261e;font-weight:bold}.n{text-anchor:end}.m{font-family:"
	"monospace}"
	".wait{fill:#e0812a}.hardirq{fill:#8a4fbf}.softirq{fill:#2f74c0}.process{fill:#2f9a5f}.back{fill:#f5f7fa}"
	".cell{fill:#c83c14}.grid{stroke:#dbe0e8}</style>\n";

/* class is one or two of the style's letters. */
static void add_text(const struct drawing *d, double x, double y, const char *class, const char *text)
{
	buf_add_format(d->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	text_add_html(d->svg, text, strlen(text));
	buf_add_text(d->svg, "</text>\n");
}

/* The same, cut where the picture ends; the whole is shown when pointed at. */
static void add_line(const struct drawing *d, double x, double y, const char *class, const struct buf *text)
{
	size_t room = (size_t)((WIDTH - MARGIN - x) / LETTER), n = text->len;

	buf_add_format(d->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\"><title>", class, x, y);
	text_add_html(d->svg, buf_text(text), n);
	buf_add_text(d->svg, "</title>");
	if (n > room) {
		/* Not inside of a letter. */
		for (n = room; n > 0 && ((unsigned char)text->data[n] & 0xc0) == 0x80;)
			n--;
		text_add_html(d->svg, text->data, n);
		buf_add_text(d->svg, "…</text>\n");
		return;
	}
	text_add_html(d->svg, buf_text(text), n);
	buf_add_text(d->svg, "</text>\n");
}

static void add_duration(const struct drawing *d, double x, double y, uint64_t ns)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);

	format_add_duration(&text, (int64_t)ns);
	add_text(d, x, y, "n", buf_text(&text));
}

static void add_section(struct drawing *d, const char *title)
{
	d->y += SECTION;
	add_text(d, MARGIN, d->y - 8, "s", title);
}

/* --- waterfalls --- */

static void add_stage(struct drawing *d, const struct journey *journey, const struct journey_stage *stage)
{
	_cleanup_buf_ struct buf cpu = BUF_INIT(16);
	double total = journey->total_ns ? (double)journey->total_ns : 1, room = WIDTH - MARGIN - LABELS;
	double x = LABELS + (double)stage_offset(journey, stage) / total * room;
	/* What took no time has no bar, what took little can be seen. */
	double width = stage->ns ? fmax((double)stage->ns / total * room, 1.5) : 0;

	buf_add_format(d->svg, "<g><rect class=\"back\" x=\"%d\" y=\"%.1f\" width=\"%.0f\" height=\"%d\"/>", LABELS,
		       d->y + 1, room, ROW - 2);
	buf_add_format(d->svg,
		       "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%d\" rx=\"2\"/><title>",
		       stage_kind_names[stage_kind(stage)], fmin(x, WIDTH - MARGIN - 1.5), d->y + 2, width, ROW - 4);
	journey_add_gap(d->svg, journey, stage);
	buf_add_text(d->svg, "</title></g>\n");
	add_text(d, MARGIN + 8, d->y + 13, stage == journey_widest(journey) ? "w" : "b", stage_name(stage));
	add_duration(d, 140, d->y + 13, stage_offset(journey, stage));
	add_duration(d, 200, d->y + 13, stage->ns);
	stage_add_cpu(&cpu, stage);
	add_text(d, 220, d->y + 13, "q", buf_text(&cpu));
	add_text(d, 240, d->y + 13, "q", stage_context(stage));
	d->y += ROW;
}

static void add_waterfall(struct drawing *d, const struct journey *journey)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), gap = BUF_INIT(4096), hidden = BUF_INIT(4096);

	format_add_duration(&title, (int64_t)journey->total_ns);
	buf_add_char(&title, ' ');
	journey_add_title(&title, journey);
	add_line(d, MARGIN, d->y + 16, "b", &title);
	journey_add_widest(&gap, journey);
	add_line(d, MARGIN + 8, d->y + 33, "w", &gap);
	d->y += HEAD_H - 4;
	for (uint32_t i = 0; i < journey->stage_count; i++)
		add_stage(d, journey, &journey->stages[i]);
	journey_add_hidden(&hidden, journey);
	if (hidden.len) {
		add_line(d, MARGIN + 8, d->y + 13, "q", &hidden);
		d->y += ROW;
	}
	d->y += 10;
}

static void add_legend(struct drawing *d)
{
	static const char *const names[] = {"waiting", "hard interrupt", "softirq", "process"};
	double x = LABELS;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		buf_add_format(d->svg,
			       "<rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"11\" height=\"11\" rx=\"2\"/>\n",
			       stage_kind_names[i], x, d->y - 18);
		add_text(d, x + 16, d->y - 8, "q", names[i]);
		x += 36 + LETTER * (double)strlen(names[i]);
	}
}

/* --- heat maps --- */

static void add_cells(const struct drawing *d, unsigned layer, unsigned low, unsigned high)
{
	const struct heat *heat = d->picture->heat;
	double width = (double)(WIDTH - MARGIN - LABELS) / heat_columns(heat),
	       height = (double)MAP_H / (high - low + 1);
	double most = heat_most(heat, layer);

	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = low; row <= high; row++) {
			uint32_t count = heat_get(heat, layer, column, row);

			if (count == 0)
				continue;
			buf_add_format(d->svg,
				       "<rect class=\"cell\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				       "fill-opacity=\"%.2f\"/>",
				       LABELS + width * column, d->y + MAP_H - height * (row - low + 1), fmax(width, 1),
				       height, 0.12 + 0.88 * sqrt(count / most));
		}
	buf_add_char(d->svg, '\n');
}

static void add_map(struct drawing *d, unsigned layer)
{
	_cleanup_buf_ struct buf name = BUF_INIT(64);
	unsigned low, high;

	if (!path_layer_rows(d->picture->heat, layer, &low, &high))
		return;
	path_layer_add_name(&name, layer);
	add_text(d, MARGIN + 8, d->y + MAP_H / 2.0 + 4, "b", buf_text(&name));
	add_duration(d, LABELS - 8, d->y + 11, hist_log2_slot(high).hi + 1);
	add_duration(d, LABELS - 8, d->y + MAP_H - 2, heat_row_first(low));
	buf_add_format(d->svg, "<rect class=\"back\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n", LABELS, d->y,
		       WIDTH - MARGIN - LABELS, MAP_H);
	add_cells(d, layer, low, high);
	d->y += MAP_H + MAP_GAP;
}

static void add_time_axis(struct drawing *d)
{
	static const char *const anchors[] = {"start", "middle", "middle", "middle", "end"};
	const struct heat *heat = d->picture->heat;

	for (unsigned i = 0; i <= TICKS; i++) {
		uint64_t columns = heat_columns(heat),
			 ns = (heat->first << heat->shift) + (columns << heat->shift) / TICKS * i;

		buf_add_format(d->svg, "<text class=\"q\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
			       LABELS + (double)(WIDTH - MARGIN - LABELS) * i / TICKS, d->y + 10, anchors[i]);
		format_add_time(d->svg, ns);
		buf_add_text(d->svg, "</text>\n");
	}
	d->y += AXIS_H;
}

/* --- the whole --- */

static void add_body(struct drawing *d)
{
	const struct path_picture *picture = d->picture;

	if (picture->slowest->journeys.count == 0) {
		add_text(d, MARGIN, d->y + 20, "w", "No journey was seen.");
		d->y += SECTION;
		return;
	}
	add_section(d, "The slowest journeys");
	add_legend(d);
	vec_each(&picture->slowest->journeys, journey)
		add_waterfall(d, journey);
	add_section(d, "Every stage over time: higher is longer, darker is more often");
	for (unsigned layer = 0; layer < PATH_LAYERS; layer++)
		add_map(d, layer);
	add_time_axis(d);
	vec_each(&picture->summary->groups, group) {
		_cleanup_buf_ struct buf words = BUF_INIT(4096);

		summary_add_title(picture->summary, *group, &words);
		buf_add_text(&words, ": ");
		tail_add_words(&words, &(*group)->tail);
		add_line(d, MARGIN, d->y + 12, "w", &words);
		d->y += ROW;
	}
}

void picture_write_svg(const struct path_picture *picture, struct out *out)
{
	_cleanup_buf_ struct buf body = BUF_INIT((size_t)64 << 20), note = BUF_INIT(65536);
	struct drawing drawing = {.picture = picture, .svg = &body, .y = TITLE_H};

	add_text(&drawing, MARGIN, 26, "h", "nest path: where packets spent their time");
	buf_add_text(&note, picture->note);
	add_line(&drawing, MARGIN, 46, "q", &note);
	add_body(&drawing);
	buf_add_format(
		&out->pending,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">",
		WIDTH, drawing.y + 8, WIDTH, drawing.y + 8);
	buf_add_text(&out->pending, style);
	buf_add_text(&out->pending, "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
	(void)out_flush(out);
	buf_add(&out->pending, buf_text(&body), body.len);
	buf_add_text(&out->pending, "</svg>");
	out_end_line(out);
}
