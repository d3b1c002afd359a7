/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Menus and prompts of nest top: what is chosen or typed changes the table; the recording of the last minutes. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store_room.h"
#include "top/screen/keeping.h"
#include "top/screen/top_keys.h"
#include "top_scene.h"
#include "unit.h"

/* The scene with the connections: app to .2.2:5001, .2.3:7003 and .3.2:7005. */
static struct board *open_connections(struct top_scene *scene)
{
	REQUIRE(top_scene_open(scene, true, 120, 30));
	(void)top_scene_press(scene, '2');
	REQUIRE(screen_board(scene->screen));
	return screen_board(scene->screen);
}

static const char *columns_of(const struct board *board)
{
	static char shown[1024];
	_cleanup_buf_ struct buf names = BUF_INIT(sizeof(shown));

	board_add_columns(board, &names);
	snprintf(shown, sizeof(shown), "%s", buf_text(&names));
	return shown;
}

/* The remote ports, in the order of the lines; groups in parentheses. */
static const char *ports_of(const struct board *board)
{
	static char shown[256];
	_cleanup_buf_ struct buf text = BUF_INIT(sizeof(shown));

	vec_each(&board->grid.lines, line) {
		struct record record;
		struct field_ref ref;

		if (line->row == UINT32_MAX) {
			const struct grid_group *group = &board->grid.groups.items[line->group];

			buf_add_format(&text, "(%s %u)", group->name, group->count);
			continue;
		}
		record = grid_record(&board->grid, line->row);
		REQUIRE(shape_find(&board->table->shape, "rport", &ref) == 0);
		buf_add_format(&text, "%" PRIu64 " ", record_get(&record, ref).uint);
	}
	snprintf(shown, sizeof(shown), "%s", buf_text(&text));
	return shown;
}

TEST(a_field_of_the_menu_sorts)
{
	struct top_scene scene;
	struct board *board = open_connections(&scene);

	(void)top_scene_press(&scene, 's');
	(void)top_scene_type(&scene, "rr\r");
	CHECK_EQ_TEXT(board->grid.sort.field->name, "rport");
	/* Figures begin with the largest; the same field again turns the order round. */
	CHECK_EQ_TEXT(ports_of(board), "7005 7003 5001 ");
	(void)top_scene_press(&scene, 's');
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_RETURN), "by rport");
	CHECK_EQ_TEXT(ports_of(board), "5001 7003 7005 ");
	/* Addresses begin with the first. */
	(void)top_scene_press(&scene, 's');
	(void)top_scene_press(&scene, KEY_GO_HOME);
	(void)top_scene_type(&scene, "r\r");
	CHECK_EQ_TEXT(board->grid.sort.field->name, "raddr");
	CHECK_EQ_TEXT(ports_of(board), "5001 7003 7005 ");
	(void)top_scene_press(&scene, 's');
	(void)top_scene_press(&scene, KEY_GO_HOME);
	(void)top_scene_press(&scene, ' ');
	CHECK_EQ_TEXT(board->grid.sort.field->name, board->columns.items[0].ref.field->name);
	(void)top_scene_press(&scene, 's');
	(void)top_scene_press(&scene, KEY_GO_END);
	(void)top_scene_press(&scene, KEY_GO_UP);
	(void)top_scene_press(&scene, KEY_GO_DOWN);
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_EQ_TEXT(board->grid.sort.field->name, board->columns.items[board->columns.count - 1].ref.field->name);
	/* Left without a choice. */
	(void)top_scene_press(&scene, 's');
	(void)top_scene_press(&scene, KEY_GO_HOME);
	(void)top_scene_press(&scene, KEY_ESCAPE);
	CHECK_EQ_TEXT(board->grid.sort.field->name, board->columns.items[board->columns.count - 1].ref.field->name);
	top_scene_done(&scene);
}

TEST(columns_move_and_go_and_come)
{
	struct top_scene scene;
	struct board *board = open_connections(&scene);

	CHECK(!board_set_columns(board, "rport,nosuch"));
	CHECK(!board_set_columns(board, ""));
	CHECK(board_set_columns(board, "pid,comm,rport"));
	CHECK_EQ_TEXT(columns_of(board), "pid,comm,rport");
	(void)top_scene_press(&scene, 'C');
	(void)top_scene_press(&scene, ']');
	CHECK_EQ_TEXT(columns_of(board), "comm,pid,rport");
	/* The mark moves with it, and not beyond the last. */
	(void)top_scene_press(&scene, ']');
	(void)top_scene_press(&scene, ']');
	CHECK_EQ_TEXT(columns_of(board), "comm,rport,pid");
	(void)top_scene_press(&scene, '[');
	CHECK_EQ_TEXT(columns_of(board), "comm,pid,rport");
	(void)top_scene_press(&scene, ' ');
	CHECK_EQ_TEXT(columns_of(board), "comm,rport");
	(void)top_scene_press(&scene, ' ');
	CHECK_EQ_TEXT(columns_of(board), "comm,rport,pid");
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_ESCAPE), "COMM RPORT   PID");
	top_scene_done(&scene);
}

TEST(the_menu_of_trees_groups_rows)
{
	struct top_scene scene;
	struct board *board = open_connections(&scene);

	(void)top_scene_press(&scene, 's');
	(void)top_scene_type(&scene, "rr\r");
	(void)top_scene_press(&scene, 'b');
	CHECK_HAS_TEXT(top_scene_draw(&scene), "no tree");
	(void)top_scene_type(&scene, "r\r");
	/* Groups in the order of their sums. */
	CHECK_EQ_TEXT(ports_of(board), "(10.77.3.2 1)7005 (10.77.2.3 1)7003 (10.77.2.2 1)5001 ");
	CHECK_HAS_TEXT(top_scene_press(&scene, '*'), "▸ 10.77.3.2 (1)");
	CHECK_EQ_TEXT(ports_of(board), "(10.77.3.2 1)(10.77.2.3 1)(10.77.2.2 1)");
	(void)top_scene_press(&scene, 'b');
	(void)top_scene_type(&scene, "s\r");
	CHECK_EQ_TEXT(ports_of(board), "(ESTABLISHED 3)7005 7003 5001 ");
	(void)top_scene_press(&scene, 'b');
	(void)top_scene_press(&scene, KEY_PAGE_UP);
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_EQ_TEXT(ports_of(board), "7005 7003 5001 ");
	(void)top_scene_press(&scene, 'T');
	CHECK_HAS_TEXT(top_scene_type(&scene, "resolver\r"), "rows");
	top_scene_done(&scene);
}

TEST(tables_and_themes_are_chosen)
{
	struct top_scene scene;
	const struct theme *before;

	REQUIRE(top_scene_open(&scene, true, 120, 30));
	before = scene.screen->theme;
	(void)top_scene_press(&scene, 'T');
	(void)top_scene_press(&scene, KEY_GO_END);
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_EQ_TEXT(screen_board(scene.screen)->table->name,
		      scene.screen->tables.items[scene.screen->tables.count - 1]->name);
	(void)top_scene_press(&scene, 'T');
	(void)top_scene_press(&scene, KEY_GO_HOME);
	(void)top_scene_press(&scene, KEY_PAGE_DOWN);
	(void)top_scene_press(&scene, KEY_PAGE_UP);
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_EQ_TEXT(screen_board(scene.screen)->table->name, scene.screen->tables.items[0]->name);
	(void)top_scene_press(&scene, 'm');
	(void)top_scene_press(&scene, KEY_GO_END);
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK(scene.screen->theme != before);
	CHECK(scene.screen->changed);
	top_scene_done(&scene);
}

/* --- prompts --- */

static const char *typed(struct top_scene *scene)
{
	return buf_text(&scene->screen->prompt.text);
}

TEST(what_is_typed_is_edited_by_characters_and_words)
{
	static const uint32_t wide[] = {'a', 0xe9, 0x20ac, 0x1f600};
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 120, 30));
	(void)top_scene_press(&scene, ':');
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++)
		(void)top_scene_press(&scene, wide[i]);
	CHECK_EQ_TEXT(typed(&scene), "a\u00e9\u20ac\U0001f600");
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_EQ_TEXT(typed(&scene), "a\u00e9\u20ac");
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_EQ_TEXT(typed(&scene), "a");
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	(void)top_scene_press(&scene, KEY_DELETE_BACK);
	CHECK_EQ_TEXT(typed(&scene), "");
	(void)top_scene_type(&scene, "softnet  -d 5  ");
	(void)top_scene_press(&scene, KEY_CTRL('W'));
	CHECK_EQ_TEXT(typed(&scene), "softnet  -d ");
	(void)top_scene_press(&scene, KEY_CTRL('W'));
	(void)top_scene_press(&scene, KEY_CTRL('W'));
	CHECK_EQ_TEXT(typed(&scene), "");
	/* Left without running anything. */
	(void)top_scene_type(&scene, "links");
	(void)top_scene_press(&scene, KEY_ESCAPE);
	CHECK_EQ_TEXT(buf_text(&scene.calls), "");
	(void)top_scene_press(&scene, ':');
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_EQ_TEXT(buf_text(&scene.calls), "");
	top_scene_done(&scene);
}

TEST(fields_are_completed_as_far_as_they_agree)
{
	struct top_scene scene;

	(void)open_connections(&scene);
	(void)top_scene_press(&scene, '\\');
	CHECK_HAS_TEXT(top_scene_type(&scene, "r\t"), "raddr ");
	CHECK_EQ_TEXT(typed(&scene), "r");
	(void)top_scene_type(&scene, "ad\t");
	CHECK_EQ_TEXT(typed(&scene), "raddr ");
	CHECK_EQ_TEXT(buf_text(&scene.screen->prompt.offers), "");
	(void)top_scene_type(&scene, "== nosuch\t");
	CHECK_EQ_TEXT(typed(&scene), "raddr == nosuch");
	/* Every field begins with nothing: some are named, the others counted. */
	(void)top_scene_press(&scene, KEY_CTRL('U'));
	CHECK_HAS_TEXT(top_scene_press(&scene, KEY_TAB_), "and ");
	top_scene_done(&scene);
}

TEST(a_search_goes_on_from_where_it_is)
{
	struct top_scene scene;
	struct board *board = open_connections(&scene);

	(void)top_scene_press(&scene, 's');
	(void)top_scene_type(&scene, "rr\r");
	/* Nothing was searched yet: the key asks for what. */
	CHECK_HAS_TEXT(top_scene_press(&scene, '&'), "Search:");
	(void)top_scene_type(&scene, "10.77.2.");
	CHECK_EQ_UINT(board->selected, 1);
	(void)top_scene_press(&scene, KEY_GO_DOWN);
	CHECK_EQ_UINT(board->selected, 2);
	CHECK_HAS_TEXT(top_scene_type(&scene, "zz"), "not found");
	(void)top_scene_press(&scene, KEY_RETURN);
	CHECK_HAS_TEXT(top_scene_press(&scene, '&'), "'10.77.2.zz' not found");
	top_scene_done(&scene);
}

TEST(the_host_saves_and_seeks)
{
	struct top_scene scene;

	REQUIRE(top_scene_open(&scene, true, 120, 30));
	(void)top_scene_press(&scene, 'S');
	CHECK_HAS_TEXT(top_scene_type(&scene, "bad\r"), "it exists");
	(void)top_scene_press(&scene, KEY_CTRL('U'));
	CHECK_HAS_TEXT(top_scene_type(&scene, "day.nest\r"), "saved day.nest");
	CHECK_EQ_TEXT(buf_text(&scene.calls), "save bad;save day.nest;");
	top_scene_done(&scene);
	REQUIRE(top_scene_open(&scene, false, 120, 30));
	(void)top_scene_press(&scene, '@');
	(void)top_scene_type(&scene, "02:13\r");
	CHECK_EQ_TEXT(buf_text(&scene.calls), "to 02:13;");
	top_scene_done(&scene);
}

/* --- what is kept --- */

TEST(the_last_minutes_are_copied_once)
{
	uint64_t now_ns = clock_real_ns();
	struct keeping keeping = {};
	struct store *store = NULL;
	struct why why = {};
	char copy[128];
	struct stat file;

	unsetenv("TMPDIR");
	REQUIRE(keeping_open(&keeping, &why) == 0);
	REQUIRE(stat(keeping.dir, &file) == 0);
	CHECK_EQ_UINT(file.st_mode & 07777, 0700);
	REQUIRE(store_create(keeping.file, "top", &store, &why) == 0);
	CHECK_OK(store_add_mark(store, now_ns - 3600 * NSEC_PER_SEC, "old"));
	CHECK_OK(store_add_mark(store, now_ns - 5 * NSEC_PER_SEC, "new"));
	CHECK_OK(keeping_trim(store, 60 * NSEC_PER_SEC));
	snprintf(copy, sizeof(copy), "%s-copy.nest", keeping.dir);
	CHECK_OK(keeping_copy(&keeping, store, copy, &why));
	CHECK_EQ_INT(file_number(copy, "SELECT count(*) FROM mark"), 1);
	CHECK_EQ_INT(file_number(copy, "SELECT count(*) FROM mark WHERE label = 'new'"), 1);
	REQUIRE(stat(copy, &file) == 0);
	CHECK_EQ_UINT(file.st_mode & 07777, 0600);
	/* A file that exists stays as it is. */
	CHECK_OK(store_add_mark(store, now_ns, "third"));
	CHECK_ERR(keeping_copy(&keeping, store, copy, &why), -EEXIST);
	CHECK_HAS_TEXT(why.text, "cannot write");
	CHECK_EQ_INT(file_number(copy, "SELECT count(*) FROM mark"), 1);
	(void)unlink(copy);
	CHECK_ERR(keeping_copy(&keeping, store, "/nonexistent/x.nest", &why), -ENOENT);
	CHECK_OK(store_close(store, &why));
	keeping_close(&keeping);
	CHECK(stat(copy, &file) < 0);
}

TEST(without_a_place_nothing_is_kept)
{
	struct keeping keeping = {};
	struct why why = {};

	setenv("TMPDIR", "/nonexistent", 1);
	CHECK_ERR(keeping_open(&keeping, &why), -ENOENT);
	CHECK_HAS_TEXT(why.text, "--keep 0 does without");
	CHECK(!keeping.dir);
	keeping_close(&keeping);
}
