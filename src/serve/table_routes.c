/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables: those of the snapshot, and those of commands that show one (nest sockets). What a command would look at is
 * borrowed from it (run/look.h), so that rows are those of its --json. Samples are kept for a moment: many pages cost
 * as much as one.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "record/expr.h"
#include "run/command.h"
#include "run/look.h"
#include "serve/serve.h"
#include "serve/table_name.h"
#include "view/json.h"

#define ROWS_MAX     100000
#define ROWS_DEFAULT 1000
#define BODY_MAX     ((size_t)64 << 20)
#define FRESH_NS     (NSEC_PER_SEC / 2)
#define KEPT_NS      (20 * NSEC_PER_SEC)
#define BEFORE_NS    (10 * NSEC_PER_SEC) /* of a moment in a recording: its last sample is looked for in these */
#define KEY_TEXT     64

/* --- samples --- */

/* The last sample for a table, live. */
struct serve_table {
	char *name;
	struct snapshot *snapshot;
	uint64_t taken_ns, asked_ns;
};

static void table_free(struct serve_table *table)
{
	snapshot_free(table->snapshot);
	free(table->name);
	free(table);
}

void serve_tables_forget(struct serve *serve, bool all)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = serve->tables.count; i-- > 0;) {
		struct serve_table *table = serve->tables.items[i];

		if (!all && now_ns - table->asked_ns < KEPT_NS)
			continue;
		serve->tables.items[i] = serve->tables.items[--serve->tables.count];
		table_free(table);
	}
	if (all)
		vec_done(&serve->tables);
}

static struct serve_table *find_table(struct serve *serve, const char *name)
{
	struct serve_table *table;

	vec_each(&serve->tables, known)
		if (strcmp((*known)->name, name) == 0)
			return *known;
	table = xzalloc(sizeof(*table));
	*table = (struct serve_table){.name = xstrdup(name), .snapshot = snapshot_new()};
	vec_push(&serve->tables, table);
	return table;
}

static bool has_type(const struct record_type *const *types, const struct record_type *type)
{
	for (; types && *types; types++)
		if (*types == type)
			return true;
	return false;
}

/* Some tables count from the first sample on: those that the diagnosis takes know more than a new one. */
static bool counts_already(const struct serve *serve, const struct look *look)
{
	const struct run_snapshots *samples = &serve->diagnosis.snapshots;
	const struct record_type *type = look->shape->types[0];

	if (look->show || !samples->taken || !has_type(samples->request.types, type))
		return false;
	registry_each(snapshot_source, source)
		if ((*source)->on_demand && has_type((*source)->types, type))
			return true;
	return false;
}

static int sample_live(struct serve *serve, const char *name, const struct look *look,
		       const struct snapshot **ret_snapshot, struct why *why)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct serve_table *table;
	int r = 0;

	if (counts_already(serve, look)) {
		*ret_snapshot = serve->diagnosis.snapshots.snapshot;
		return 0;
	}
	table = find_table(serve, name);
	table->asked_ns = now_ns;
	if (!table->taken_ns || now_ns - table->taken_ns > FRESH_NS) {
		r = sampler_ask(serve->sampler,
				&(struct snapshot_request){.types = look->types,
							   .repeated = true,
							   .passive = serve->options->live.passive},
				true, why);
		if (r == 0)
			r = sampler_take(serve->sampler, table->snapshot, why);
		table->taken_ns = r == 0 ? now_ns : 0;
	}
	*ret_snapshot = table->snapshot;
	return r;
}

static int read_last(const struct scene *scene, const struct time_range *range, const struct look *look,
		     struct snapshot *snapshot, struct replay **ret_replay, struct why *why)
{
	uint64_t samples;
	int r = replay_open(scene->recording, range, look->types, ret_replay, why);

	if (r < 0)
		return r;
	samples = replay_samples(*ret_replay);
	r = samples ? 1 : 0;
	for (uint64_t i = 0; i < samples && r > 0; i++)
		r = replay_next(*ret_replay, snapshot, why);
	return r;
}

/* The last sample at or before the moment. Its texts are the replay's. */
static int sample_recorded(const struct scene *scene, uint64_t at_ns, const struct look *look,
			   struct snapshot *snapshot, struct replay **ret_replay, struct why *why)
{
	struct time_range range = {max_of(at_ns > BEFORE_NS ? at_ns - BEFORE_NS : 0, scene->range.from_ns),
				   min_of(at_ns, scene->range.to_ns)};
	int r = read_last(scene, &range, look, snapshot, ret_replay, why);

	if (r == 0) {
		replay_close(take_ptr(*ret_replay));
		range.from_ns = scene->range.from_ns;
		r = read_last(scene, &range, look, snapshot, ret_replay, why);
	}
	return r == 0 ? why_set(why, -ENODATA, "no sample in that time range") : min_of(r, 0);
}

/* --- rows --- */

struct sort_value {
	enum value_class class;
	double number;
	struct addr addr;
	char text[KEY_TEXT];
};

struct row {
	struct sort_value key;
	uint64_t number; /* in the order of the table */
	char *json;
};

struct rows_wanted {
	struct http_request *request;
	struct scene *scene;
	const char *name;
	uint64_t at_ns;
	uint64_t limit;
	bool sorted, descending;
	struct field_ref sort;
	VEC(struct field_ref) columns;
	VEC(struct row) rows;
	uint64_t total;
};

static struct sort_value sort_value_of(const struct value *value)
{
	struct sort_value key = {.class = value->class};

	switch (value->class) {
	case VALUE_UINT:
		key.number = (double)value->uint;
		break;
	case VALUE_INT:
		key.number = (double)value->sint;
		break;
	case VALUE_REAL:
		key.number = value->real;
		key.class = isnan(value->real) ? VALUE_UNKNOWN : VALUE_REAL;
		break;
	case VALUE_TEXT:
		snprintf(key.text, sizeof(key.text), "%.*s", (int)min_of(value->len, (size_t)KEY_TEXT), value->text);
		break;
	case VALUE_ADDR:
		key.addr = *value->addr;
		break;
	case VALUE_ENDPOINT:
		key.addr = value->endpoint->addr;
		key.number = value->endpoint->port;
		break;
	case VALUE_LIST:
		key.number = value->list->count;
		break;
	default:
		break;
	}
	return key;
}

/* Unknown ones last, in both directions; equal ones in the order of the table. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct rows_wanted *wanted = context;
	const struct row *x = a, *y = b;
	bool x_unknown = x->key.class == VALUE_UNKNOWN, y_unknown = y->key.class == VALUE_UNKNOWN;
	int order = 0;

	if (wanted->sorted && x_unknown != y_unknown)
		return x_unknown ? 1 : -1;
	if (wanted->sorted && !x_unknown) {
		order = addr_compare(&x->key.addr, &y->key.addr);
		order = order ?: strcmp(x->key.text, y->key.text);
		order = order ?: (x->key.number > y->key.number) - (x->key.number < y->key.number);
	}
	if (order)
		return wanted->descending ? -order : order;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Keeps the first ones. */
static void cut_rows(struct rows_wanted *wanted)
{
	if (wanted->rows.count > 1)
		qsort_r(wanted->rows.items, wanted->rows.count, sizeof(*wanted->rows.items), compare_rows, wanted);
	while (wanted->rows.count > wanted->limit)
		free(wanted->rows.items[--wanted->rows.count].json);
}

static char *row_json(const struct rows_wanted *wanted, const struct record *record)
{
	struct buf out = BUF_INIT((size_t)1 << 20);

	vec_each(&wanted->columns, column) {
		struct value value = record_get(record, *column);

		buf_add_format(&out, "%c\"%s\":", out.len ? ',' : '{', column->field->name);
		json_add_value(&out, column->field, &value);
	}
	buf_add_text(&out, out.len ? "}" : "{}");
	return out.data;
}

static void take_row(void *context, const struct record *record)
{
	struct rows_wanted *wanted = context;
	struct row row = {.number = wanted->total++};

	if (!wanted->sorted && row.number >= wanted->limit)
		return;
	if (wanted->sorted) {
		struct value value = record_get(record, wanted->sort);

		row.key = sort_value_of(&value);
	}
	row.json = row_json(wanted, record);
	vec_push(&wanted->rows, row);
	if (wanted->rows.count >= 2 * wanted->limit + 1000)
		cut_rows(wanted);
}

/* --- a request --- */

static bool unknown_field(const struct rows_wanted *wanted, const char *param, const char *name)
{
	http_refuse(wanted->request, 400, "%s: the table has no field '%.60s' (/api/v1/tables lists them)", param,
		    name);
	return false;
}

/* The fields of show, or all; false: refused. */
static bool choose_columns(struct rows_wanted *wanted, const struct shape *shape)
{
	const char *show = http_request_text(wanted->request, "show");
	_cleanup_free_ char *names = show && *show ? xstrdup(show) : NULL;
	char *rest = names, *name;
	struct field_ref ref = {};

	while (!names && shape_next(shape, &ref))
		vec_push(&wanted->columns, ref);
	while (rest && (name = strsep(&rest, ","))) {
		if (shape_find(shape, name, &ref) < 0)
			return unknown_field(wanted, "show", name);
		vec_push(&wanted->columns, ref);
	}
	return true;
}

static bool choose_order(struct rows_wanted *wanted, const struct shape *shape)
{
	const char *sort = http_request_text(wanted->request, "sort");

	if (!sort || !*sort)
		return true;
	wanted->sorted = true;
	wanted->descending = *sort == '-';
	sort += wanted->descending;
	return shape_find(shape, sort, &wanted->sort) == 0 || unknown_field(wanted, "sort", sort);
}

static bool choose_filter(struct rows_wanted *wanted, const struct shape *shape, struct expr **ret_where)
{
	const char *where = http_request_text(wanted->request, "where");
	struct why why = {};
	size_t at = 0;

	if (!where || !*where || expr_parse_at(where, shape, ret_where, &at, &why) == 0)
		return true;
	http_refuse_expr(wanted->request, "where", &why, at);
	return false;
}

static void show_rows(struct rows_wanted *wanted, const struct look *look, const struct snapshot *snapshot,
		      const struct expr *where)
{
	struct output *output = output_open_taker(where, take_row, wanted);
	const struct snapshot_table *table;

	if (look->show) {
		(void)look->show(snapshot, output, look->context);
	} else {
		table = snapshot_table(snapshot, look->shape->types[0]);
		for (size_t i = 0; table && i < table->count; i++)
			(void)output_record(output, &RECORD_OF(table->items + i * table->type->size));
	}
	output_drop(output);
	(void)!output_close(output);
}

static void answer_rows(struct rows_wanted *wanted)
{
	struct buf body = BUF_INIT(BODY_MAX);

	cut_rows(wanted);
	buf_add_text(&body, "{\"rows\":[");
	vec_each(&wanted->rows, row) {
		buf_add_text(&body, row == wanted->rows.items ? "" : ",");
		buf_add_text(&body, row->json);
	}
	buf_add_format(&body, "],\"total\":%llu}", (unsigned long long)wanted->total);
	http_answer(wanted->request, 200, NULL, &body);
}

/* In a borrowed look: makes the sample and the rows. */
static int take_look(const struct look *look, void *context)
{
	_cleanup_snapshot_ struct snapshot *recorded = snapshot_new();
	_cleanup_(replay_closep) struct replay *replay = NULL;
	_cleanup_(expr_freep) struct expr *where = NULL;
	_cleanup_free_ struct field_alias *aliases = NULL;
	const struct snapshot *snapshot = recorded;
	struct rows_wanted *wanted = context;
	struct shape shape = table_name_shape(look, &aliases);
	struct why why = {};
	int r;

	if (!choose_columns(wanted, &shape) || !choose_order(wanted, &shape) || !choose_filter(wanted, &shape, &where))
		return EXIT_DONE;
	if (wanted->scene->path)
		r = sample_recorded(wanted->scene, wanted->at_ns, look, recorded, &replay, &why);
	else
		r = sample_live(serve_of(wanted->request), wanted->name, look, &snapshot, &why);
	if (r < 0) {
		http_refuse(wanted->request, r == -ENODATA || r == -ENOENT ? 404 : 500, "%s", why.text);
		return EXIT_DONE;
	}
	show_rows(wanted, look, snapshot, where);
	answer_rows(wanted);
	return EXIT_DONE;
}

static void answer_table(struct http_request *request)
{
	struct rows_wanted wanted = {.request = request, .name = http_request_segment(request)};
	struct table_name name;

	wanted.scene = serve_scene(request);
	if (!wanted.scene || !serve_time(request, wanted.scene, "at", UINT64_MAX, &wanted.at_ns))
		return;
	if (!table_name_find(wanted.name, &name)) {
		http_refuse(request, 404, "there is no such table (/api/v1/tables lists them)");
		return;
	}
	wanted.limit = http_request_number(request, "limit", ROWS_DEFAULT);
	if (table_name_borrow(&name, take_look, &wanted) != EXIT_DONE)
		http_refuse(request, 500, "this table cannot be shown");
	vec_each(&wanted.rows, row)
		free(row->json);
	vec_done(&wanted.rows);
	vec_done(&wanted.columns);
}

static const struct http_param table_params[] = {
	{"where", HTTP_EXPR, "only rows that match"},
	{"show", HTTP_NAMES, "these fields, in this order; default: all"},
	{"sort", HTTP_TEXT, "order by this field; -FIELD: descending"},
	{"limit", HTTP_NUMBER, "number of rows (default 1000)", .max = ROWS_MAX},
	{"at", HTTP_NS, "recordings: at this time (default: the end)"},
	SERVE_SCENE_PARAMS,
	{},
};

/* --- their rows --- */

struct rows_listing {
	const char *name;
	const char *help;
	http_rows_taker *take;
	void *context;
};

static int take_shape(const struct look *look, void *context)
{
	const struct rows_listing *listing = context;
	_cleanup_free_ char *name = xasprintf("table.%s", listing->name);

	listing->take(name, look->shape, listing->context);
	return EXIT_DONE;
}

static void each_rows(http_rows_taker *take, void *context)
{
	struct rows_listing listing = {.take = take, .context = context};

	table_name_each(take_shape, &listing.name, &listing.help, &listing);
}

static const struct http_route table_route = {
	.service = HTTP_SERVE,
	.method = "GET",
	.path = "/api/v1/tables/{name}",
	.summary = "rows of a table, as --json writes them; total: how many match",
	.params = table_params,
	.each_rows = each_rows,
	.handle = answer_table,
};
HTTP_ROUTE(table_route);
