/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The windows of TCP connections over time as SVG: one plot per connection, with cwnd, ssthresh, data in flight and the
 * receive window, all in segments, and a mark for each retransmission. Needs records with those fields (tcp.probe,
 * tcp.retransmit).
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/text.h"
#include "view/format.h"
#include "view/part.h"

/* Points kept; later ones are counted. */
#define POINTS_MAX      300000
#define CONNECTIONS_MAX 4096
/* Connections drawn: those with most points. */
#define PANELS_MAX 8

#define WIDTH      960
#define HEIGHT     240
#define LEFT       60
#define RIGHT      20
#define TOP        34
#define BOTTOM     30

enum line { CWND, SSTHRESH, INFLIGHT, WINDOW, LINES };

static const struct {
	const char *name;
	const char *color;
} lines[LINES] = {
	[CWND] = {"congestion window", "#1f77b4"},
	[SSTHRESH] = {"slow start threshold", "#9467bd"},
	[INFLIGHT] = {"in flight", "#2ca02c"},
	[WINDOW] = {"receive window", "#ff7f0e"},
};

enum part { TIME, EVENT, LADDR, LPORT, RADDR, RPORT, P_CWND, P_SSTHRESH, P_INFLIGHT, P_WINDOW, P_MSS, PARTS };

struct point {
	uint64_t time_ns;
	float values[LINES]; /* segments; negative: unknown */
	uint32_t connection;
	uint32_t is_retransmit;
};

struct ends {
	struct endpoint local;
	struct endpoint remote;
};

struct panel {
	struct ends ends;
	uint32_t index;
	uint32_t points;
	uint32_t retransmits;
	float top; /* largest value drawn */
};

struct state {
	struct field_ref refs[PARTS];
	struct map connections; /* struct ends -> index of its panel */
	VEC(struct panel) panels;
	VEC(struct point) points;
	uint64_t left_out;
};

static void begin(struct view *view)
{
	static const char *const names[PARTS] = {"time_ns", "event",    "laddr",          "lport",    "raddr", "rport",
						 "cwnd",    "ssthresh", "inflight_bytes", "peer_wnd", "mss"};
	struct state *state = view->state;

	state->connections = MAP_INIT(sizeof(struct ends), sizeof(uint32_t), CONNECTIONS_MAX);
	view_find_parts(view, names, PARTS, state->refs);
}

static struct value part_of(const struct state *state, const struct record *record, enum part part)
{
	return view_part(record, state->refs[part]);
}

static float number_of(const struct state *state, const struct record *record, enum part part)
{
	struct value value = part_of(state, record, part);

	return value.class == VALUE_UINT ? (float)value.uint : -1;
}

/* Its panel, or NULL when there are too many. */
static struct panel *panel_of(struct state *state, const struct record *record)
{
	struct value laddr = part_of(state, record, LADDR), raddr = part_of(state, record, RADDR);
	uint32_t *index;
	struct ends ends;
	bool is_new;

	if (laddr.class != VALUE_ADDR || raddr.class != VALUE_ADDR)
		return NULL;
	memset(&ends, 0, sizeof(ends));
	ends.local.addr = *laddr.addr;
	ends.remote.addr = *raddr.addr;
	ends.local.port = (uint16_t)number_of(state, record, LPORT);
	ends.remote.port = (uint16_t)number_of(state, record, RPORT);
	index = map_put(&state->connections, &ends, &is_new);
	if (!index)
		return NULL;
	if (is_new) {
		*index = (uint32_t)state->panels.count;
		vec_push(&state->panels, (struct panel){.ends = ends, .index = *index});
	}
	return &state->panels.items[*index];
}

static void note(struct view *view, const struct record *record)
{
	struct state *state = view->state;
	struct value time = part_of(state, record, TIME), event = part_of(state, record, EVENT);
	float mss = number_of(state, record, P_MSS);
	struct panel *panel = state->points.count < POINTS_MAX ? panel_of(state, record) : NULL;
	struct point point = {.values = {-1, -1, -1, -1}};

	if (!panel || time.class != VALUE_UINT) {
		state->left_out++;
		return;
	}
	point.time_ns = time.uint;
	point.connection = panel->index;
	point.is_retransmit = event.class == VALUE_TEXT && strcmp(event.text, "tcp.retransmit") == 0;
	point.values[CWND] = number_of(state, record, P_CWND);
	point.values[SSTHRESH] = number_of(state, record, P_SSTHRESH);
	if (mss > 0) {
		point.values[INFLIGHT] = number_of(state, record, P_INFLIGHT) / mss;
		point.values[WINDOW] = number_of(state, record, P_WINDOW) / mss;
	}
	panel->points++;
	panel->retransmits += point.is_retransmit;
	/* The receive window may be far above the others: it does not set the scale. */
	for (unsigned i = CWND; i <= INFLIGHT; i++)
		if (i != SSTHRESH && point.values[i] > panel->top)
			panel->top = point.values[i];
	vec_push(&state->points, point);
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

struct scale {
	uint64_t first_ns;
	double px_per_ns;
	double px_per_segment;
	double bottom; /* y of zero */
	double top;    /* y of the upper edge */
};

static double x_of(const struct scale *scale, uint64_t time_ns)
{
	return LEFT + (double)(time_ns - scale->first_ns) * scale->px_per_ns;
}

static double y_of(const struct scale *scale, float value)
{
	double y = scale->bottom - (double)value * scale->px_per_segment;

	return y < scale->top ? scale->top : y;
}

/* Steps: a value lasts until the next one. Of several in the same tenth of a pixel, draw the largest. */
static void draw_line(struct view *view, const struct panel *panel, const struct scale *scale, enum line line)
{
	struct state *state = view->state;
	struct buf *out = &view->out->pending;
	double at_x = -1, at_y = 0;
	bool begun = false;

	vec_each(&state->points, point) {
		double x, y;

		if (point->connection != panel->index || point->values[line] < 0)
			continue;
		x = x_of(scale, point->time_ns);
		y = y_of(scale, point->values[line]);
		if (begun && x - at_x < 0.1) {
			at_y = y < at_y ? y : at_y;
			continue;
		}
		if (!begun)
			buf_add_format(out, "<path fill=\"none\" stroke=\"%s\" d=\"M%.1f %.1f", lines[line].color, x,
				       y);
		else
			buf_add_format(out, "V%.1fH%.1f", at_y, x);
		begun = true;
		at_x = x;
		at_y = y;
	}
	if (!begun)
		return;
	buf_add_format(out, "V%.1f\"/>", at_y);
	out_end_line(view->out);
}

static void draw_marks(struct view *view, const struct panel *panel, const struct scale *scale)
{
	struct state *state = view->state;

	vec_each(&state->points, point)
		if (point->connection == panel->index && point->is_retransmit) {
			buf_add_format(&view->out->pending,
				       "<path stroke=\"#d62728\" stroke-width=\"1.5\" d=\"M%.1f %.1fv-8\"/>",
				       x_of(scale, point->time_ns), scale->bottom);
			out_end_line(view->out);
		}
}

static void draw_text(struct view *view, double x, double y, const char *anchor, const char *text)
{
	buf_add_format(&view->out->pending, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>", x, y, anchor,
		       text);
	out_end_line(view->out);
}

/* Distance of two ticks: 1, 2 or 5 times a power of ten, at least this. */
static double round_step(double least)
{
	double power = pow(10, floor(log10(least))), digit = least / power;

	return power * (digit <= 1.001 ? 1 : digit <= 2.001 ? 2 : digit <= 5.001 ? 5 : 10);
}

static void draw_axes(struct view *view, const struct panel *panel, const struct scale *scale, double span_ns)
{
	_cleanup_buf_ struct buf text = BUF_INIT(64);
	double y_step = round_step(fmax(panel->top, 1) / 5), x_step = round_step(span_ns / 5);

	buf_add_format(&view->out->pending, "<path stroke=\"#888\" fill=\"none\" d=\"M%d %.1fV%.1fH%d\"/>", LEFT,
		       scale->top, scale->bottom, WIDTH - RIGHT);
	out_end_line(view->out);
	for (double value = 0; value <= (double)panel->top; value += y_step) {
		buf_clear(&text);
		format_add_number(&text, value);
		draw_text(view, LEFT - 6, y_of(scale, (float)value) + 4, "end", buf_text(&text));
	}
	for (double ns = 0; ns <= span_ns; ns += x_step) {
		double x = LEFT + ns * scale->px_per_ns;

		buf_clear(&text);
		format_add_duration(&text, (int64_t)ns);
		draw_text(view, x, scale->bottom + 16, x > WIDTH - RIGHT - 20 ? "end" : "middle", buf_text(&text));
	}
}

static void draw_panel(struct view *view, const struct panel *panel, unsigned row, uint64_t first_ns, uint64_t last_ns)
{
	_cleanup_buf_ struct buf title = BUF_INIT(512);
	double span = last_ns > first_ns ? (double)(last_ns - first_ns) : 1;
	struct scale scale = {.first_ns = first_ns,
			      .px_per_ns = (WIDTH - LEFT - RIGHT) / span,
			      .top = row * HEIGHT + TOP,
			      .bottom = (row + 1) * HEIGHT - BOTTOM};

	scale.px_per_segment = (scale.bottom - scale.top) / (double)(panel->top > 0 ? panel->top : 1);
	addr_format_endpoint(&panel->ends.local, &title);
	buf_add_text(&title, " to ");
	addr_format_endpoint(&panel->ends.remote, &title);
	buf_add_format(&title, ", segments; %" PRIu32 " retransmitted", panel->retransmits);
	draw_text(view, LEFT, scale.top - 14, "start", buf_text(&title));
	draw_axes(view, panel, &scale, span);
	for (unsigned i = 0; i < LINES; i++)
		draw_line(view, panel, &scale, i);
	draw_marks(view, panel, &scale);
}

static void draw_legend(struct view *view, const struct state *state, unsigned panels)
{
	struct buf *out = &view->out->pending;
	double y = panels * HEIGHT + 16;

	for (unsigned i = 0; i < LINES; i++) {
		buf_add_format(out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%u %.1fh18\"/>", lines[i].color,
			       LEFT + i * 190, y - 4);
		draw_text(view, LEFT + i * 190 + 24, y, "start", lines[i].name);
	}
	buf_add_format(out, "<path stroke=\"#d62728\" stroke-width=\"3\" d=\"M%u %.1fv-10\"/>", LEFT + LINES * 190, y);
	draw_text(view, LEFT + LINES * 190 + 8, y, "start", "retransmission");
	if (state->panels.count > panels || state->left_out) {
		char text[96];

		snprintf(text, sizeof(text), "not drawn: %zu connection%s, %" PRIu64 " record%s",
			 state->panels.count - panels, text_plural(state->panels.count - panels), state->left_out,
			 text_plural(state->left_out));
		draw_text(view, LEFT, y + 18, "start", text);
	}
}

static int by_points(const void *a, const void *b)
{
	const struct panel *x = a, *y = b;

	return x->points != y->points ? (x->points < y->points ? 1 : -1) : (x->index < y->index ? -1 : 1);
}

static void end(struct view *view)
{
	struct state *state = view->state;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;
	unsigned panels = (unsigned)min_of(state->panels.count, (size_t)PANELS_MAX);

	vec_each(&state->points, point) {
		first_ns = min_of(first_ns, point->time_ns);
		last_ns = max_of(last_ns, point->time_ns);
	}
	vec_sort(&state->panels, by_points);
	buf_add_format(&view->out->pending,
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" "
		       "font-size=\"12\"><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>",
		       WIDTH, panels * HEIGHT + 44);
	out_end_line(view->out);
	for (unsigned i = 0; i < panels; i++)
		draw_panel(view, &state->panels.items[i], i, first_ns, last_ns);
	draw_legend(view, state, panels);
	buf_add_text(&view->out->pending, "</svg>");
	out_end_line(view->out);
	map_done(&state->connections);
	vec_done(&state->panels);
	vec_done(&state->points);
}

static const struct view_class plot_view = {
	.name = "plot",
	.help = "SVG plot of TCP windows over time",
	.all_fields = true,
	.state_size = sizeof(struct state),
	.begin = begin,
	.record = note,
	.end = end,
};
VIEW_CLASS(plot_view);
