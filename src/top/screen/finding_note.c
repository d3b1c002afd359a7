/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/finding_note.h"

#include "base/text.h"

#define INDENT         3
#define LABEL_WIDTH    8
#define ADVICE_COLUMNS 200

struct note {
	struct canvas *canvas;
	const struct area *area;
	const char *label; /* of the first line */
	enum ink ink;
	unsigned lines;
};

static void add_line(void *context, const char *text, size_t len)
{
	struct note *note = context;
	unsigned x = note->area->x + INDENT, y = note->area->y + note->lines;

	if (note->canvas && note->lines < note->area->height) {
		canvas_text(note->canvas, x, y, LABEL_WIDTH, INK_DIM, note->label);
		canvas_put(note->canvas, x + LABEL_WIDTH, y, note->area->width - x - LABEL_WIDTH, note->ink, text, len);
	}
	note->label = "";
	note->lines++;
}

static void add_text(struct note *note, const char *label, enum ink ink, const char *text, size_t len)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(65536);

	text_add_terminal(&shown, text, len);
	note->label = label;
	note->ink = ink;
	canvas_fold(buf_text(&shown), note->area->width - INDENT - LABEL_WIDTH - 1, add_line, note);
}

/* The sentence is the last column: whether it has room beside the others. */
static bool fits_row(const struct board *board, const struct area *area, const char *sentence)
{
	_cleanup_buf_ struct buf shown = BUF_INIT(65536);
	size_t used;

	text_add_terminal(&shown, sentence, strlen(sentence));
	used = text_columns(shown.data, shown.len) + 2;
	for (size_t i = 0; i + 1 < board->columns.count; i++)
		used += board->widths[i] + 1;
	return used <= area->width;
}

unsigned finding_note_draw(struct canvas *canvas, const struct area *area, const struct board *board)
{
	struct note note = {.canvas = canvas, .area = area};
	const struct finding_record *finding;
	struct record record;

	if (area->width < INDENT + LABEL_WIDTH + 20 || !board_record(board, &record) || !record.parts[1])
		return 0;
	finding = record.parts[1];
	if (!fits_row(board, area, finding->because))
		add_text(&note, "because", INK_PLAIN, finding->because, strlen(finding->because));
	if (finding->advice)
		add_text(&note, "advice", INK_PLAIN, finding->advice,
			 text_first_sentences(finding->advice, ADVICE_COLUMNS));
	if (finding->next.count > 0) {
		const char *next = text_record_at(&finding->next, 0);

		add_text(&note, "next", INK_GOOD, next, strlen(next));
	}
	return note.lines;
}
