/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/report_oops.h"

#include "store/recording_inside.h"
#include "store/sql.h"

/* A kernel that breaks in more ways is beyond a list. */
#define SIGNATURES_MAX "50"

#define O              struct report_oops
static const struct field oops_fields[] = {
	FIELD(O, count, COUNT, "reports with this signature"),
	FIELD(O, begin_ns, TIME, "the first", .heading = "first"),
	FIELD(O, end_ns, TIME, "the last", .heading = "last"),
	FIELD(O, kind, TEXT, "kind of report"),
	FIELD(O, what, TEXT, "what happened"),
	FIELD(O, function, TEXT, "function where it happened"),
	FIELD(O, module, TEXT, "module of the function; unknown: the kernel itself"),
	FIELD(O, layer, TEXT, "layer of the network stack"),
	FIELD(O, signature, TEXT, "hash of kind, cause and functions: the same for the same failure"),
};
#undef O
RECORD_TYPE(report_oops_type, "report.oops", struct report_oops, oops_fields, "kernel reports of one signature");

/* Columns of the statement below. */
enum oops_column {
	OOPS_SIGNATURE,
	OOPS_COUNT,
	OOPS_BEGIN,
	OOPS_END,
	OOPS_KIND,
	OOPS_WHAT,
	OOPS_FUNCTION,
	OOPS_MODULE,
	OOPS_LAYER,
};

static const char *text_of(struct report *report, sqlite3_stmt *statement, enum oops_column column)
{
	return sqlite3_column_type(statement, column) == SQLITE_TEXT
		       ? report_text(report, (const char *)sqlite3_column_text(statement, column))
		       : NULL;
}

static uint64_t time_of(sqlite3_stmt *statement, enum oops_column column)
{
	return sqlite3_column_type(statement, column) == SQLITE_INTEGER
		       ? (uint64_t)sqlite3_column_int64(statement, column)
		       : UINT64_MAX;
}

static void add_row(struct report *report, sqlite3_stmt *statement)
{
	struct report_oops oops = {
		.signature = text_of(report, statement, OOPS_SIGNATURE),
		.count = (uint64_t)sqlite3_column_int64(statement, OOPS_COUNT),
		.begin_ns = time_of(statement, OOPS_BEGIN),
		.end_ns = time_of(statement, OOPS_END),
		.kind = text_of(report, statement, OOPS_KIND),
		.what = text_of(report, statement, OOPS_WHAT),
		.function = text_of(report, statement, OOPS_FUNCTION),
		.module = text_of(report, statement, OOPS_MODULE),
		.layer = text_of(report, statement, OOPS_LAYER),
	};

	report_add_oops(report, &oops);
}

static int read_signatures(struct report *report, struct recording *recording, const struct time_range *range,
			   struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	/* With min() SQLite takes the other columns from the row that has it: the first report. */
	int code, r = recording_prepare(recording,
					"SELECT signature, count(*), min(time_ns), "
					"(SELECT max(time_ns) FROM main.oops AS o WHERE o.signature = "
					"main.oops.signature AND o.time_ns BETWEEN ?1 AND ?2), "
					"kind, what, function, module, layer "
					"FROM main.oops WHERE time_ns BETWEEN ?1 AND ?2 GROUP BY signature "
					"ORDER BY count(*) DESC, min(time_ns), signature LIMIT " SIGNATURES_MAX,
					&statement, why);

	if (r < 0)
		return r;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)min_of(range->from_ns, (uint64_t)INT64_MAX));
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)min_of(range->to_ns, (uint64_t)INT64_MAX));
	while ((code = sqlite3_step(statement)) == SQLITE_ROW)
		add_row(report, statement);
	return code == SQLITE_DONE ? 0 : recording_fail(recording, code, why);
}

/* The recorder could not read the kernel log, and says why. */
static int read_reason(struct report *report, struct recording *recording, struct why *why)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code, r = recording_prepare(recording,
					"SELECT reason FROM main.attached WHERE event = 'oops' AND hook IS NULL AND "
					"typeof(reason) = 'text' LIMIT 1",
					&statement, why);

	if (r < 0)
		return r;
	code = sqlite3_step(statement);
	if (code == SQLITE_ROW) {
		_cleanup_free_ char *text = xasprintf("Kernel reports were not recorded: %.200s.",
						      (const char *)sqlite3_column_text(statement, 0));

		report_add_unknown(report, text);
	}
	return code == SQLITE_ROW || code == SQLITE_DONE ? 0 : recording_fail(recording, code, why);
}

int report_oops_read(struct report *report, struct recording *recording, const struct time_range *range,
		     struct why *why)
{
	if (recording_has(recording, "oops"))
		return read_signatures(report, recording, range, why);
	return recording_has(recording, "attached") ? read_reason(report, recording, why) : 0;
}
