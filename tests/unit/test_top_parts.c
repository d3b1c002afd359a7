/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of nest top: canvas, words, settings, series. */
#include <math.h>

#include "top/draw/spark.h"
#include "top/draw/theme.h"
#include "top/model/top_settings.h"
#include "top/screen/pane.h"
#include "top/tables/move.h"
#include "unit.h"

static const char *drawn(struct canvas *canvas, struct buf *out)
{
	buf_clear(out);
	canvas_add_text(canvas, out);
	return buf_text(out);
}

TEST(canvas_replaces_what_a_terminal_would_obey)
{
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	struct canvas canvas;

	canvas_init(&canvas, 12, 1, true);
	canvas_text(&canvas, 0, 0, 12, INK_PLAIN, "a\033[31m\x9b\xff");
	CHECK_EQ_TEXT(drawn(&canvas, &out), "a?[31m??\n");
	canvas_done(&canvas);
}

TEST(canvas_keeps_wide_characters_whole)
{
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	struct canvas canvas;

	canvas_init(&canvas, 6, 1, true);
	CHECK_EQ_UINT(canvas_text(&canvas, 0, 0, 6, INK_PLAIN, "日本語"), 6);
	CHECK_EQ_TEXT(drawn(&canvas, &out), "日本語\n");
	/* One cell over the right half of the second: the left half goes with it. */
	canvas_text(&canvas, 3, 0, 1, INK_PLAIN, "x");
	CHECK_EQ_TEXT(drawn(&canvas, &out), "日 x語\n");
	canvas_clear(&canvas);
	CHECK_EQ_UINT(canvas_text(&canvas, 0, 0, 5, INK_PLAIN, "日本語"), 5);
	CHECK_EQ_TEXT(drawn(&canvas, &out), "日本…\n");
	canvas_done(&canvas);
	canvas_init(&canvas, 6, 1, false);
	canvas_text(&canvas, 0, 0, 6, INK_PLAIN, "aö日");
	CHECK_EQ_TEXT(drawn(&canvas, &out), "a??\n");
	canvas_done(&canvas);
}

TEST(canvas_ignores_what_is_outside)
{
	struct canvas canvas;

	canvas_init(&canvas, 4, 2, true);
	CHECK_EQ_UINT(canvas_text(&canvas, 4, 0, 9, INK_PLAIN, "abc"), 0);
	CHECK_EQ_UINT(canvas_text(&canvas, 0, 2, 9, INK_PLAIN, "abc"), 0);
	CHECK_EQ_UINT(canvas_text(&canvas, 2, 1, 9, INK_PLAIN, "abc"), 2);
	canvas_colour(&canvas, 3, 1, 99, INK_BAD);
	canvas_fill(&canvas, &(struct area){3, 1, 9, 9}, INK_BAD);
	canvas_done(&canvas);
}

struct lines {
	unsigned count;
	char text[256];
};

static void add_line(void *context, const char *text, size_t len)
{
	struct lines *lines = context;

	lines->count++;
	snprintf(lines->text + strlen(lines->text), sizeof(lines->text) - strlen(lines->text), "%.*s|", (int)len, text);
}

TEST(texts_are_folded_at_blanks)
{
	struct lines lines = {};

	canvas_fold("one two three four", 9, add_line, &lines);
	CHECK_EQ_TEXT(lines.text, "one two|three|four|");
	lines = (struct lines){};
	canvas_fold("abcdefghij", 4, add_line, &lines);
	CHECK_EQ_TEXT(lines.text, "abcd|efgh|ij|");
	lines = (struct lines){};
	canvas_fold("日本", 1, add_line, &lines);
	CHECK(lines.count > 0);
	lines = (struct lines){};
	canvas_fold("", 10, add_line, &lines);
	CHECK_EQ_UINT(lines.count, 1);
}

TEST(words_are_split_as_by_a_shell)
{
	char **words = pane_split_words(" trace  tcp.reset --where 'a == \"b c\"' \"d e\" f\\ g");

	REQUIRE(words != NULL);
	CHECK_EQ_TEXT(words[0], "trace");
	CHECK_EQ_TEXT(words[3], "a == \"b c\"");
	CHECK_EQ_TEXT(words[4], "d e");
	CHECK_EQ_TEXT(words[5], "f g");
	CHECK(words[6] == NULL);
	pane_free_words(words);
	CHECK(pane_split_words("a 'b") == NULL);
}

TEST(panes_keep_the_last_lines_and_count_the_others)
{
	struct pane *pane = pane_new("x");

	for (unsigned i = 0; i < PANE_LINES_MAX + 5; i++)
		pane_feed(pane, "line\n", 5);
	CHECK(pane->lines.count <= PANE_LINES_MAX);
	CHECK_EQ_UINT(pane->lines.count + pane->dropped, PANE_LINES_MAX + 5);
	CHECK(!pane_search(pane, "nothing", false));
	CHECK(pane_search(pane, "LINE", true));
	pane_free(pane);
}

TEST(settings_pass_over_what_they_do_not_know)
{
	static const char text[] = "# comment\ntheme = light\n = x\nbroken\ncolumns.a=b,c \nbad\x01=1\nx = \x02\n";
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	struct top_settings settings;

	top_settings_init(&settings);
	top_settings_parse(&settings, text, strlen(text));
	CHECK_EQ_TEXT(top_settings_get(&settings, "theme"), "light");
	CHECK_EQ_TEXT(top_settings_get(&settings, "columns.a"), "b,c");
	CHECK(top_settings_get(&settings, "x") == NULL);
	top_settings_add_text(&settings, &out);
	CHECK_HAS_TEXT(buf_text(&out), "columns.a = b,c\ntheme = light\n");
	top_settings_done(&settings);
}

TEST(series_keep_unknown_apart_from_zero)
{
	_cleanup_buf_ struct buf out = BUF_INIT(4096);
	struct series series = {};
	struct canvas canvas;

	series_add(&series, 0);
	series_add(&series, NAN);
	series_add(&series, 8);
	canvas_init(&canvas, 4, 1, true);
	spark_draw(&canvas, &(struct area){0, 0, 4, 1}, INK_RX, &series, 0);
	CHECK_EQ_TEXT(drawn(&canvas, &out), " ▁ █\n");
	canvas_done(&canvas);
	canvas_init(&canvas, 4, 2, true);
	series_add(&series, 4);
	spark_draw(&canvas, &(struct area){0, 0, 4, 2}, INK_RX, &series, 0);
	buf_clear(&out);
	CHECK_EQ_TEXT(drawn(&canvas, &out), "  █▁\n▁ ██\n");
	for (unsigned i = 0; i < 2 * SERIES_MAX; i++)
		series_add(&series, i);
	CHECK_NEAR(series_at(&series, 0), 2 * SERIES_MAX - 1, 0.1);
	CHECK(isnan(series_at(&series, SERIES_MAX)));
	canvas_done(&canvas);
}

TEST(rates_of_rows_that_come_and_go)
{
	struct moves moves = {};
	double rate;

	/* The first filling has nothing to compare with. */
	for (unsigned turn = 0; turn < 3; turn++) {
		moves_begin(&moves, sizeof(uint64_t), (turn + 1) * UINT64_C(2000000000));
		moves.from_zero = true;
		moves_take(&moves, &(uint64_t){1}, &(uint64_t){1000 * turn}, 1, &rate);
		CHECK(turn == 0 ? isnan(rate) : rate == 500);
		/* A connection that was opened since: all that it carried. */
		if (turn == 2) {
			moves_take(&moves, &(uint64_t){2}, &(uint64_t){3000}, 1, &rate);
			CHECK_NEAR(rate, 1500, 0.1);
			moves.from_zero = false;
			moves_take(&moves, &(uint64_t){3}, &(uint64_t){3000}, 1, &rate);
			CHECK(isnan(rate));
		}
		moves_end(&moves);
	}
	moves_done(&moves);
}

TEST(themes_are_complete)
{
	size_t count;
	_cleanup_free_ const struct theme **themes = theme_list(&count);

	CHECK_EQ_UINT(count, 3);
	for (size_t i = 0; i < count; i++)
		CHECK(theme_find(themes[i]->name) == themes[i]);
	CHECK(theme_find("mono") != NULL && !theme_find("mono")->colour);
	CHECK(theme_find("none") == NULL);
}
