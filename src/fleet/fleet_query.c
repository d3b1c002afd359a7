/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_query.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "fleet/transfer.h"

#define TIMEOUT_NS (300 * NSEC_PER_SEC)
/* Longer questions go into the body. */
#define PATH_MAX_LEN 6000
#define SQL_MAX      ((size_t)200 << 10)

const struct option_spec fleet_option_table[] = {
	OPTION(struct fleet_options, url, TEXT, "fleet", 0, "URL",
	       "query the fleet's ClickHouse instead of a file (http(s)://USER:PASS@HOST:8123/DATABASE)",
	       .file = FILE_SERVER),
	OPTION(struct fleet_options, ca_file, TEXT, "fleet-ca", 0, "FILE",
	       "trust the certificates in this file (PEM) instead of the system's", .file = FILE_READ),
	OPTION_END,
};

struct question {
	struct loop *loop;
	struct answer *answer;
	const struct answer_ops *ops;
	int result;
	struct why *why;
};

static bool on_piece(void *context, const char *data, size_t len)
{
	struct question *question = context;

	question->result = answer_add(question->answer, data, len, question->ops, question->why);
	return question->result == 0;
}

static void on_done(void *context, const struct transfer_answer *answer)
{
	struct question *question = context;

	loop_stop(question->loop, 0);
	if (question->result < 0)
		return;
	if (answer->error < 0 || answer->status != 200)
		question->result =
			why_set(question->why, answer->error < 0 ? answer->error : -EINVAL, "%s", answer->why.text);
	else
		question->result = answer_end(question->answer, question->ops, question->why);
}

static void on_signal(void *context, int signal_number _unused_)
{
	struct question *question = context;

	question->result = why_set(question->why, -EINTR, "interrupted");
	loop_stop(question->loop, 0);
}

/* A GET changes nothing on the server; a longer question says so itself. */
static void add_path(const struct fleet_link *link, const char *sql, struct buf *path, bool *ret_posted)
{
	clickhouse_add_query(path, link->url.database, link->version, sql);
	*ret_posted = path->len > PATH_MAX_LEN;
	if (*ret_posted) {
		buf_clear(path);
		clickhouse_add_query(path, link->url.database, link->version, NULL);
	}
}

int fleet_query(struct fleet_link *link, const char *sql, const struct answer_ops *ops, struct why *why)
{
	_cleanup_(loop_freep) struct loop *loop = NULL;
	_cleanup_buf_ struct buf path = BUF_INIT(SQL_MAX * 4);
	struct question question = {.answer = answer_new(), .ops = ops, .why = why};
	struct transfer_request request = {.url = &link->url,
					   .ca_file = link->ca_file,
					   .timeout_ns = link->timeout_ns ? link->timeout_ns : TIMEOUT_NS,
					   .done = on_done,
					   .piece = on_piece,
					   .context = &question};
	struct transfer_client *client = NULL;
	bool posted;
	int r;

	answer_free(link->answer);
	link->answer = question.answer;
	if (strlen(sql) > SQL_MAX)
		return why_set(why, -EINVAL, "the query is longer than %zu bytes", SQL_MAX);
	add_path(link, sql, &path, &posted);
	request.path = buf_text(&path);
	request.body = posted ? sql : NULL;
	request.body_len = posted ? strlen(sql) : 0;
	r = loop_new(&loop);
	question.loop = loop;
	if (r == 0)
		r = loop_add_end_signals(loop, on_signal, &question);
	if (r == 0)
		r = transfer_client_new(loop, &client, why);
	if (r == 0)
		r = transfer_start(client, &request, why);
	if (r == 0)
		r = loop_run(loop);
	transfer_client_free(client);
	link->unfit += answer_unfit(question.answer);
	return r < 0 ? r : question.result;
}

/* --- opening --- */

struct version_answer {
	const struct record_type *type;
	struct clickhouse_version version;
};

static int take_type(void *context, const struct record_type *type)
{
	struct version_answer *version = context;

	version->type = type;
	return 0;
}

static bool take_version(void *context, const void *row)
{
	struct version_answer *version = context;
	struct value value = value_get(&version->type->fields[0], row);

	if (version->type->field_count && value.class == VALUE_TEXT)
		(void)!clickhouse_parse_version(value.text, &version->version);
	return true;
}

void fleet_link_close(struct fleet_link *link)
{
	answer_free(link->answer);
	link->answer = NULL;
	fleet_url_done(&link->url);
}

int fleet_link_open(const struct fleet_options *options, struct fleet_link *ret_link, struct why *why)
{
	struct fleet_link link = {.ca_file = options->ca_file};
	struct version_answer version = {};
	struct answer_ops ops = {.type = take_type, .row = take_version, .context = &version};
	int r = fleet_url_parse_database(options->url, &link.url, why);

	if (r < 0)
		return r;
	r = fleet_query(&link, "SELECT version()", &ops, why);
	if (r == 0 && !version.version.major)
		r = why_set(why, -EBADMSG, "%s is not a ClickHouse server", link.url.base);
	if (r < 0) {
		fleet_link_close(&link);
		return r == -EINVAL ? -EIO : r;
	}
	link.version = version.version;
	*ret_link = link;
	return 0;
}
