/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One SVG file without scripts, for tickets and papers. */
#include <inttypes.h>
#include <math.h>

#include "base/text.h"
#include "path/draw/picture.h"
#include "path/journey/journey_words.h"
#include "view/format.h"

#define WIDTH    1080
#define MARGIN   16
#define ROW      18
#define LABELS   290 /* x where bars and maps start */
#define MAP_H    52
#define MAP_GAP  8
#define LETTER   6.7
#define LINE     16
#define VERDICTS 12 /* groups with a verdict, at most */
#define AXIS_H   24
#define SECTION  34
#define TICKS    4

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

/* class: one or two of the classes in the style sheet. */
static void add_text(const struct drawing *d, double x, double y, const char *class, const char *text)
{
	buf_add_format(d->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	text_add_html(d->svg, text, strlen(text));
	buf_add_text(d->svg, "</text>\n");
}

/* Bytes of the text that fit into room characters, broken at a space if possible; at least one character. */
static size_t fitting(const char *text, size_t room)
{
	size_t n = strlen(text), at;

	if (n <= room)
		return n;
	for (at = room; at > room / 2 && text[at] != ' ';)
		at--;
	/* Do not split a UTF-8 character. */
	for (at = text[at] == ' ' ? at : room; at > 1 && ((unsigned char)text[at] & 0xc0) == 0x80;)
		at--;
	return at;
}

/* Wrapped text at the current position; continuation lines are indented. */
static void add_lines(struct drawing *d, double x, const char *class, const struct buf *text)
{
	for (const char *rest = buf_text(text); *rest; x = MARGIN + 16) {
		size_t n = fitting(rest, (size_t)((WIDTH - MARGIN - x) / LETTER));

		d->y += LINE;
		buf_add_format(d->svg, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, d->y);
		text_add_html(d->svg, rest, n);
		buf_add_text(d->svg, "</text>\n");
		rest += n + strspn(rest + n, " ");
	}
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
	/* No bar for a stage that took no time; at least a visible one for any other. */
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

/* Column headings of a waterfall. */
static void add_columns(struct drawing *d)
{
	d->y += LINE;
	add_text(d, MARGIN + 8, d->y, "q", "stage");
	add_text(d, 140, d->y, "q n", "at");
	add_text(d, 200, d->y, "q n", "took");
	add_text(d, 212, d->y, "q", "cpu");
	add_text(d, 240, d->y, "q", "context");
	d->y += 4;
}

static void add_waterfall(struct drawing *d, const struct journey *journey)
{
	_cleanup_buf_ struct buf title = BUF_INIT(4096), plain = BUF_INIT(65536), gap = BUF_INIT(4096),
				 hidden = BUF_INIT(4096);

	format_add_duration(&title, (int64_t)journey->total_ns);
	buf_add_char(&title, ' ');
	journey_add_title(&title, journey);
	buf_add_text(&title, ", ");
	format_add_time(&title, journey->time_ns);
	/* Without characters that hide or reverse others. */
	text_add_terminal(&plain, buf_text(&title), title.len);
	add_lines(d, MARGIN, "b", &plain);
	journey_add_widest(&gap, journey);
	add_lines(d, MARGIN + 8, "w", &gap);
	if (journey->stage_count)
		add_columns(d);
	for (uint32_t i = 0; i < journey->stage_count; i++)
		add_stage(d, journey, &journey->stages[i]);
	journey_add_hidden(&hidden, journey);
	add_lines(d, MARGIN + 8, "q", &hidden);
	d->y += 14;
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

static void add_cells(const struct drawing *d, const struct path_map *map)
{
	const struct heat *heat = d->picture->heat;
	double width = (double)(WIDTH - MARGIN - LABELS) / heat_columns(heat),
	       height = (double)MAP_H / path_map_rows(map);
	double most = heat_most(heat, map->layer);

	for (unsigned column = 0; column < heat_columns(heat); column++)
		for (unsigned row = 0; row < HEAT_ROWS; row++) {
			uint32_t count = heat_get(heat, map->layer, column, row);
			unsigned place = path_map_place(map, row);

			if (count == 0 || place == PATH_NO_ROW)
				continue;
			buf_add_format(d->svg,
				       "<rect class=\"cell\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				       "fill-opacity=\"%.2f\"/>",
				       LABELS + width * column, d->y + MAP_H - height * (place + 1), fmax(width, 1),
				       height, 0.12 + 0.88 * sqrt(count / most));
		}
	buf_add_char(d->svg, '\n');
}

static void add_map(struct drawing *d, unsigned number)
{
	_cleanup_buf_ struct buf name = BUF_INIT(64), low = BUF_INIT(64), high = BUF_INIT(64), most = BUF_INIT(64);
	struct path_map map;

	if (!path_map_get(d->picture->heat, number, &map))
		return;
	path_map_add_name(&name, &map);
	path_map_add_low(&low, &map);
	path_map_add_high(&high, &map);
	buf_add_format(&most, "at most %u per cell", heat_most(d->picture->heat, map.layer));
	add_text(d, MARGIN + 8, d->y + MAP_H / 2.0 - 2, "b", buf_text(&name));
	add_text(d, MARGIN + 8, d->y + MAP_H / 2.0 + 14, "q", buf_text(&most));
	add_text(d, LABELS - 8, d->y + 11, "n", buf_text(&high));
	add_text(d, LABELS - 8, d->y + MAP_H - 2, "n", buf_text(&low));
	buf_add_format(d->svg, "<rect class=\"back\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\"/>\n", LABELS, d->y,
		       WIDTH - MARGIN - LABELS, MAP_H);
	add_cells(d, &map);
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

/* Cause of the tail first, per group. */
static void add_verdicts(struct drawing *d)
{
	const struct summary *summary = d->picture->summary;
	size_t said = min_of(summary->groups.count, (size_t)VERDICTS);
	_cleanup_buf_ struct buf rest = BUF_INIT(64);

	for (size_t i = 0; i < said; i++) {
		_cleanup_buf_ struct buf words = BUF_INIT(4096);
		const struct summary_group *group = summary->groups.items[i];
		struct tail_verdict verdict;
		bool owned = tail_judge(&group->tail, &verdict) && verdict.owner;

		summary_add_title(summary, group, &words);
		buf_add_text(&words, ": ");
		tail_add_words(&words, &group->tail);
		add_lines(d, MARGIN, owned ? "w" : "q", &words);
	}
	if (summary->groups.count > said)
		buf_add_format(&rest, "%zu more; --html shows all groups", summary->groups.count - said);
	add_lines(d, MARGIN, "q", &rest);
}

static void add_body(struct drawing *d)
{
	_cleanup_buf_ struct buf heading = BUF_INIT(256);
	const struct path_picture *picture = d->picture;

	if (picture->slowest->journeys.count == 0) {
		add_text(d, MARGIN, d->y + 20, "w", "No journeys seen.");
		d->y += SECTION;
		return;
	}
	add_verdicts(d);
	picture_add_heading(&heading, picture);
	add_section(d, buf_text(&heading));
	add_legend(d);
	vec_each(&picture->slowest->journeys, journey)
		add_waterfall(d, journey);
	add_section(d, "Stages over time: up is slower, darker is more frequent");
	for (unsigned number = 0; number < PATH_MAPS; number++)
		add_map(d, number);
	add_time_axis(d);
}

void picture_write_svg(const struct path_picture *picture, struct out *out)
{
	_cleanup_buf_ struct buf body = BUF_INIT((size_t)64 << 20), note = BUF_INIT(65536);
	struct drawing drawing = {.picture = picture, .svg = &body, .y = 30};

	add_text(&drawing, MARGIN, 26, "h", "nest path: where packets spent their time");
	text_add_terminal(&note, picture->note, strlen(picture->note));
	add_lines(&drawing, MARGIN, "q", &note);
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
