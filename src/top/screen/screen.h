/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nest top without a terminal: takes snapshots and keys, draws on a canvas. Pages lie on a stack: a table, the details
 * of a row, the output of a command; Backspace goes back. Menus and the prompt lie above the page.
 */
#pragma once

#include "top/draw/spark.h"
#include "top/draw/theme.h"
#include "top/model/board.h"
#include "top/screen/key.h"
#include "top/screen/meter.h"
#include "top/screen/pane.h"

/* What needs more than a canvas; each may be NULL. */
struct screen_host {
	void *context;
	int (*run)(void *context, struct pane *pane, struct why *why);
	void (*stop)(void *context, struct pane *pane);
	void (*copy)(void *context, const char *text);
	int (*save)(void *context, const char *path, struct why *why);
	void (*suspend)(void *context);
	/* Of a recording: */
	void (*seek)(void *context, int64_t by_ns);
	int (*seek_to)(void *context, const char *time, struct why *why);
	void (*faster)(void *context, int direction);
	void (*hold)(void *context); /* pauses it, or goes on */
	bool (*next_finding)(void *context, int direction);
};

/* For the first line. */
struct screen_status {
	const char *host;
	const char *file;  /* NULL: live */
	const char *flow;  /* a function trace; NULL: none */
	const char *netns; /* of -N; NULL: none was given */
	uint64_t now_ns;
	uint64_t begin_ns, end_ns; /* of a recording */
	double speed;              /* of a recording */
	uint64_t rows;             /* sockets, for instance: of the last snapshot */
	const char *diagnosis;     /* a note, such as when it last ran; NULL: none */
};

enum page_kind { PAGE_OVERVIEW, PAGE_TABLE, PAGE_DETAIL, PAGE_PANE, PAGE_HELP, PAGE_KINDS };

#define OVERVIEW_BOARDS 3

struct screen_page {
	enum page_kind kind;
	struct board *boards[OVERVIEW_BOARDS]; /* a table has one */
	unsigned focus;                        /* the board that keys go to */
	bool owns;                             /* its boards are freed with it */
	/* Details: */
	struct grid row;  /* one row: a copy */
	struct buf id;    /* of the row */
	uint64_t gone_ns; /* 0: it is there */
	struct top_links links;
	unsigned link; /* chosen */
	unsigned scroll;
	unsigned lines;       /* drawn last time */
	struct series *plots; /* TOP_PLOTS_MAX */
	uint64_t plotted_ns;  /* time of their last values */
	/* Commands: */
	struct pane *pane;
};

/* A list to choose from. */
struct menu_item {
	char *label;
	char *value;
	bool marked;
};

struct screen;

struct menu {
	const char *title;
	VEC(struct menu_item) items;
	size_t at, first;
	bool stays; /* Enter marks and unmarks */
	void (*chosen)(struct screen *screen, const char *value);
	void (*moved)(struct screen *screen, const char *value, int direction); /* may be NULL */
};

enum prompt_kind { PROMPT_NONE, PROMPT_SEARCH, PROMPT_FILTER, PROMPT_RUN, PROMPT_SAVE, PROMPT_SEEK };

struct prompt {
	enum prompt_kind kind;
	struct buf text;
	struct why why;    /* what is wrong with it */
	struct buf offers; /* completions */
};

/* A place that can be clicked. */
struct screen_hit {
	struct area area;
	uint32_t key;        /* as if this were pressed; KEY_NO: */
	struct board *board; /* a line of it */
	uint32_t line;       /* or UINT32_MAX: a heading */
	uint32_t column;
};

struct screen {
	struct screen_host host;
	struct screen_status status;
	const struct theme *theme;
	struct findings findings;
	struct meters meters;
	VEC(const struct top_table *) tables; /* all of them */
	VEC(struct top_table *) made;         /* for tables of the snapshot that have none of their own */
	VEC(struct board *) boards;           /* of tables that were shown, kept for the next time */
	VEC(struct screen_page *) pages;      /* the last one is shown */
	struct menu menu;                     /* no items: closed */
	struct prompt prompt;
	struct buf searched; /* the last search */
	char *always;        /* what the command line selects */
	char message[512];
	bool message_bad;
	bool frozen;
	bool quit;
	bool live;
	bool stale;             /* a page that has no rows yet */
	bool changed;           /* theme: to be kept */
	unsigned width, height; /* of the last drawing */
	unsigned body_height;
	VEC(struct screen_hit) hits;
};

struct screen *screen_new(const struct screen_host *host, bool live, const char *always);
void screen_free(struct screen *screen);
/* The types of the snapshot that the page needs: an array that ends with NULL, for the caller to free. */
const struct record_type **screen_types(const struct screen *screen);
/* A new snapshot; the diagnosis comes beside it (findings_add). */
void screen_take(struct screen *screen, const struct snapshot *snapshot);
/* A page that was just opened takes its rows from a snapshot that was taken already, also while frozen. */
void screen_refill(struct screen *screen, const struct snapshot *snapshot);
/* Another time of a recording: figures of before do not count. */
void screen_restart(struct screen *screen);
void screen_press(struct screen *screen, const struct key_press *press);
void screen_draw(struct screen *screen, struct canvas *canvas);

/* --- for the files of this folder --- */

struct screen_page *screen_shown(const struct screen *screen);
/* The board that keys go to; NULL: the page has none. */
struct board *screen_board(const struct screen *screen);
/* Pages. */
void screen_show_table(struct screen *screen, const struct top_table *table);
void screen_show_overview(struct screen *screen);
void screen_push_table(struct screen *screen, const struct top_table *table, const char *where);
void screen_push_detail(struct screen *screen);
void screen_push_command(struct screen *screen, const char *command);
void screen_push_help(struct screen *screen);
/* False: there is nothing behind it. */
bool screen_back(struct screen *screen);
/* The board of a table as it was left. */
struct board *screen_keep_board(struct screen *screen, const struct top_table *table);
const struct top_table *screen_find_table(const struct screen *screen, const char *name);
void screen_say(struct screen *screen, const char *format, ...) _printf_(2, 3);
void screen_complain(struct screen *screen, const char *format, ...) _printf_(2, 3);
void screen_add_hit(struct screen *screen, struct screen_hit hit);
