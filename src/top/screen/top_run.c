/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <sys/epoll.h>

#include "top/screen/top_run.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/log.h"
#include "base/text.h"

#define TICK_NS      (NSEC_PER_SEC / 20)
#define AGAIN_NS     (NSEC_PER_SEC / 4)
#define MESSAGES_MAX 50

void top_run_redraw(struct top_run *top)
{
	unsigned width, height;

	terminal_size(top->terminal, &width, &height);
	if (width != top->canvas.width || height != top->canvas.height) {
		canvas_done(&top->canvas);
		canvas_init(&top->canvas, width, height, terminal_is_utf8(top->terminal));
		top->runner.width = width;
	}
	terminal_set_theme(top->terminal, top->screen->theme);
	screen_draw(top->screen, &top->canvas);
	terminal_show(top->terminal, &top->canvas);
}

/* --- messages --- */

/* They would spoil the screen: they are shown when it is gone. */
static void keep_message(void *context, const char *message)
{
	struct top_run *top = context;

	if (top->messages.count < MESSAGES_MAX)
		vec_push(&top->messages, xstrdup(message));
}

static void close_terminal(struct top_run *top)
{
	if (!top->terminal)
		return;
	terminal_close(take_ptr(top->terminal));
	log_divert(NULL, NULL);
	vec_each(&top->messages, message) {
		log_warn("%s", *message);
		free(*message);
	}
	vec_done(&top->messages);
}

/* --- settings --- */

static char *setting_name(const char *what, const struct board *board)
{
	return xasprintf("%s.%s", what, board->table->name);
}

static const char *setting_of(const struct top_run *top, const char *what, const struct board *board)
{
	_cleanup_free_ char *name = setting_name(what, board);

	return top_settings_get(&top->settings, name);
}

/* As it was left; a field that no longer exists leaves the default. */
static void apply_settings(struct top_run *top)
{
	const char *theme = top->options->theme ?: top_settings_get(&top->settings, "theme");

	if (theme && theme_find(theme))
		top->screen->theme = theme_find(theme);
	vec_each(&top->screen->tables, table) {
		struct board *board = screen_keep_board(top->screen, *table);
		const char *columns = setting_of(top, "columns", board), *sort = setting_of(top, "sort", board);
		const char *tree = setting_of(top, "tree", board);

		if (columns)
			(void)board_set_columns(board, columns);
		if (sort)
			(void)board_set_sort(board, sort);
		if (tree && *tree)
			(void)board_set_tree(board, tree);
	}
}

static void note_board(struct top_run *top, const struct board *board)
{
	_cleanup_free_ char *columns = setting_name("columns", board), *sort = setting_name("sort", board),
			    *tree = setting_name("tree", board);
	_cleanup_buf_ struct buf text = BUF_INIT(4096);

	board_add_columns(board, &text);
	top_settings_set(&top->settings, columns, buf_text(&text));
	buf_clear(&text);
	if (board->grid.sort.field)
		buf_add_format(&text, "%s%s", board->grid.descending ? "-" : "", board->grid.sort.field->name);
	top_settings_set(&top->settings, sort, buf_text(&text));
	top_settings_set(&top->settings, tree, board->tree == BOARD_FLAT ? "" : board->table->trees[board->tree]);
}

static void save_settings(struct top_run *top)
{
	bool changed = top->screen->changed;
	struct why why = {};

	if (changed)
		top_settings_set(&top->settings, "theme", top->screen->theme->name);
	vec_each(&top->screen->boards, board)
		if ((*board)->changed) {
			note_board(top, *board);
			changed = true;
		}
	if (changed && top_settings_save(&top->settings, &why) < 0)
		log_warn("top: settings are not kept: %s", why.text);
}

/* --- rows --- */

static void update_types(struct top_run *top)
{
	free(top->types);
	top->types = screen_types(top->screen);
	top->look.request.types = top->types;
}

/* A page that was just opened has its rows at once. */
static void refresh(struct top_run *top)
{
	struct screen *screen = top->screen;

	if (!screen->stale)
		return;
	if (top->run.recording) {
		top_run_open_recorded(top);
		return;
	}
	update_types(top);
	screen->stale = false;
	if (screen_shown(screen)->boards[0]) {
		bool frozen = screen->frozen;

		screen->frozen = false;
		run_snapshots_now(&top->look);
		top->again_ns = clock_monotonic_ns() + AGAIN_NS;
		screen->frozen = frozen;
	}
}

static int take(struct run_sink *sink, struct run *run, const void *item)
{
	struct top_run *top = (struct top_run *)sink;
	const struct snapshot *snapshot = item;
	uint64_t apart_ns = top->options->interval_ns - top->options->interval_ns / 10;

	sink->shown++;
	if (run->recording) {
		if (snapshot->begin_time_ns < top->shown_ns + apart_ns)
			return 0;
		top->shown_ns = snapshot->begin_time_ns;
	} else {
		top_run_save_effort(top, snapshot);
	}
	screen_take(top->screen, snapshot);
	if (top->terminal && !top->seeking)
		top_run_redraw(top);
	return 0;
}

static int report(struct run_diagnosis *diagnosis, const struct diagnosis_view *view)
{
	struct top_run *top = diagnosis->context;
	const struct diagnosis_record *record = view->gone ? NULL : diagnosis_get(view->diagnosis);

	if (record)
		findings_add(&top->screen->findings, record);
	if (!top->run.recording)
		top_run_budget(top);
	return 0;
}

/* --- the loop --- */

static void on_keys(void *context, uint32_t events)
{
	struct top_run *top = context;
	struct key_press press;
	int r = events & (EPOLLHUP | EPOLLERR) ? -EIO : 0;

	while (r >= 0 && !top->screen->quit && (r = terminal_read(top->terminal, &press)) > 0)
		if (press.key != KEY_NO)
			screen_press(top->screen, &press);
	if (r < 0 || top->screen->quit) {
		run_stop(&top->run, 0);
		return;
	}
	refresh(top);
	top_run_redraw(top);
}

static void on_resize(void *context, int signal_number _unused_)
{
	top_run_redraw(context);
}

static void on_suspend(void *context, int signal_number _unused_)
{
	struct top_run *top = context;

	terminal_suspend(top->terminal);
	top->playback.tick_ns = 0;
	top_run_redraw(top);
}

static void on_tick(void *context, uint64_t expirations _unused_)
{
	struct top_run *top = context;

	if (top->run.recording)
		top_run_play(top);
	else
		top_run_wake(top);
	if (top->again_ns && clock_monotonic_ns() >= top->again_ns) {
		top->again_ns = 0;
		run_snapshots_now(&top->look);
	}
}

static void on_trim(void *context, uint64_t expirations _unused_)
{
	struct top_run *top = context;
	int r = keeping_trim(top->run.store, top->options->keep_ns);

	if (r < 0)
		run_stop(&top->run, run_stored(&top->run, r));
}

static int watch_terminal(struct top_run *top, struct loop *loop)
{
	int r = loop_add_fd(loop, STDIN_FILENO, EPOLLIN, on_keys, top, NULL);

	if (r == 0)
		r = loop_add_signal(loop, SIGWINCH, on_resize, top);
	if (r == 0)
		r = loop_add_signal(loop, SIGCONT, on_resize, top);
	if (r == 0)
		r = loop_add_signal(loop, SIGTSTP, on_suspend, top);
	if (r == 0)
		r = loop_add_timer(loop, TICK_NS, TICK_NS, on_tick, top, NULL);
	if (r == 0 && top->keeping.file && top->run.store)
		r = loop_add_timer(loop, 5 * NSEC_PER_SEC, 5 * NSEC_PER_SEC, on_trim, top, NULL);
	return r < 0 ? why_set(&top->run.why, r, "cannot wait for keys: %s", strerror(-r)) : 0;
}

static void set_status(struct top_run *top)
{
	static char own[65];
	struct screen_status *status = &top->screen->status;

	(void)gethostname(own, sizeof(own) - 1);
	status->host = top->run.recording ? recording_host(top->run.recording)->host : own;
	status->file = top->options->live.input.file;
	status->flow = top->options->flow;
	status->netns = top->options->live.netns;
	status->begin_ns = top->playback.begin_ns;
	status->end_ns = top->playback.end_ns;
	status->speed = top->playback.speed;
}

/* Before anything is opened: a terminal that cannot show a screen is no reason to load programs. */
static int prepare(struct run_sink *sink, struct run *run)
{
	struct top_run *top = (struct top_run *)sink;
	const char *page = top->options->page;

	if (top->options->theme && !theme_find(top->options->theme))
		return why_set(&run->why, -EINVAL, "unknown theme '%.40s' (default, light, mono)", top->options->theme);
	if (page && strcmp(page, "overview") != 0 && !screen_find_table(top->screen, page))
		return why_set(&run->why, -EINVAL, "unknown page '%.40s' (nest tables lists tables)", page);
	return terminal_check(&run->why);
}

static int begin(struct run_sink *sink, struct run *run)
{
	struct top_run *top = (struct top_run *)sink;
	const char *page = top->options->page;
	int r = 0;

	if (run->recording)
		r = playback_open(&top->playback, run->recording, &run->range, &run->why);
	if (r == 0)
		r = terminal_open(&top->terminal, &run->why);
	if (r < 0)
		return r;
	log_divert(keep_message, top);
	/* Settings are kept in the user's directory, and S asks for the name of a file. */
	run_needs(run, MAY_SCRATCH | MAY_NAME_FILES, 0);
	top->runner.loop = run->loop;
	apply_settings(top);
	if (page && strcmp(page, "overview") != 0)
		screen_show_table(top->screen, screen_find_table(top->screen, page));
	update_types(top);
	set_status(top);
	top->screen->stale = false;
	r = watch_terminal(top, run->loop);
	top_run_redraw(top);
	return r;
}

static int end(struct run_sink *sink, struct run *run _unused_)
{
	struct top_run *top = (struct top_run *)sink;

	close_terminal(top);
	save_settings(top);
	return 0;
}

static void close_top(struct run_sink *sink)
{
	struct top_run *top = (struct top_run *)sink;

	close_terminal(top);
	screen_free(top->screen);
	canvas_done(&top->canvas);
	playback_done(&top->playback);
	top_settings_done(&top->settings);
	keeping_close(&top->keeping);
	buf_done(&top->always);
	free(top->types);
}

static const struct run_sink_ops top_ops = {
	.prepare = prepare, .begin = begin, .take = take, .end = end, .close = close_top};

/* --- the run --- */

static void add_ports(struct buf *out, const struct port_list *ports)
{
	_cleanup_buf_ struct buf list = BUF_INIT(1024);

	for (size_t i = 0; i < ports->count; i++)
		buf_add_format(&list, "%s%u", i ? ", " : "", ports->items[i]);
	buf_add_format(out, "(lport in (%s) or rport in (%s))", buf_text(&list), buf_text(&list));
}

/* What -p, -P, -C and -i select, as a filter of the tables that have these fields. */
static void select_rows(struct buf *out, const struct selection *selection)
{
	if (selection->pid)
		buf_add_format(out, "pid == %llu", (unsigned long long)selection->pid);
	if (selection->ports.count > 0) {
		buf_add_text(out, out->len ? " and " : "");
		add_ports(out, &selection->ports);
	}
	if (selection->cgroup)
		buf_add_format(out, "%scgroup ~ \"%s*\"", out->len ? " and " : "", selection->cgroup);
	if (selection->dev)
		buf_add_format(out, "%sdev == \"%s\"", out->len ? " and " : "", selection->dev);
}

/* The host is looked at twice: by the diagnosis, and once per interval for what the page shows. */
static void add_sources(struct top_run *top)
{
	const struct diagnosis_options *live = &top->options->live;
	struct run *run = &top->run;

	/* First what the page shows: it also tells how much effort the diagnosis is. */
	if (!live->input.file)
		run_snapshots_init(&top->look, run, NULL);
	run_diagnosis_init(&top->diagnosis, run);
	run->options.attaches = false;
	if (live->input.file) {
		run_add_sink(run, &top->diagnosis.snapshots.source, &top->sink);
		return;
	}
	top->look.netns = top->diagnosis.snapshots.netns;
	top->diagnosis.snapshots.paused = true;
	top->look.unsaved = true;
	top->look.pace_ns = top->options->interval_ns;
	top->look.request.repeated = true;
	top->look.request.passive = live->passive;
	run_add_sink(run, &top->look.source, &top->sink);
}

static void on_pane(void *context)
{
	struct top_run *top = context;

	if (top->terminal && screen_shown(top->screen)->pane)
		top_run_redraw(top);
}

int top_run(const struct top_options *options)
{
	struct top_run top = {.sink.ops = &top_ops,
			      .options = options,
			      .run.options = {.name = "top", .duration_ns = options->duration_ns, .paced = true},
			      .diagnosis = {.options = &options->live, .report = report, .endless = true},
			      .playback.speed = options->speed,
			      .always = BUF_INIT(4096)};
	struct why why = {};
	struct screen_host host;

	top.diagnosis.context = &top;
	top.runner = (struct runner){
		.netns = options->live.netns, .file = options->live.input.file, .changed = on_pane, .context = &top};
	top_settings_init(&top.settings);
	top_settings_load(&top.settings);
	select_rows(&top.always, &options->live.selection);
	if (!options->live.input.file && !options->live.save && options->keep_ns && terminal_check(&why) == 0) {
		if (keeping_open(&top.keeping, &why) < 0)
			log_warn("top: %s", why.text);
		top.run.options.save = top.keeping.file;
	}
	host = top_run_host(&top);
	top.screen = screen_new(&host, !options->live.input.file, buf_text(&top.always));
	add_sources(&top);
	return run_carry_out(&top.run);
}
