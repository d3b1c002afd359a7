/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest tables: any table of the snapshot by its name, for those that have no command of their own. */
#include <string.h>

#include "base/text.h"
#include "run/look.h"

struct config {
	struct look_options look;
	const char *table;
};

static const struct option_spec options[] = {
	POSITIONAL(struct config, table, TEXT, "TABLE", "the table to show; default: list all"),
	OPTION_GROUP(struct config, look, look_option_table),
	OPTION_END,
};

/* One row of the list of tables. */
struct table_row {
	const char *table;
	uint64_t count;
	const char *help;
};

static const struct field row_fields[] = {
	FIELD(struct table_row, table, TEXT, "name of the table"),
	FIELD(struct table_row, count, COUNT, "records in it now; unknown for tables that are read on request only"),
	FIELD(struct table_row, help, TEXT, "what a record is"),
};
static RECORD_TYPE(row_type, "table", struct table_row, row_fields, "a table of the snapshot");

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct table_row *)a)->table, ((const struct table_row *)b)->table);
}

static uint64_t show_list(const struct snapshot *snapshot, struct output *output, void *context)
{
	VEC(struct table_row) rows = {};
	uint64_t shown = 0;

	(void)context;
	for (size_t i = 0; i < snapshot->table_count; i++) {
		const struct snapshot_table *table = &snapshot->tables[i];
		uint64_t count = table->on_demand && table->count == 0 ? UINT64_MAX : table->count;

		vec_push(&rows, (struct table_row){table->type->name, count, table->type->help});
	}
	vec_sort(&rows, by_name);
	vec_each(&rows, row)
		shown += output_record(output, &RECORD_OF(row));
	vec_done(&rows);
	return shown;
}

static const struct record_type *find_type(const char *name)
{
	_cleanup_buf_ struct buf hint = BUF_INIT(256), shown = BUF_INIT(256);
	_cleanup_snapshot_ struct snapshot *snapshot = snapshot_new();
	struct near near = {.word = name};

	for (size_t i = 0; i < snapshot->table_count; i++) {
		if (strcmp(snapshot->tables[i].type->name, name) == 0)
			return snapshot->tables[i].type;
		near_consider(&near, snapshot->tables[i].type->name);
	}
	near_add_text(&near, &hint);
	text_add_terminal(&shown, name, strnlen(name, 60));
	log_error("tables: unknown table '%s'%s (nest tables lists them)", buf_text(&shown), buf_text(&hint));
	return NULL;
}

static int run(const void *data)
{
	const struct config *config = data;
	const struct record_type *type = config->table ? find_type(config->table) : &row_type;
	const struct record_type *types[] = {type, NULL};
	struct shape shape = {1, {type}};

	if (!type)
		return EXIT_USAGE;
	return look_run(&(struct look){
		.command = "tables",
		.options = &config->look,
		.shape = &shape,
		/* A list says how many there are of each, and a gap may be anywhere: all are looked at. */
		.types = config->table && type != &gap_type ? types : NULL,
		.show = config->table ? NULL : show_list,
	});
}

static const char *const examples[] = {
	"nest tables",
	"all tables, with the number of rows",
	"nest tables thread --where 'wait > 1s'",
	"threads with a run-queue delay of more than 1 s",
	"nest tables gap",
	"gaps: what could not be read, and why",
	NULL,
};

static const struct command tables_command = {
	.name = "tables",
	.summary = "tables of the snapshot: threads, cgroups, firewall, queues",
	.description = "The snapshot is the input of the diagnosis. nest sockets, links, routes, counters and limits "
		       "show their tables more conveniently.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.looks = true,
	.run = run,
};
COMMAND(tables_command);
