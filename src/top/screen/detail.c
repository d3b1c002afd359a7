/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/detail.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "top/draw/spark.h"
#include "view/format.h"

#define NAME_WIDTH   20
#define FIELD_WIDTH  38 /* of a name and its value, side by side */
#define FIGURE_WIDTH 12
#define BAR_WIDTH    10

/* --- the row --- */

static void plot_row(const struct screen *screen, struct screen_page *page, const struct record *record)
{
	const struct top_table *table = page->boards[0]->table;

	if (screen->status.now_ns == page->plotted_ns)
		return;
	page->plotted_ns = screen->status.now_ns;
	for (unsigned i = 0; i < TOP_PLOTS_MAX && table->plots[i]; i++) {
		struct value value = {.class = VALUE_UNKNOWN};
		struct field_ref ref;

		if (record && shape_find(&table->shape, table->plots[i], &ref) == 0)
			value = record_get(record, ref);
		series_add(&page->plots[i], value_number(&value));
	}
}

void detail_update(struct screen *screen, struct screen_page *page)
{
	struct board *board = page->boards[0];
	uint32_t row = board_find(board, buf_text(&page->id));
	struct record record;

	/* A row that nothing names stays as it was when it was opened. */
	if (page->id.len == 0)
		return;
	if (row == UINT32_MAX) {
		page->gone_ns = page->gone_ns ?: screen->status.now_ns;
		plot_row(screen, page, NULL);
		return;
	}
	page->gone_ns = 0;
	record = grid_record(&board->grid, row);
	grid_clear(&page->row);
	grid_add(&page->row, &record);
	plot_row(screen, page, &record);
}

/* --- drawing, line by line --- */

/* Lines are counted as they are drawn; those above the scroll position and below the area are not drawn. */
struct pen {
	struct canvas *canvas;
	const struct area *area;
	unsigned scroll;
	unsigned line;
};

static bool pen_y(const struct pen *pen, unsigned *ret_y)
{
	if (pen->line < pen->scroll || pen->line - pen->scroll >= pen->area->height)
		return false;
	*ret_y = pen->area->y + pen->line - pen->scroll;
	return true;
}

static void pen_text(struct pen *pen, unsigned indent, enum ink ink, const char *text)
{
	unsigned y;

	if (pen_y(pen, &y))
		canvas_text(pen->canvas, pen->area->x + indent, y, pen->area->width - min_of(indent, pen->area->width),
			    ink, text);
	pen->line++;
}

struct folded {
	struct pen *pen;
	unsigned indent;
};

static void folded_line(void *context, const char *text, size_t len)
{
	struct folded *folded = context;
	_cleanup_free_ char *line = xstrndup(text, len);

	pen_text(folded->pen, folded->indent, INK_PLAIN, line);
}

static void pen_fold(struct pen *pen, unsigned indent, const char *text)
{
	struct folded folded = {pen, indent};

	canvas_fold(text, pen->area->width > indent + 1 ? pen->area->width - indent - 1 : 1, folded_line, &folded);
}

static void draw_links(struct screen *screen, struct pen *pen, struct screen_page *page)
{
	if (page->links.items.count == 0)
		return;
	pen_text(pen, 1, INK_BOLD, "Go on with (Enter)");
	for (size_t i = 0; i < page->links.items.count; i++) {
		const struct top_link *link = &page->links.items.items[i];
		_cleanup_buf_ struct buf text = BUF_INIT(4096);
		unsigned y;

		buf_add_format(&text, "%c %-28.28s %s %s", i == page->link ? '>' : ' ', link->label,
			       link->table ?: "nest", link->command);
		if (pen_y(pen, &y)) {
			canvas_text(pen->canvas, pen->area->x + 1, y, pen->area->width - 1, INK_PLAIN, buf_text(&text));
			if (i == page->link)
				canvas_colour(pen->canvas, pen->area->x, y, pen->area->width, INK_SELECTED);
			screen_add_hit(screen, (struct screen_hit){.area = {pen->area->x, y, pen->area->width, 1},
								   .line = (uint32_t)i});
		}
		pen->line++;
	}
	pen->line++;
}

static void draw_plot(struct pen *pen, const struct field *field, const struct series *series, unsigned y)
{
	unsigned x = pen->area->x + 1, width = pen->area->width;
	_cleanup_buf_ struct buf text = BUF_INIT(128), most = BUF_INIT(128);
	double last = series_at(series, 0), peak = series_max(series, SERIES_MAX);
	/* Every kind of number is a real one here; its unit stays. */
	struct field real = *field;
	unsigned plot;

	real.store = STORE_DOUBLE;
	if (real.kind == KIND_RATIO) {
		struct value value = {.class = isnan(last) ? VALUE_UNKNOWN : VALUE_REAL, .real = last};

		format_add_value(&text, &real, &value);
		value = (struct value){.class = VALUE_REAL, .real = peak};
		format_add_value(&most, &real, &value);
	} else {
		struct value value = {.class = isnan(last) ? VALUE_UNKNOWN : VALUE_UINT,
				      .uint = isnan(last) ? 0 : (uint64_t)last};

		format_add_value(&text, field, &value);
		value = (struct value){.class = VALUE_UINT, .uint = (uint64_t)peak};
		format_add_value(&most, field, &value);
	}
	canvas_text(pen->canvas, x, y, NAME_WIDTH, INK_DIM, field->name);
	canvas_put_right(pen->canvas, x + NAME_WIDTH - 4, y, FIGURE_WIDTH, INK_PLAIN, text.data, text.len);
	if (width < NAME_WIDTH + 2 * FIGURE_WIDTH + 12)
		return;
	plot = width - NAME_WIDTH - 2 * FIGURE_WIDTH - 6;
	spark_draw(pen->canvas, &(struct area){x + NAME_WIDTH + FIGURE_WIDTH - 2, y, plot, 1}, INK_RX, series, 0);
	canvas_text(pen->canvas, x + NAME_WIDTH + FIGURE_WIDTH + plot, y, 4, INK_DIM, "max");
	canvas_text(pen->canvas, x + NAME_WIDTH + FIGURE_WIDTH + plot + 4, y, FIGURE_WIDTH, INK_DIM, buf_text(&most));
}

static void draw_plots(struct pen *pen, const struct screen_page *page)
{
	const struct top_table *table = page->boards[0]->table;
	unsigned y;

	if (!table->plots[0])
		return;
	pen_text(pen, 1, INK_BOLD, "Over time");
	for (unsigned i = 0; i < TOP_PLOTS_MAX && table->plots[i]; i++) {
		struct field_ref ref;

		if (shape_find(&table->shape, table->plots[i], &ref) == 0 && pen_y(pen, &y))
			draw_plot(pen, ref.field, &page->plots[i], y);
		pen->line++;
	}
	pen->line++;
}

/* --- fields --- */

static bool is_long(const struct field *field)
{
	return field->kind == KIND_LIST || (field->kind == KIND_TEXT && field->store == STORE_STRING);
}

/* Items one below the other: a text, or the fields of a record in one line. */
static void draw_list(struct pen *pen, const struct field *field, const struct list *list)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const void *item = (const uint8_t *)list->items + (size_t)i * field->element->size;
		_cleanup_buf_ struct buf text = BUF_INIT(65536);

		for (uint32_t k = 0; k < field->element->field_count; k++) {
			const struct field *inner = &field->element->fields[k];
			struct value value = value_get(inner, item);

			if (value.class == VALUE_UNKNOWN || value.class == VALUE_LIST)
				continue;
			if (text.len > 0)
				buf_add_text(&text, "  ");
			format_add_value(&text, inner, &value);
		}
		pen_fold(pen, 3, buf_text(&text));
	}
}

static void draw_long(struct pen *pen, const struct field *field, const struct value *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT(65536);
	unsigned y;

	if (value->class == VALUE_LIST) {
		if (value->list->count == 0)
			return;
		pen_text(pen, 1, INK_DIM, field->help);
		draw_list(pen, field, value->list);
		return;
	}
	format_add_value(&text, field, value);
	if (text_columns(buf_text(&text), text.len) + NAME_WIDTH + 2 < pen->area->width) {
		if (pen_y(pen, &y)) {
			canvas_text(pen->canvas, pen->area->x + 1, y, NAME_WIDTH, INK_DIM, field->name);
			canvas_text(pen->canvas, pen->area->x + 1 + NAME_WIDTH, y, pen->area->width, INK_PLAIN,
				    buf_text(&text));
		}
		pen->line++;
		return;
	}
	pen_text(pen, 1, INK_DIM, field->name);
	pen_fold(pen, 3, buf_text(&text));
}

/* Name and value side by side, as many as fit in a line; a share has a bar. */
static void draw_short(struct pen *pen, const struct field *field, const struct value *value, unsigned *column)
{
	unsigned columns = max_of(pen->area->width / FIELD_WIDTH, 1U), x = pen->area->x + 1 + *column * FIELD_WIDTH, y;
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	format_add_value(&text, field, value);
	if (pen_y(pen, &y)) {
		bool share = field->kind == KIND_RATIO && field->unit && strcmp(field->unit, "%") == 0;

		canvas_text(pen->canvas, x, y, NAME_WIDTH - 1, INK_DIM, field->name);
		canvas_text(pen->canvas, x + NAME_WIDTH, y, FIELD_WIDTH - NAME_WIDTH - 1, INK_PLAIN, buf_text(&text));
		if (share && value->class == VALUE_REAL)
			spark_bar(pen->canvas, x + NAME_WIDTH + 6, y, BAR_WIDTH, INK_TX, value->real);
	}
	*column = (*column + 1) % columns;
	pen->line += *column == 0;
}

static void draw_long_fields(struct pen *pen, const struct record_type *type, const void *data)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		struct value value = value_get(&type->fields[i], data);

		if (value.class != VALUE_UNKNOWN && is_long(&type->fields[i]))
			draw_long(pen, &type->fields[i], &value);
	}
}

static void draw_short_fields(struct pen *pen, const struct record_type *type, const void *data)
{
	unsigned column = 0, unknown = 0;
	char note[64];

	for (uint32_t i = 0; i < type->field_count; i++) {
		struct value value = value_get(&type->fields[i], data);

		if (value.class == VALUE_UNKNOWN)
			unknown++;
		else if (!is_long(&type->fields[i]))
			draw_short(pen, &type->fields[i], &value, &column);
	}
	pen->line += column != 0;
	if (unknown) {
		snprintf(note, sizeof(note), "%u unknown field%s hidden", unknown, unknown == 1 ? "" : "s");
		pen_text(pen, 1, INK_DIM, note);
	}
}

static void draw_part(struct pen *pen, const struct record_type *type, const void *data, bool texts_first)
{
	pen_text(pen, 1, INK_BOLD, type->help);
	if (texts_first)
		draw_long_fields(pen, type, data);
	draw_short_fields(pen, type, data);
	if (!texts_first)
		draw_long_fields(pen, type, data);
	pen->line++;
}

static void draw_numbered(struct pen *pen, const struct top_table *table, const struct record *record, unsigned part)
{
	if (record->parts[part])
		draw_part(pen, table->shape.types[part], record->parts[part], table->texts_first);
}

void detail_draw(struct screen *screen, struct canvas *canvas, struct screen_page *page, const struct area *area)
{
	const struct top_table *table = page->boards[0]->table;
	struct record record = grid_record(&page->row, 0);
	struct pen pen = {canvas, area, page->scroll, 0};
	_cleanup_buf_ struct buf text = BUF_INIT(256);

	if (page->gone_ns) {
		buf_add_text(&text, "gone since ");
		format_add_clock(&text, page->gone_ns);
		buf_add_text(&text, ": last seen");
		pen_text(&pen, 1, INK_WARN, buf_text(&text));
	}
	draw_links(screen, &pen, page);
	if (!table->texts_first)
		draw_plots(&pen, page);
	draw_numbered(&pen, table, &record, table->first_part);
	for (unsigned i = 0; i < table->shape.count; i++)
		if (i != table->first_part)
			draw_numbered(&pen, table, &record, i);
	if (table->texts_first)
		draw_plots(&pen, page);
	page->lines = pen.line;
}

void detail_follow(struct screen *screen, struct screen_page *page)
{
	const struct top_link *link =
		page->link < page->links.items.count ? &page->links.items.items[page->link] : NULL;
	const struct top_table *table = link && link->table ? screen_find_table(screen, link->table) : NULL;

	if (table)
		screen_push_table(screen, table, link->command);
	else if (link && !link->table)
		screen_push_command(screen, link->command);
}
