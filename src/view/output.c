/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>

#include "base/text.h"
#include "base/worker.h"
#include "record/expr.h"
#include "view/format.h"
#include "view/list.h"
#include "view/output.h"
#include "view/view.h"

const struct option_spec output_option_table[] = {
	OPTION(struct output_options, json, FLAG, "json", 'j', NULL,
	       "JSON lines: all fields, raw numbers in base units"),
	OPTION(struct output_options, csv, FLAG, "csv", 0, NULL, "comma-separated values: all fields, raw numbers"),
	OPTION(struct output_options, format, TEXT, "format", 0, "NAME",
	       "output format: table, words (with explanations), json, csv, heat (histograms over time)"),
	OPTION(struct output_options, show, NAMES, "show", 0, "FIELD,..",
	       "show these fields as columns, in this order; help lists them"),
	OPTION(struct output_options, where, TEXT, "where", 0, "EXPR",
	       "show only records that match the expression; help lists the fields"),
	OPTION(struct output_options, wide, FLAG, "wide", 'w', NULL, "show all columns in full width"),
	OPTION(struct output_options, numeric, FLAG, "numeric", 'n', NULL,
	       "show addresses and ports as numbers (always so; for compatibility)"),
	OPTION(struct output_options, file, TEXT, "output", 'o', "FILE",
	       "write to this file instead of standard output", .file = FILE_WRITE),
	OPTION_END,
};

struct output {
	struct out out;
	struct view view;
	struct expr *where;
	struct field_alias *aliases;
	bool has_records;
	bool on_screen; /* drawing a screen that replaces the previous one */
	uint64_t intervals;
	bool lent;                                                /* to a command that may write its own text */
	void (*take)(void *context, const struct record *record); /* instead of a format */
	void *context;
	const struct expr *taken_where;
	bool ended;
};

const struct view_class *view_class_find(const char *name)
{
	registry_each(view_class, class)
		if (strcmp((*class)->name, name) == 0)
			return *class;
	return NULL;
}

static int choose_class(const struct output_options *options, const struct view_class **ret_class, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = options->format};

	if (options->json + options->csv + (options->format != NULL) > 1)
		return why_set(why, -EINVAL, "--json, --csv and --format exclude each other");
	*ret_class = view_class_find(options->json ? "json" : options->csv ? "csv" : options->format ?: "table");
	if (*ret_class)
		return 0;
	registry_each(view_class, class)
		near_consider(&near, (*class)->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, options->format, strnlen(options->format, 40));
	return why_set(why, -EINVAL, "--format: unknown format '%s'%s", buf_text(&shown), buf_text(&hint));
}

static int add_named_column(struct view *view, const struct shape *shape, const char *name, struct why *why)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	struct near near = {.word = name};
	struct field_ref ref, at = {};

	if (shape_find(shape, name, &ref) == 0) {
		vec_push(&view->columns, (struct view_column){.ref = ref});
		return 0;
	}
	while (shape_next(shape, &at))
		near_consider(&near, at.field->name);
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 40));
	return why_set(why, -EINVAL, "--show: unknown field '%s'%s", buf_text(&shown),
		       hint.len ? buf_text(&hint) : ": --show help lists them");
}

static unsigned line_width(const struct output_options *options)
{
	struct out out;

	if (options->file)
		return 0;
	out_init(&out, STDOUT_FILENO);
	return out.width;
}

static int add_own_columns(const struct output_options *options, struct view *view, const struct shape *shape,
			   const struct output_column *columns, struct why *why)
{
	for (const struct output_column *column = columns; column->field; column++) {
		struct view_column *added;
		int r;

		if (column->from_width > line_width(options))
			continue;
		r = add_named_column(view, shape, column->field, why);
		if (r < 0)
			return r;
		added = &view->columns.items[view->columns.count - 1];
		added->heading = column->heading;
		added->words = column->words;
		if (column->instead)
			(void)!shape_find(shape, column->instead, &added->instead);
		if (column->prefix)
			(void)!shape_find(shape, column->prefix, &added->prefix);
	}
	return 0;
}

bool output_shows_all(const struct output_options *options)
{
	const struct view_class *class = NULL;

	return options->show.count == 0 &&
	       (options->wide || (choose_class(options, &class, NULL) == 0 && class->all_fields));
}

static int choose_columns(const struct output_options *options, const struct shape *shape,
			  const struct output_column *own, struct view *view, struct why *why)
{
	struct field_ref at = {};

	for (size_t i = 0; i < options->show.count; i++) {
		int r = add_named_column(view, shape, options->show.items[i], why);

		if (r < 0)
			return r;
	}
	if (options->show.count > 0)
		return 0;
	if (own && !options->wide && !view->class->all_fields)
		return add_own_columns(options, view, shape, own, why);
	while (shape_next(shape, &at))
		if (!at.field->hidden || options->wide || view->class->all_fields)
			vec_push(&view->columns, (struct view_column){.ref = at});
	return 0;
}

static int check_columns(const struct view *view, struct why *why)
{
	vec_each(&view->columns, column)
		if (view->class->needs && strcmp(column->ref.field->name, view->class->needs) == 0)
			return 0;
	return view->class->needs ? why_set(why, -EINVAL, "--format %s needs %s", view->class->name, view->class->lacks)
				  : 0;
}

/* --- help --- */

struct help_row {
	const char *field;
	const char *kind;
	const char *help;
};

static const struct field help_fields[] = {
	FIELD(struct help_row, field, TEXT, "name for --show and --where"),
	FIELD(struct help_row, kind, TEXT, "kind of value"),
	FIELD(struct help_row, help, TEXT, "meaning"),
};
static RECORD_TYPE(help_type, "field", struct help_row, help_fields, "field for --show and --where");

static bool wants_help(const struct output_options *options)
{
	return (options->where && strcmp(options->where, "help") == 0) ||
	       (options->show.count == 1 && strcmp(options->show.items[0], "help") == 0);
}

int output_help(const struct shape *shape, struct why *why)
{
	VEC(struct help_row) rows = {};
	struct field_ref at = {};
	struct list list;
	struct out out;
	int r;

	while (shape_next(shape, &at))
		vec_push(&rows, (struct help_row){at.field->name, format_kind_name(at.field), at.field->help});
	list = (struct list){rows.items, (uint32_t)rows.count};
	out_init(&out, STDOUT_FILENO);
	list_print(&out, &help_type, &list);
	r = out_done(&out);
	vec_done(&rows);
	return r < 0 ? why_set(why, -EIO, "cannot list the fields: %s", strerror(-r)) : -ECANCELED;
}

/* --- opening --- */

struct field_alias *output_aliases(const struct output_column *columns)
{
	VEC(struct field_alias) aliases = {};

	for (; columns && columns->field; columns++)
		if (columns->heading)
			vec_push(&aliases, (struct field_alias){columns->heading, columns->field});
	vec_push(&aliases, (struct field_alias){});
	return aliases.items;
}

static void output_free(struct output *output)
{
	if (!output)
		return;
	expr_free(output->where);
	free(output->aliases);
	vec_done(&output->view.columns);
	buf_done(&output->view.cell);
	free(output->view.state);
	free(output);
}

static void output_freep(struct output **output)
{
	output_free(*output);
}

int output_open(const struct output_options *options, const struct shape *shape, struct output **ret_output,
		struct why *why)
{
	return output_open_columns(options, shape, NULL, ret_output, why);
}

int output_open_columns(const struct output_options *options, const struct shape *shape,
			const struct output_column *columns, struct output **ret_output, struct why *why)
{
	_cleanup_(output_freep) struct output *output = xzalloc(sizeof(*output));
	struct shape named = *shape;
	struct why reason = {};
	int r;

	if (wants_help(options))
		return output_help(shape, why);
	output->aliases = output_aliases(columns);
	named.aliases = output->aliases;
	r = choose_class(options, &output->view.class, why);
	if (r == 0)
		r = choose_columns(options, &named, columns, &output->view, why);
	if (r == 0)
		r = check_columns(&output->view, why);
	if (r == 0 && options->where) {
		r = expr_parse(options->where, &named, &output->where, &reason);
		if (r < 0)
			(void)why_set(why, r, "--where: %s", reason.text);
	}
	if (r < 0)
		return r;
	r = out_open(&output->out, options->file);
	if (r < 0)
		return why_set(why, -EIO, "cannot write %s: %s", options->file, new_file_error(r));
	output->view.out = &output->out;
	output->view.wide = options->wide;
	output->view.state = xzalloc(output->view.class->state_size);
	if (output->view.class->begin)
		output->view.class->begin(&output->view);
	*ret_output = take_ptr(output);
	return 0;
}

static void take_record(struct view *view, const struct record *record)
{
	struct output *output = *(struct output **)view->state;

	output->take(output->context, record);
}

static const struct view_class taker_class = {
	.name = "taker", .all_fields = true, .state_size = sizeof(struct output *), .record = take_record};

struct output *output_open_taker(const struct expr *where, void (*take)(void *context, const struct record *record),
				 void *context)
{
	struct output *output = xzalloc(sizeof(*output));

	output->take = take;
	output->context = context;
	output->taken_where = where;
	output->view = (struct view){.class = &taker_class, .out = &output->out};
	output->view.state = xzalloc(sizeof(struct output *));
	*(struct output **)output->view.state = output;
	out_init(&output->out, -1);
	return output;
}

bool output_wants(const struct output *output, const struct record *record)
{
	const struct expr *where = output->where ?: output->taken_where;

	return !where || expr_matches(where, record);
}

bool output_record(struct output *output, const struct record *record)
{
	if (!output_wants(output, record))
		return false;
	output->view.class->record(&output->view, record);
	output->has_records = true;
	return true;
}

/* --- batches --- */

/* Rows per block, blocks written together, and the maximum number of threads. */
#define BLOCK_ROWS 1024
#define BLOCKS     32
#define LANES      4
/* Approximate cost of a row. */
#define ROW_NS 400

struct round {
	const struct output *output;
	const struct output_batch *batch;
	size_t from; /* the first row, and the one after the last */
	size_t to;
	unsigned next; /* block, changed by all threads */
	struct buf blocks[BLOCKS];
};

/* Per-thread data. */
struct lane {
	struct round *round;
	struct view view;
	struct out out;
	void *room;
	uint64_t shown;
	struct worker worker;
};

static bool show_row(const struct output *output, struct view *view, const struct output_batch *batch, size_t number,
		     void *room)
{
	struct record record = {};

	if (!batch->make(batch->context, number, room, &record) || !output_wants(output, &record))
		return false;
	view->class->record(view, &record);
	return true;
}

static void run_lane(void *context)
{
	struct lane *lane = context;
	struct round *round = lane->round;

	for (;;) {
		unsigned block = __atomic_fetch_add(&round->next, 1, __ATOMIC_RELAXED);
		size_t row = round->from + (size_t)block * BLOCK_ROWS, end = min_of(row + BLOCK_ROWS, round->to);

		if (row >= round->to)
			return;
		lane->out.pending = round->blocks[block];
		for (; row < end; row++)
			lane->shown += show_row(round->output, &lane->view, round->batch, row, lane->room);
		round->blocks[block] = lane->out.pending;
	}
}

static void lane_begin(struct lane *lane, struct round *round)
{
	*lane = (struct lane){.round = round, .view = round->output->view, .out = round->output->out};
	lane->out.kept = true;
	lane->view.out = &lane->out;
	lane->view.cell = BUF_INIT(0);
	lane->room = xzalloc(max_of(round->batch->room_size, (size_t)1));
}

static void lane_end(struct lane *lane)
{
	buf_done(&lane->view.cell);
	free(lane->room);
}

/* Writes some of the rows from this one on. Returns the next row. */
static size_t run_round(struct round *round, struct lane *lanes, unsigned count, size_t from)
{
	round->from = from;
	round->to = min_of(from + (size_t)BLOCKS * BLOCK_ROWS, round->batch->count);
	round->next = 0;
	for (unsigned i = 1; i < count; i++)
		worker_start(&lanes[i].worker, run_lane, &lanes[i], (round->to - from) * ROW_NS / count);
	run_lane(&lanes[0]);
	for (unsigned i = 1; i < count; i++)
		worker_join(&lanes[i].worker);
	return round->to;
}

static uint64_t show_beside(struct output *output, const struct output_batch *batch, size_t from, unsigned count)
{
	struct round round = {.output = output, .batch = batch};
	struct lane lanes[LANES];
	uint64_t shown = 0;

	for (unsigned i = 0; i < BLOCKS; i++)
		round.blocks[i] = BUF_INIT(output->out.pending.cap);
	for (unsigned i = 0; i < count; i++)
		lane_begin(&lanes[i], &round);
	while (from < batch->count && !output->out.error) {
		from = run_round(&round, lanes, count, from);
		for (unsigned i = 0; i < BLOCKS; i++)
			out_pass(&output->out, &round.blocks[i]);
	}
	for (unsigned i = 0; i < count; i++) {
		shown += lanes[i].shown;
		lane_end(&lanes[i]);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		buf_done(&round.blocks[i]);
	return shown;
}

uint64_t output_batch(struct output *output, const struct output_batch *batch)
{
	_cleanup_free_ void *room = xzalloc(max_of(batch->room_size, (size_t)1));
	bool beside = batch->count >= WORKER_WORTH && worker_cpus() > 1;
	uint64_t shown = 0;
	size_t i;

	/* Load names before the threads start: lazy loading is not thread-safe. */
	vec_each(&output->view.columns, column)
		if (column->ref.field->names)
			(void)enum_names_get(column->ref.field->names);
	for (i = 0; i < batch->count && !output->out.error && !(beside && output->view.settled); i++)
		shown += show_row(output, &output->view, batch, i, room);
	if (i < batch->count && !output->out.error)
		shown += show_beside(output, batch, i, min_of(worker_cpus(), (unsigned)LANES));
	output->has_records |= shown > 0;
	return shown;
}

bool output_uses(const struct output *output, const struct shape *shape, unsigned part)
{
	struct field_ref at = {};

	vec_each(&output->view.columns, column)
		if (column->ref.part == part)
			return true;
	while (output->where && shape_next(shape, &at))
		if (at.part == part && expr_uses(output->where, at))
			return true;
	return false;
}

struct out *output_out(struct output *output)
{
	output->lent = true;
	return &output->out;
}

void output_stream(struct output *output)
{
	output->view.stream = true;
}

void output_interval(struct output *output, const struct output_moment *moment, bool in_place)
{
	struct view *view = &output->view;
	struct out *out = &output->out;

	if (!view->class->again)
		return;
	view->class->again(view);
	view->repeated = in_place;
	output->on_screen = in_place && out->movable && !view->wide;
	if (output->on_screen)
		out_begin_screen(out);
	else if (output->intervals++ > 0)
		out_end_line(out);
	if (moment->time_ns)
		format_add_clock(&out->pending, moment->time_ns);
	if (moment->elapsed_ns != UINT64_MAX) {
		buf_add_text(&out->pending, moment->time_ns ? " " : "");
		format_add_duration(&out->pending, (int64_t)moment->elapsed_ns);
	}
	out_end_line(out);
}

int output_flush(struct output *output)
{
	if (output->view.class->flush)
		output->view.class->flush(&output->view);
	if (output->on_screen)
		out_end_screen(&output->out);
	output->on_screen = false;
	return out_flush(&output->out);
}

static void end_view(struct output *output)
{
	bool has_text = output->lent && (output->out.wrote || output->out.pending.len > 0);

	/* An empty table shows its header; not below other text. */
	if (!output->ended && output->view.class->end && (output->has_records || !has_text))
		output->view.class->end(&output->view);
	output->ended = true;
}

int output_end(struct output *output)
{
	end_view(output);
	return out_flush(&output->out);
}

void output_drop(struct output *output)
{
	end_view(output);
	out_drop(&output->out);
}

int output_close(struct output *output)
{
	int r;

	end_view(output);
	r = out_done(&output->out);
	output_free(output);
	return r;
}
