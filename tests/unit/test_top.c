/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of nest top: pages, keys, menus, filter, tree, details, hostile text, any size. */
#include <math.h>

#include "run/command.h"
#include "snapshot/socket/socket.h"
#include "top/screen/top_keys.h"
#include "top_scene.h"
#include "unit.h"

TEST(overview_shows_findings_programs_interfaces)
{
	struct top_scene scene;
	const char *text;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	text = top_scene_draw(&scene);
	CHECK_HAS_TEXT(text, "1 finding");
	CHECK_HAS_TEXT(text, "path-loss");
	CHECK_HAS_TEXT(text, "29740 app");
	CHECK_HAS_TEXT(text, "eth0");
	CHECK(strchr(text, '\033') == NULL);
	top_scene_done(&scene);
}

TEST(findings_end_after_two_windows_without_them)
{
	struct top_scene scene;
	uint64_t now;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	now = scene.snapshot->begin_time_ns;
	top_scene_diagnose(&scene, now, 0);
	CHECK_EQ_UINT(findings_active(&scene.screen->findings), 1);
	top_scene_diagnose(&scene, now + 1000000000, 0);
	top_scene_diagnose(&scene, now + 2000000000, 0);
	CHECK_EQ_UINT(findings_active(&scene.screen->findings), 0);
	(void)top_scene_next_sample(&scene);
	CHECK_HAS_TEXT(top_scene_press(&scene, 'f'), "over");
	top_scene_done(&scene);
}

/* A row that the table hides: the first one of the scene, put into TIME_WAIT. */
TEST(time_wait_is_counted_and_shown_on_request)
{
	struct top_scene scene;
	struct socket_record *socket;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	socket = (struct socket_record *)snapshot_first(scene.snapshot, &socket_type);
	REQUIRE(socket != NULL);
	socket->state = SOCKET_TIME_WAIT;
	CHECK_HAS_TEXT(top_scene_press(&scene, '2'), "connections  2 rows, 1 in TIME_WAIT hidden (a shows them)");
	CHECK_EQ_UINT(screen_board(scene.screen)->grid.lines.count, 2);
	CHECK_HAS_TEXT(top_scene_press(&scene, 'a'), "connections  3 rows, by");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'a'), "1 in TIME_WAIT hidden");
	/* A filter by state says which states to show. */
	(void)top_scene_press(&scene, '\\');
	CHECK_HAS_TEXT(top_scene_type(&scene, "state == TIME_WAIT\r"), "1 of 3 rows");
	CHECK_HAS_TEXT(top_scene_press(&scene, '3'), "programs");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'a'), "programs hides no rows");
	top_scene_done(&scene);
}

TEST(connections_are_sorted_filtered_and_grouped)
{
	struct top_scene scene;
	struct board *board;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	CHECK_HAS_TEXT(top_scene_press(&scene, '2'), "connections  3 rows");
	board = screen_board(scene.screen);
	(void)top_scene_press(&scene, '\\');
	CHECK_HAS_TEXT(top_scene_type(&scene, "rport == 44x\r"), "44x");
	CHECK_HAS_TEXT(top_scene_draw(&scene), "^~~");
	(void)top_scene_press(&scene, KEY_CTRL('U'));
	CHECK_HAS_TEXT(top_scene_type(&scene, "rpo\t== 5001\r"), "1 of 3 rows");
	CHECK_EQ_UINT(board->grid.lines.count, 1);
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "copied: nest sockets --where 'rport == 5001'");
	/* Backspace without a page behind clears the filter. */
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_EQ_UINT(board->grid.lines.count, 3);
	CHECK_HAS_TEXT(top_scene_press(&scene, 't'), "▾ app (3)");
	CHECK_HAS_TEXT(top_scene_press(&scene, ' '), "▸ app (3)");
	CHECK_EQ_UINT(board->grid.lines.count, 1);
	(void)top_scene_press(&scene, '+');
	CHECK_EQ_UINT(board->grid.lines.count, 4);
	top_scene_done(&scene);
}

TEST(copied_commands_show_the_same_namespace_and_selection)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	scene.screen->status.netns = "web";
	(void)top_scene_press(&scene, '2');
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "copied: nest sockets -N 'web'\n");
	board_set_always(screen_board(scene.screen), "pid == 29740");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "copied: nest sockets --where 'pid == 29740' -N 'web'\n");
	(void)top_scene_press(&scene, '\\');
	(void)top_scene_type(&scene, "rport == 5001\r");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "--where '(pid == 29740) and (rport == 5001)' -N 'web'\n");
	/* CPUs serve all namespaces, and the tool knows none. */
	(void)top_scene_press(&scene, ':');
	(void)top_scene_type(&scene, "softnet 1\r");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "copied: nest softnet 1\n");
	top_scene_done(&scene);
}

TEST(order_is_that_of_the_values_and_unknown_comes_last)
{
	struct top_scene scene;
	struct board *board;
	double before = INFINITY;
	bool unknown = false;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	(void)top_scene_press(&scene, '5');
	(void)top_scene_next_sample(&scene);
	(void)top_scene_draw(&scene);
	board = screen_board(scene.screen);
	REQUIRE(board_set_sort(board, "-rx_bytes"));
	board_arrange(board);
	vec_each(&board->grid.order, row) {
		struct record record = grid_record(&board->grid, *row);
		struct value value = record_get(&record, board->grid.sort);

		CHECK(!unknown || value.class == VALUE_UNKNOWN);
		unknown = unknown || value.class == VALUE_UNKNOWN;
		if (!unknown) {
			CHECK((double)value.uint <= before);
			before = (double)value.uint;
		}
	}
	top_scene_done(&scene);
}

TEST(details_lead_on_and_back)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 40));
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_RETURN), "what it blames");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'y'), "copied: nest sockets --where 'raddr == 10.77.2.2'");
	CHECK_HAS_TEXT(top_scene_draw(&scene), "evidence for it");
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_RETURN), "filter: raddr == 10.77.2.2");
	CHECK_HAS_TEXT(top_scene_draw(&scene), "1 of 3 rows");
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_RETURN), "Over time");
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_DELETE_BACK), "what it blames");
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_DELETE_BACK), "Interfaces");
	top_scene_done(&scene);
}

/* The summary of bqllat is longer than a column of text usually is. */
TEST(text_is_not_cut_where_the_line_has_room)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 140, 40));
	CHECK_HAS_TEXT(top_scene_press(&scene, '0'), "time that transmit queues are stopped by byte queue limits ");
	canvas_done(&scene.canvas);
	canvas_init(&scene.canvas, 80, 40, true);
	CHECK_HAS_TEXT(top_scene_draw(&scene), "…");
	top_scene_done(&scene);
}

TEST(rows_of_any_table_can_be_opened)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	vec_each(&scene.screen->tables, table) {
		screen_show_table(scene.screen, *table);
		(void)top_scene_draw(&scene);
		if (screen_board(scene.screen)->grid.count > 0 && !(*table)->runs) {
			(void)top_scene_press(&scene, KEY_RETURN);
			CHECK_EQ_INT(screen_shown(scene.screen)->kind, PAGE_DETAIL);
			(void)top_scene_next_sample(&scene);
			(void)top_scene_draw(&scene);
		}
	}
	top_scene_done(&scene);
}

TEST(commands_run_and_stop_with_their_page)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	(void)top_scene_press(&scene, '0');
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_RETURN), "two     2");
	CHECK(strchr(top_scene_draw(&scene), '\033') == NULL);
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_HAS_TEXT(buf_text(&scene.calls), "run diagnose;stop diagnose;");
	(void)top_scene_press(&scene, ':');
	CHECK_HAS_TEXT(top_scene_type(&scene, "fail\r"), "it fails");
	top_scene_done(&scene);
}

TEST(a_tool_becomes_a_heat_map_and_back)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	(void)top_scene_press(&scene, ':');
	(void)top_scene_type(&scene, "tcprtt 1\r");
	CHECK_HAS_TEXT(top_scene_press(&scene, 'H'), "nest tcprtt 1 --format heat");
	(void)top_scene_press(&scene, 'H');
	CHECK_HAS_TEXT(
		buf_text(&scene.calls),
		"run tcprtt 1;stop tcprtt 1;run tcprtt 1 --format heat;stop tcprtt 1 --format heat;run tcprtt 1;");
	/* One page, not three. */
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_DELETE_BACK), "Interfaces");
	top_scene_done(&scene);
}

TEST(views_of_a_function_trace_are_among_the_tools)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 140, 30));
	CHECK(strstr(top_scene_press(&scene, '0'), "flow sessions") == NULL);
	scene.screen->status.flow = "my server.trace";
	(void)top_scene_next_sample(&scene);
	CHECK_HAS_TEXT(top_scene_draw(&scene), "flow sessions 'my server.trace'");
	top_scene_done(&scene);
}

TEST(the_overview_shows_the_finding_in_full_where_there_is_room)
{
	struct top_scene scene;
	const char *text;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	text = top_scene_draw(&scene);
	CHECK_HAS_TEXT(text, "advice  compare");
	CHECK_HAS_TEXT(text, "next    nest tcpretrans --where 'raddr == 10.77.2.2'");
	/* Too low: the tables come first. */
	canvas_done(&scene.canvas);
	canvas_init(&scene.canvas, 100, 18, true);
	text = top_scene_draw(&scene);
	CHECK(strstr(text, "advice") == NULL);
	CHECK_HAS_TEXT(text, "Interfaces");
	top_scene_done(&scene);
}

/* What a key of the help does, on which page, and what can be seen of it. */
static const struct {
	uint32_t key;
	const char *before; /* keys to come there */
	const char *seen;   /* on the screen, or among the calls */
	bool recorded;
} expected[] = {
	{KEY_F_(1), "", "this page", false},
	{'?', "", "this page", false},
	{'h', "", "this page", false},
	{KEY_RETURN, "2", "Over time", false},
	{KEY_DELETE_BACK, "?", "Interfaces", false},
	{KEY_ESCAPE, "?", "Interfaces", false},
	{'1', "2", "Interfaces", false},
	{'2', "", "connections  3 rows", false},
	{'3', "", "programs  3 rows", false},
	{'4', "", "services  ", false},
	{'5', "", "interfaces  ", false},
	{'6', "", "queues  ", false},
	{'7', "", "drops  ", false},
	{'8', "", "listeners  ", false},
	{'9', "", "dns  ", false},
	{'0', "", "checklist", false},
	{'f', "", "findings  1 row", false},
	{'T', "", "neighbour ", false},
	{KEY_TAB_, "", "Interfaces", false},
	{KEY_BACKTAB, "", "Interfaces", false},
	{KEY_GO_UP, "2", "3 rows", false},
	{KEY_GO_DOWN, "2", "3 rows", false},
	{'k', "2", "3 rows", false},
	{'j', "2", "3 rows", false},
	{KEY_PAGE_UP, "T", "Tables", false},
	{KEY_PAGE_DOWN, "?", "to a time", true},
	{KEY_CTRL('B'), "0", "checklist", false},
	{KEY_CTRL('F'), "0", "tools  ", false},
	{KEY_GO_HOME, "0", "checklist", false},
	{KEY_GO_END, "0", "tools  ", false},
	{'g', "0", "checklist", false},
	{'G', "0", "tools  ", false},
	{KEY_GO_LEFT, "2", "PID", false},
	{KEY_GO_RIGHT, "2", "COMM", false},
	{KEY_WHEEL_UP, "0", "checklist", false},
	{KEY_WHEEL_DOWN, "0", "checklist", false},
	{KEY_F_(3), "2", "Search:", false},
	{'/', "2", "Search:", false},
	{'&', "2/29742\r", "29742", false},
	{KEY_F_(4), "2", "Filter:", false},
	{'\\', "2", "Filter:", false},
	{'a', "3", "programs hides no rows", false},
	{KEY_F_(5), "2", "app (3)", false},
	{'t', "2", "app (3)", false},
	{'b', "2", "Tree by", false},
	{' ', "2t", "▸ app", false},
	{'-', "2t", "▸ app", false},
	{'+', "2t ", "▾ app", false},
	{'*', "2t", "▸ app", false},
	{KEY_F_(6), "2", "Sort by", false},
	{'s', "2", "Sort by", false},
	{'<', "2", "by pid", false},
	{'>', "2", "by pid", false},
	{'I', "2", "by traffic", false},
	{'i', "2", "by traffic", false},
	{KEY_F_(2), "2", "Columns", false},
	{'C', "2", "Columns", false},
	{'p', "", "FROZEN", false},
	{'Z', "", "FROZEN", false},
	{':', "", "nest ", false},
	{'!', "", "nest ", false},
	{'H', ":diagnose\r", "'diagnose' draws no histogram", false},
	{'y', "2", "copy nest sockets;", false},
	{'c', "2", "copy nest sockets;", false},
	{'S', "", "Save recording as", false},
	{'w', "", "Save recording as", false},
	{'[', "", "seek -10;", true},
	{']', "", "seek 10;", true},
	{'{', "", "seek -60;", true},
	{'}', "", "seek 60;", true},
	{'(', "", "speed -1;", true},
	{')', "", "speed 1;", true},
	{'n', "", "finding 1;", true},
	{'N', "", "finding -1;", true},
	{'@', "", "Go to:", true},
	{'m', "", "Theme", false},
	{KEY_CTRL('Z'), "", "suspend;", false},
	{KEY_F_(10), "", "", false},
	{'q', "", "", false},
};

static bool is_expected(uint32_t key)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		if (expected[i].key == key)
			return true;
	return false;
}

TEST(every_key_of_the_help_does_something)
{
	for (const struct top_key *key = top_key_table; key->shown; key++)
		for (size_t i = 0; i < ARRAY_SIZE(key->keys); i++)
			if (key->keys[i] && !CHECK(is_expected(key->keys[i])))
				fprintf(stderr, "# %s\n", key->shown);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		_cleanup_buf_ struct buf seen = BUF_INIT(4 << 20);
		struct top_scene scene;

		REQUIRE(top_scene_open(&scene, !expected[i].recorded, 100, 40));
		(void)top_scene_type(&scene, expected[i].before);
		buf_add_text(&seen, top_scene_press(&scene, expected[i].key));
		buf_add_text(&seen, buf_text(&scene.calls));
		if (!CHECK_HAS_TEXT(buf_text(&seen), expected[i].seen))
			fprintf(stderr, "# key %x after '%s'\n", expected[i].key, expected[i].before);
		if (!*expected[i].seen)
			CHECK(scene.screen->quit);
		top_scene_done(&scene);
	}
}

static const char *click(struct top_scene *scene, uint32_t key, unsigned x, unsigned y)
{
	screen_press(scene->screen, &(struct key_press){.key = key, .x = x, .y = y});
	return top_scene_draw(scene);
}

/* The second line has the pages, a table its headings in the fourth; the last line has keys. */
TEST(clicks_show_sort_open_and_press)
{
	struct top_scene scene;
	struct board *board;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	(void)top_scene_draw(&scene);
	CHECK_HAS_TEXT(click(&scene, KEY_CLICK, 12, 1), "connections  3 rows");
	board = screen_board(scene.screen);
	CHECK_HAS_TEXT(click(&scene, KEY_CLICK, 3, 3), "by pid (largest first)");
	CHECK_HAS_TEXT(click(&scene, KEY_CLICK, 3, 3), "by pid");
	CHECK(!board->grid.descending);
	(void)click(&scene, KEY_CLICK, 3, 5);
	CHECK_EQ_UINT(board->selected, 1);
	CHECK_HAS_TEXT(click(&scene, KEY_DOUBLE_CLICK, 3, 6), "Over time");
	/* A link of the details, then what it leads to. */
	CHECK_HAS_TEXT(click(&scene, KEY_DOUBLE_CLICK, 3, 4), "nest trace tcp.state");
	CHECK_HAS_TEXT(click(&scene, KEY_CLICK, 1, 29), "this page");
	/* Nothing is there. */
	(void)click(&scene, KEY_CLICK, 90, 20);
	(void)click(&scene, KEY_CLICK, 5000, 5000);
	top_scene_done(&scene);
}

TEST(any_size_can_be_drawn)
{
	static const unsigned sides[] = {1, 2, 3, 5, 7, 10, 24, 80, 200, 500};
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 80, 24));
	for (size_t i = 0; i < ARRAY_SIZE(sides); i++)
		for (size_t k = 0; k < ARRAY_SIZE(sides); k++) {
			canvas_done(&scene.canvas);
			canvas_init(&scene.canvas, sides[i], sides[k], i % 2);
			(void)top_scene_press(&scene, "1230f\rT"[(i + k) % 7]);
			(void)top_scene_press(&scene, KEY_ESCAPE);
		}
	CHECK(scene.screen != NULL);
	top_scene_done(&scene);
}

TEST(rows_follow_their_selection)
{
	struct top_scene scene;
	struct record record;
	struct board *board;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	(void)top_scene_press(&scene, '2');
	(void)top_scene_press(&scene, KEY_GO_DOWN);
	board = screen_board(scene.screen);
	REQUIRE(board_record(board, &record));
	for (unsigned i = 0; i < 20; i++) {
		_cleanup_buf_ struct buf id = BUF_INIT(256);

		(void)top_scene_press(&scene, 'i');
		(void)top_scene_next_sample(&scene);
		(void)top_scene_draw(&scene);
		if (board->selected == 0 || !board_record(board, &record))
			continue;
		board_add_id(board, &record, &id);
		CHECK_EQ_TEXT(buf_text(&id), buf_text(&board->selected_id));
	}
	CHECK(board->grid.count > 0);
	top_scene_done(&scene);
}

/* Links name tables and commands that there are. */
static void check_links(const struct screen *screen, const struct board *board)
{
	for (uint32_t row = 0; board->table->links && row < board->grid.count; row++) {
		struct record record = grid_record(&board->grid, row);
		struct top_links links = {};

		board->table->links(&record, &links);
		vec_each(&links.items, link) {
			const struct top_table *table = link->table ? screen_find_table(screen, link->table) : NULL;
			struct expr *where = NULL;
			struct why why = {};
			char **words = pane_split_words(link->command);

			if (link->table && CHECK(table != NULL)) {
				if (!CHECK(expr_parse(link->command, &table->shape, &where, &why) == 0))
					fprintf(stderr, "# %s: %s\n", link->command, why.text);
			} else if (CHECK(words != NULL) && !CHECK(command_exists(words[0]))) {
				fprintf(stderr, "# %s\n", link->command);
			}
			expr_free(where);
			pane_free_words(words);
		}
		top_links_done(&links);
	}
}

TEST(links_lead_to_what_exists)
{
	static const char pages[] = "1234567890f";
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 100, 30));
	for (const char *page = pages; *page; page++) {
		(void)top_scene_press(&scene, (uint32_t)*page);
		check_links(scene.screen, screen_board(scene.screen));
	}
	top_scene_done(&scene);
}

TEST(declared_tables_name_fields_that_exist)
{
	size_t count;
	_cleanup_free_ const struct top_table **tables = top_table_list(&count);

	CHECK(count >= 11);
	for (size_t i = 0; i < count; i++) {
		const struct top_table *table = tables[i];
		struct field_ref ref;

		for (const struct top_column *column = table->columns; column && column->field; column++)
			if (!CHECK(shape_find(&table->shape, column->field, &ref) == 0))
				fprintf(stderr, "# %s %s\n", table->name, column->field);
		for (unsigned k = 0; k < TOP_TREES_MAX && table->trees[k]; k++)
			CHECK_EQ_INT(shape_find(&table->shape, table->trees[k], &ref), 0);
		for (unsigned k = 0; k < TOP_IDS_MAX && table->id[k]; k++)
			CHECK_EQ_INT(shape_find(&table->shape, table->id[k], &ref), 0);
		for (unsigned k = 0; k < TOP_PLOTS_MAX && table->plots[k]; k++)
			CHECK_EQ_INT(shape_find(&table->shape, table->plots[k], &ref), 0);
		if (table->sort)
			CHECK_EQ_INT(shape_find(&table->shape, table->sort + (*table->sort == '-'), &ref), 0);
	}
}
