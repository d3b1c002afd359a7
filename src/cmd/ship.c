/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nest ship: the rows of recordings to ClickHouse or to a collector. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/out.h"
#include "base/text.h"
#include "fleet/clickhouse.h"
#include "fleet/shipper.h"
#include "run/command.h"
#include "store/input.h"
#include "store/sql.h"

/* Reading pauses while this much waits. */
#define WAITING_MAX ((uint64_t)16 << 20)
#define COLUMNS_MAX 400

struct config {
	struct text_list files;
	struct ship_options ship;
	uint64_t timeout_ns;
	const char *ddl;
};

static const struct option_spec options[] = {
	OPTION_GROUP(struct config, ship, ship_option_table),
	SHIP_TOKEN_OPTION(struct config, ship.token_file),
	OPTION(struct config, timeout_ns, SECONDS, "timeout", 0, "SECONDS",
	       "give up when the server accepts nothing for this long (default 60)"),
	OPTION(struct config, ddl, TEXT, "ddl", 0, "VERSION",
	       "print the CREATE statements for ClickHouse of this version (25.3), and exit"),
	POSITIONAL(struct config, files, TEXTS, "FILE", "the recordings", .file = FILE_INPUT),
	OPTION_END,
};

/* A recording on its way. */
struct load {
	struct loop *loop;
	struct shipper *shipper;
	struct recording *recording;
	size_t table; /* the next one */
	struct fleet_table fleet;
	const struct field *fields[COLUMNS_MAX];
	size_t count;
	sqlite3_stmt *statement; /* NULL: between tables */
	uint64_t timeout_ns;
	uint64_t sent_rows, moved_ns; /* progress of the server, and when it made it */
	bool at_end;
	int result;
	struct why why;
};

/* --- reading --- */

static bool has_column(const struct recorded_table *table, const char *name)
{
	vec_each(&table->columns, column)
		if (strcmp(*column, name) == 0)
			return true;
	return false;
}

static int open_table(struct load *load, const struct recorded_table *table)
{
	_cleanup_buf_ struct buf sql = BUF_INIT(1 << 16);
	struct field_ref at = {};
	int code;

	load->count = 0;
	buf_add_text(&sql, "SELECT rowid");
	while (shape_next(&load->fleet.shape, &at))
		if (has_column(table, at.field->name) && load->count < COLUMNS_MAX) {
			buf_add_text(&sql, ", ");
			sql_add_name(&sql, at.field->name);
			load->fields[load->count++] = at.field;
		}
	buf_add_text(&sql, " FROM main.");
	sql_add_name(&sql, table->name);
	buf_add_text(&sql, " ORDER BY rowid");
	code = sqlite3_prepare_v2(recording_db(load->recording), buf_text(&sql), -1, &load->statement, NULL);
	return code == SQLITE_OK ? 0 : recording_fail(load->recording, code, &load->why);
}

/* 1: the statement stands before the rows of the next table of the fleet. */
static int next_table(struct load *load)
{
	int r = 0;

	while (load->table < recording_table_count(load->recording)) {
		const struct recorded_table *table = recording_table(load->recording, load->table++);

		if (table->states || fleet_table_find(table->name, &load->fleet) < 0)
			continue;
		r = open_table(load, table);
		return r < 0 ? r : 1;
	}
	return 0;
}

static uint64_t add_cells(struct buf *out, const void *context)
{
	const struct load *load = context;

	return fleet_row_add_stored(out, load->statement, 1, load->fields, load->count);
}

/* 1: there may be more. */
static int read_some(struct load *load)
{
	int code, r;

	if (!load->statement && (r = next_table(load)) <= 0)
		return r;
	while (shipper_waiting_bytes(load->shipper) < WAITING_MAX) {
		code = sqlite3_step(load->statement);
		if (code == SQLITE_ROW) {
			shipper_add_cells(load->shipper, load->fleet.name,
					  (uint64_t)sqlite3_column_int64(load->statement, 0), add_cells, load);
			continue;
		}
		sqlite3_finalize(load->statement);
		load->statement = NULL;
		return code == SQLITE_DONE ? 1 : recording_fail(load->recording, code, &load->why);
	}
	return 1;
}

/* --- sending --- */

static void fill(void *context)
{
	struct load *load = context;
	int r = load->at_end ? 0 : 1;

	while (r == 1 && shipper_waiting_bytes(load->shipper) < WAITING_MAX)
		r = read_some(load);
	if (r < 0) {
		load->result = r;
		loop_stop(load->loop, 0);
	} else if (r == 0 && !load->at_end) {
		load->at_end = true;
		shipper_flush(load->shipper);
	} else if (r == 0 && shipper_look(load->shipper).waiting == 0) {
		loop_stop(load->loop, 0);
	}
}

static void on_watch(void *context, uint64_t expirations _unused_)
{
	struct load *load = context;
	struct shipper_figures figures = shipper_look(load->shipper);
	uint64_t sent = figures.sender.rows_sent + figures.sender.rows_known + figures.sender.rows_refused;

	if (sent != load->sent_rows) {
		load->sent_rows = sent;
		load->moved_ns = clock_monotonic_ns();
	} else if (clock_monotonic_ns() - load->moved_ns > load->timeout_ns) {
		load->result = why_set(&load->why, -ETIMEDOUT, "gave up: %s", shipper_why(load->shipper));
		loop_stop(load->loop, 0);
	}
	if (!load->at_end)
		fill(load);
}

static void on_signal(void *context, int signal_number)
{
	struct load *load = context;

	load->result = why_set(&load->why, -EINTR, "interrupted");
	loop_stop(load->loop, signal_number);
}

static void say(void *context _unused_, const char *text)
{
	log_warn("ship: %s", text);
}

static void set_origin(const struct recording *recording, struct fleet_origin *origin)
{
	const struct host_record *host = recording_host(recording);

	*origin = (struct fleet_origin){.stream = recording_begin_ns(recording)};
	snprintf(origin->host, sizeof(origin->host), "%.*s", FLEET_HOST_MAX, host->host[0] ? host->host : "unknown");
	snprintf(origin->boot, sizeof(origin->boot), "%.*s", FLEET_BOOT_MAX,
		 host->boot_id[0] ? host->boot_id : "unknown");
}

static int carry(struct load *load, const struct config *config)
{
	struct fleet_origin origin;
	int r;

	set_origin(load->recording, &origin);
	r = shipper_new(load->loop, &config->ship, &origin, say, NULL, &load->shipper, &load->why);
	if (r < 0)
		return r;
	load->moved_ns = clock_monotonic_ns();
	load->timeout_ns = config->timeout_ns;
	shipper_on_idle(load->shipper, fill, load);
	r = loop_add_end_signals(load->loop, on_signal, load);
	if (r == 0)
		r = loop_add_timer(load->loop, 0, NSEC_PER_SEC / 10, on_watch, load, NULL);
	if (r < 0)
		return why_set(&load->why, r, "%s", strerror(-r));
	r = loop_run(load->loop);
	return r < 0 ? why_set(&load->why, r, "%s", strerror(-r)) : load->result;
}

static int ship_file(const struct config *config, const char *file, struct shipper_figures *sum)
{
	struct load load = {};
	struct shipper_figures figures = {};
	struct input_options input = {.file = file};
	struct time_range range;
	int r = input_open(&input, &load.recording, &range, &load.why);

	if (r == 0)
		r = loop_new(&load.loop);
	if (r == 0)
		r = carry(&load, config);
	if (load.shipper)
		figures = shipper_look(load.shipper);
	sqlite3_finalize(load.statement);
	shipper_free(load.shipper);
	loop_free(load.loop);
	recording_close(load.recording);
	sum->sender.rows_sent += figures.sender.rows_sent;
	sum->sender.rows_known += figures.sender.rows_known;
	sum->sender.bytes_sent += figures.sender.bytes_sent;
	sum->lost += figures.lost;
	sum->waiting += figures.waiting;
	if (r == -EINVAL && !figures.rows)
		return command_fail(EXIT_USAGE, "ship: %s", load.why.text);
	return r < 0 ? command_fail(EXIT_IO, "ship: %s", load.why.text) : EXIT_DONE;
}

/* For who makes the tables by hand: agents then need no right to do so. */
static int print_ddl(const struct config *config)
{
	struct clickhouse_version version;
	struct fleet_url url = {};
	struct fleet_table *tables;
	struct why why = {};
	struct out out;
	size_t count;
	int r;

	if (clickhouse_parse_version(config->ddl, &version) < 0)
		return command_fail(EXIT_USAGE, "ship: --ddl needs a version of ClickHouse, such as 25.3");
	if (config->ship.url && fleet_url_parse(config->ship.url, &url, &why) < 0)
		return command_fail(EXIT_USAGE, "ship: %s", why.text);
	r = out_open(&out, NULL);
	tables = fleet_table_list(&count);
	for (size_t i = 0; r == 0 && i < count; i++) {
		clickhouse_add_create(&out.pending, url.database ?: "nest", &tables[i], version);
		buf_add_char(&out.pending, ';');
		out_end_line(&out);
	}
	free(tables);
	fleet_url_done(&url);
	if (r == 0)
		r = out_done(&out);
	return r < 0 && r != -EPIPE ? command_fail(EXIT_IO, "ship: cannot write: %s", strerror(-r)) : EXIT_DONE;
}

static int run(const void *data)
{
	const struct config *config = data;
	struct shipper_figures sum = {};
	int code = EXIT_DONE;

	if (config->ddl)
		return print_ddl(config);
	if (config->files.count == 0)
		return command_fail(EXIT_USAGE, "ship: FILE is missing: nest ship day.nest --ship URL");
	if (!config->ship.url)
		return command_fail(EXIT_USAGE, "ship: --ship URL is missing: http://HOST:8123/DATABASE (ClickHouse) "
						"or http://HOST:PORT (nest collect)");
	for (size_t i = 0; i < config->files.count && code == EXIT_DONE; i++)
		code = ship_file(config, config->files.items[i], &sum);
	log_info("%" PRIu64 " row%s shipped in %" PRIu64 " bytes, %" PRIu64 " were there, %" PRIu64 " lost",
		 sum.sender.rows_sent, text_plural(sum.sender.rows_sent), sum.sender.bytes_sent, sum.sender.rows_known,
		 sum.lost);
	if (sum.waiting && config->ship.spool)
		log_warn("ship: %" PRIu64 " row%s %s in %s", sum.waiting, text_plural(sum.waiting),
			 sum.waiting == 1 ? "waits" : "wait", config->ship.spool);
	return code == EXIT_DONE && sum.lost ? EXIT_IO : code;
}

static const char *const examples[] = {
	"nest ship day.nest --ship http://nest:secret@clickhouse:8123/nest",
	"the events and findings of a recording to ClickHouse",
	"nest ship *.nest --ship https://collector:8443 --token-file token",
	"several recordings through a collector",
	NULL,
};

static const struct config defaults = {.timeout_ns = 60 * NSEC_PER_SEC, .ship.may_be_there = true};

static const struct command ship_command = {
	.name = "ship",
	.summary = "recordings to ClickHouse or to a collector",
	.description =
		"Sends events, findings, verdicts, losses and marks of recordings; the tables of snapshots stay in "
		"the file. Databases, tables and missing columns are created on demand, named as in the recording, "
		"with host and boot in front. Shipping a recording twice does not double its rows.",
	.examples = examples,
	.options = options,
	.config_size = sizeof(struct config),
	.defaults = &defaults,
	.run = run,
};
COMMAND(ship_command);
