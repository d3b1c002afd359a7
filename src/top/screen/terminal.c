/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "top/screen/terminal.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/alloc.h"
#include "base/clock.h"

#define ESCAPE_MS       25
#define DOUBLE_CLICK_NS (400 * NSEC_PER_MSEC)

struct terminal {
	SCREEN *screen;
	bool open;
	bool utf8;
	bool colour;
	const struct theme *theme;
	uint64_t click_ns;
	unsigned click_x, click_y;
};

int terminal_check(struct why *why)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return why_set(why, -ENOTTY, "needs a terminal; nest watch prints findings line by line");
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return why_set(
			why, -ENOTTY,
			"TERM is %s: this terminal cannot show a screen; nest watch prints findings line by line",
			term && *term ? term : "not set");
	return 0;
}

static void set_modes(void)
{
	(void)cbreak();
	(void)noecho();
	(void)nonl();
	(void)intrflush(stdscr, FALSE);
	(void)keypad(stdscr, TRUE);
	(void)nodelay(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	(void)mouseinterval(0);
}

int terminal_open(struct terminal **ret_terminal, struct why *why)
{
	struct terminal *terminal;
	const char *no_color = getenv("NO_COLOR");
	SCREEN *screen;
	int r = terminal_check(why);

	if (r < 0)
		return r;
	screen = newterm(NULL, stdout, stdin);
	if (!screen)
		return why_set(why, -ENOTTY, "TERM is %s: no description of this terminal is installed (ncurses-term)",
			       getenv("TERM"));
	terminal = xzalloc(sizeof(*terminal));
	terminal->screen = screen;
	terminal->open = true;
	terminal->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	set_modes();
	terminal->colour = !(no_color && *no_color) && has_colors() && start_color() == OK;
	if (terminal->colour)
		(void)use_default_colors();
	*ret_terminal = terminal;
	return 0;
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	if (terminal->open) {
		(void)endwin();
		delscreen(terminal->screen);
	}
	free(terminal);
}

bool terminal_is_utf8(const struct terminal *terminal)
{
	return terminal->utf8;
}

void terminal_size(struct terminal *terminal, unsigned *ret_width, unsigned *ret_height)
{
	struct winsize size = {};

	(void)terminal;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0 &&
	    (size.ws_col != COLS || size.ws_row != LINES))
		(void)resizeterm(size.ws_row, size.ws_col);
	*ret_width = (unsigned)max_of(COLS, 1);
	*ret_height = (unsigned)max_of(LINES, 1);
}

static attr_t attributes_of(uint8_t attributes)
{
	return (attributes & THEME_BOLD ? A_BOLD : 0) | (attributes & THEME_DIM ? A_DIM : 0) |
	       (attributes & THEME_REVERSE ? A_REVERSE : 0) | (attributes & THEME_UNDERLINE ? A_UNDERLINE : 0);
}

void terminal_set_theme(struct terminal *terminal, const struct theme *theme)
{
	if (terminal->theme == theme)
		return;
	terminal->theme = theme;
	for (short i = 0; terminal->colour && theme->colour && i < INKS; i++) {
		const struct theme_ink *ink = &theme->inks[i];

		if (COLORS >= 256)
			(void)init_pair((short)(i + 1), ink->fg, ink->bg);
		else
			(void)init_pair((short)(i + 1), ink->fg8, ink->bg8);
	}
	(void)clearok(stdscr, TRUE);
}

static void set_ink(const struct terminal *terminal, uint8_t ink)
{
	const struct theme_ink *look = &terminal->theme->inks[ink];

	if (terminal->colour && terminal->theme->colour)
		(void)attr_set(attributes_of(look->attributes), (short)(ink + 1), NULL);
	else
		(void)attr_set(attributes_of(look->plain), 0, NULL);
}

/* Runs of one ink in one call; curses sends what differs from before. */
void terminal_show(struct terminal *terminal, const struct canvas *canvas)
{
	_cleanup_buf_ struct buf run = BUF_INIT(65536);

	(void)erase();
	for (unsigned y = 0; y < canvas->height; y++) {
		const struct cell *cells = canvas->cells + (size_t)y * canvas->width;

		(void)move((int)y, 0);
		for (unsigned x = 0; x < canvas->width;) {
			uint8_t ink = cells[x].ink;

			buf_clear(&run);
			for (; x < canvas->width && cells[x].ink == ink; x++)
				buf_add_text(&run, cells[x].text);
			set_ink(terminal, ink);
			(void)addstr(buf_text(&run));
		}
	}
	(void)curs_set(canvas->cursor);
	if (canvas->cursor)
		(void)move((int)canvas->cursor_y, (int)canvas->cursor_x);
	(void)refresh();
}

static uint32_t key_of_code(wint_t code)
{
	static const struct {
		int code;
		uint32_t key;
	} keys[] = {
		{KEY_UP, KEY_GO_UP},       {KEY_DOWN, KEY_GO_DOWN},          {KEY_LEFT, KEY_GO_LEFT},
		{KEY_RIGHT, KEY_GO_RIGHT}, {KEY_HOME, KEY_GO_HOME},          {KEY_END, KEY_GO_END},
		{KEY_PPAGE, KEY_PAGE_UP},  {KEY_NPAGE, KEY_PAGE_DOWN},       {KEY_BTAB, KEY_BACKTAB},
		{KEY_ENTER, KEY_RETURN},   {KEY_BACKSPACE, KEY_DELETE_BACK}, {KEY_DC, KEY_DELETE_BACK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if ((wint_t)keys[i].code == code)
			return keys[i].key;
	if (code > (wint_t)KEY_F(0) && code <= (wint_t)KEY_F(12))
		return KEY_F_(code - (wint_t)KEY_F(0));
	return KEY_NO;
}

static void read_mouse(struct terminal *terminal, struct key_press *press)
{
	uint64_t now_ns = clock_monotonic_ns();
	MEVENT event;

	press->key = KEY_NO;
	if (getmouse(&event) != OK || event.x < 0 || event.y < 0)
		return;
	press->x = (unsigned)event.x;
	press->y = (unsigned)event.y;
	if (event.bstate & BUTTON4_PRESSED) {
		press->key = KEY_WHEEL_UP;
	} else if (event.bstate & BUTTON5_PRESSED) {
		press->key = KEY_WHEEL_DOWN;
	} else if (event.bstate & BUTTON1_PRESSED) {
		bool twice = now_ns - terminal->click_ns < DOUBLE_CLICK_NS && terminal->click_x == press->x &&
			     terminal->click_y == press->y;

		press->key = twice ? KEY_DOUBLE_CLICK : KEY_CLICK;
		terminal->click_ns = twice ? 0 : now_ns;
		terminal->click_x = press->x;
		terminal->click_y = press->y;
	}
}

/* A terminal that is gone is always readable and has nothing to read. */
static bool is_gone(void)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLHUP | POLLERR | POLLNVAL));
}

int terminal_read(struct terminal *terminal, struct key_press *ret_press)
{
	wint_t code;
	int kind = get_wch(&code);

	*ret_press = (struct key_press){};
	if (kind == ERR)
		return is_gone() ? -EIO : 0;
	if (kind == KEY_CODE_YES && code == KEY_MOUSE)
		read_mouse(terminal, ret_press);
	else if (kind == KEY_CODE_YES)
		ret_press->key = key_of_code(code);
	else
		ret_press->key = code == '\n' ? KEY_RETURN : code == 8 ? KEY_DELETE_BACK : (uint32_t)code;
	return 1;
}

void terminal_suspend(struct terminal *terminal)
{
	(void)terminal;
	(void)endwin();
	(void)raise(SIGSTOP);
	(void)clearok(stdscr, TRUE);
	(void)refresh();
}

static void add_base64(struct buf *out, const char *text, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)(unsigned char)text[i] << 16;

		bits |= i + 1 < len ? (uint32_t)(unsigned char)text[i + 1] << 8 : 0;
		bits |= i + 2 < len ? (uint32_t)(unsigned char)text[i + 2] : 0;
		buf_add_char(out, digits[bits >> 18 & 63]);
		buf_add_char(out, digits[bits >> 12 & 63]);
		buf_add_char(out, i + 1 < len ? digits[bits >> 6 & 63] : '=');
		buf_add_char(out, i + 2 < len ? digits[bits & 63] : '=');
	}
}

void terminal_copy(struct terminal *terminal, const char *text)
{
	_cleanup_buf_ struct buf sequence = BUF_INIT(65536);

	(void)terminal;
	buf_add_text(&sequence, "\033]52;c;");
	add_base64(&sequence, text, strlen(text));
	buf_add_text(&sequence, "\a");
	(void)!write(STDOUT_FILENO, sequence.data, sequence.len);
}
