/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/sender.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/text.h"
#include "fleet/clickhouse.h"

/* Rows of one insert: what a server takes as one block. */
#define INSERT_ROWS 100000
/* Batches of one question whether they are stored. */
#define FIND_BATCHES 200
#define REQUEST_NS   (120 * NSEC_PER_SEC)
#define ANSWER_MAX   ((size_t)1 << 20)
/* Pauses after failures: the first, and the longest. */
#define PAUSE_FIRST_NS (NSEC_PER_SEC / 2)
#define PAUSE_MAX_NS   (60 * NSEC_PER_SEC)
#define TABLES_MAX     1000

enum step {
	STEP_NONE,
	STEP_VERSION,
	STEP_DATABASE,
	STEP_CREATE,
	STEP_COLUMNS,
	STEP_ALTER,
	STEP_FIND,
	STEP_INSERT,
	STEP_PASS, /* to a collector */
};

struct pending {
	struct batch batch;
	bool done;
};

struct sender {
	struct loop *loop;
	struct spool *spool;
	struct sender_options options;
	struct transfer_client *client;
	struct loop_source *pause;
	char *authorization;
	enum step step;   /* of the request under way */
	unsigned failed;  /* in a row */
	uint64_t away_ns; /* since when; 0: it answers */
	struct why why;
	struct sender_figures figures;
	struct clickhouse_version version;
	bool database_made;
	struct map ready; /* tables with all columns */
	/* The segment under way, by table. */
	struct spool_segment segment;
	bool has_segment;
	VEC(struct pending) batches;
	size_t at, end; /* of the batches of the insert under way */
	bool uncertain; /* they may have arrived */
	bool found;     /* they were looked for */
	bool singly;    /* one of them was refused: one batch per insert */
	bool draining;
	struct buf body, path;
	struct fleet_table table;
};

static void carry_on(struct sender *sender);

static void report(struct sender *sender, const char *text)
{
	if (sender->options.report)
		sender->options.report(sender->options.context, text);
}

/* --- pauses --- */

/* Between a half and one and a half, so that a thousand agents do not come back at once. */
static double jitter(void)
{
	uint32_t random = UINT32_MAX / 2;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return 0.5 + (double)random / UINT32_MAX;
}

static void on_pause_over(void *context, uint64_t expirations _unused_)
{
	struct sender *sender = context;

	loop_remove(sender->loop, sender->pause);
	sender->pause = NULL;
	carry_on(sender);
}

static void fail(struct sender *sender, const char *why)
{
	uint64_t pause_ns = min_of(PAUSE_FIRST_NS << min_of(sender->failed, 10u), PAUSE_MAX_NS);
	struct why text;

	sender->failed++;
	sender->figures.failures++;
	(void)why_set(&sender->why, 0, "%s", why);
	if (!sender->away_ns) {
		sender->away_ns = clock_monotonic_ns();
		(void)why_set(&text, 0, "%s; rows wait in the spool", why);
		report(sender, text.text);
	}
	if (!sender->draining && loop_add_timer(sender->loop, (uint64_t)((double)pause_ns * jitter()), 0, on_pause_over,
						sender, &sender->pause) < 0)
		report(sender, "no timer: nothing more is sent");
}

static void succeed(struct sender *sender)
{
	struct why text;

	sender->failed = 0;
	sender->why.text[0] = '\0';
	if (!sender->away_ns)
		return;
	(void)why_set(&text, 0, "%s answers again after %.1f s", sender->options.url->base,
		      (double)(clock_monotonic_ns() - sender->away_ns) / (double)NSEC_PER_SEC);
	sender->away_ns = 0;
	report(sender, text.text);
}

/* --- requests --- */

static void on_done(void *context, const struct transfer_answer *answer);

static void ask(struct sender *sender, enum step step, const char *const *headers)
{
	struct transfer_request request = {.url = sender->options.url,
					   .path = buf_text(&sender->path),
					   .headers = headers,
					   .body = buf_text(&sender->body),
					   .body_len = sender->body.len,
					   .once = step == STEP_INSERT || step == STEP_PASS,
					   .ca_file = sender->options.ca_file,
					   .timeout_ns = REQUEST_NS,
					   .answer_max = ANSWER_MAX,
					   .done = on_done,
					   .context = sender};
	struct why why = {};

	sender->step = step;
	if (sender->body.over || sender->path.over || transfer_start(sender->client, &request, &why) < 0) {
		sender->step = STEP_NONE;
		fail(sender, why.text[0] ? why.text : "the request is too long");
	}
}

/* A statement in the body; no settings that change what it means. */
static void ask_sql(struct sender *sender, enum step step)
{
	buf_clear(&sender->path);
	clickhouse_add_path(&sender->path, NULL);
	ask(sender, step, NULL);
}

static struct pending *first_of(struct sender *sender)
{
	return &sender->batches.items[sender->at];
}

/* --- one insert --- */

static void choose_group(struct sender *sender)
{
	uint64_t rows = 0;

	while (sender->at < sender->batches.count && first_of(sender)->done)
		sender->at++;
	sender->end = sender->at;
	while (sender->end < sender->batches.count && sender->end - sender->at < FIND_BATCHES) {
		const struct pending *next = &sender->batches.items[sender->end];

		if (strcmp(next->batch.table, first_of(sender)->batch.table) != 0 ||
		    (rows && (sender->singly || rows + next->batch.rows > INSERT_ROWS)))
			break;
		rows += next->batch.rows;
		sender->end++;
	}
	sender->found = false;
}

static bool needs_finding(struct sender *sender)
{
	for (size_t i = sender->at; i < sender->end; i++)
		if (!sender->batches.items[i].done && sender->batches.items[i].batch.flags & BATCH_RETRIED)
			return true;
	return sender->uncertain || sender->segment.inherited;
}

static void ask_find(struct sender *sender)
{
	struct batch batches[FIND_BATCHES];
	size_t count = 0;

	for (size_t i = sender->at; i < sender->end && count < FIND_BATCHES; i++)
		if (!sender->batches.items[i].done)
			batches[count++] = sender->batches.items[i].batch;
	buf_clear(&sender->body);
	clickhouse_add_find(&sender->body, sender->options.url->database, sender->table.name, batches, count);
	ask_sql(sender, STEP_FIND);
}

/* The same id for the same rows: a server that still works on them refuses to begin again. */
static void add_query_id(struct sender *sender)
{
	const struct batch *batch = &first_of(sender)->batch;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const char *at;

	for (at = batch->origin.host; *at; at++)
		hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	for (at = batch->origin.boot; *at; at++)
		hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	buf_add_format(&sender->path, "&query_id=nest-%s-%016" PRIx64 "-%" PRIx64 "-%" PRIx64, batch->table, hash,
		       batch->origin.stream, batch->first_row);
}

static void ask_insert(struct sender *sender)
{
	static const char *const headers[] = {"Content-Encoding: gzip", "Content-Type: application/x-ndjson", NULL};
	_cleanup_buf_ struct buf sql = BUF_INIT(1024);

	clickhouse_add_insert(&sql, sender->options.url->database, sender->table.name);
	buf_clear(&sender->path);
	clickhouse_add_path(&sender->path, buf_text(&sql));
	add_query_id(sender);
	buf_clear(&sender->body);
	for (size_t i = sender->at; i < sender->end; i++) {
		const struct pending *pending = &sender->batches.items[i];

		/* Members of gzip one after another are gzip. */
		if (!pending->done)
			buf_add(&sender->body, pending->batch.body, pending->batch.body_len);
	}
	ask(sender, STEP_INSERT, headers);
}

static void ask_table(struct sender *sender)
{
	buf_clear(&sender->body);
	clickhouse_add_create(&sender->body, sender->options.url->database, &sender->table, sender->version);
	ask_sql(sender, STEP_CREATE);
}

/* --- segments --- */

static int by_table(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;
	int order = strcmp(x->batch.table, y->batch.table);

	if (order == 0)
		order = strcmp(x->batch.origin.host, y->batch.origin.host);
	if (order == 0)
		order = x->batch.first_row < y->batch.first_row ? -1 : x->batch.first_row > y->batch.first_row;
	return order;
}

static void drop_segment(struct sender *sender)
{
	spool_remove(sender->spool, sender->segment.number);
	sender->has_segment = false;
	sender->batches.count = 0;
}

/* 1: there is one to send. */
static int take_segment(struct sender *sender)
{
	struct why why = {};
	size_t at = 0, len;
	int r = spool_first(sender->spool, &sender->segment, &why);

	if (r < 0)
		fail(sender, why.text);
	if (r <= 0)
		return r;
	sender->has_segment = true;
	sender->batches.count = 0;
	while (at < sender->segment.len) {
		struct pending pending = {};

		if (batch_read((const char *)sender->segment.data + at, sender->segment.len - at, &pending.batch,
			       &len) < 0)
			break;
		vec_push(&sender->batches, pending);
		at += len;
	}
	vec_sort(&sender->batches, by_table);
	sender->at = sender->end = 0;
	sender->uncertain = sender->found = sender->singly = false;
	return 1;
}

/* --- the next request --- */

static void refuse_group(struct sender *sender, const char *why)
{
	uint64_t rows = 0;
	struct why text;

	for (size_t i = sender->at; i < sender->end; i++)
		if (!sender->batches.items[i].done) {
			rows += sender->batches.items[i].batch.rows;
			sender->batches.items[i].done = true;
		}
	sender->figures.rows_refused += rows;
	(void)why_set(&text, 0, "%" PRIu64 " row%s dropped: %.300s", rows, text_plural(rows), why);
	report(sender, text.text);
}

static void next_insert(struct sender *sender)
{
	const char *table;

	if (sender->at >= sender->end)
		choose_group(sender);
	if (sender->at >= sender->batches.count) {
		drop_segment(sender);
		carry_on(sender);
		return;
	}
	table = first_of(sender)->batch.table;
	if (fleet_table_find(table, &sender->table) < 0) {
		refuse_group(sender, "a table that this version does not know");
		sender->at = sender->end;
		carry_on(sender);
	} else if (!map_get(&sender->ready, table)) {
		ask_table(sender);
	} else if (!sender->found && needs_finding(sender)) {
		ask_find(sender);
	} else {
		ask_insert(sender);
	}
}

static void next_of_clickhouse(struct sender *sender)
{
	if (!sender->version.major) {
		buf_clear(&sender->body);
		buf_add_text(&sender->body, "SELECT version()");
		ask_sql(sender, STEP_VERSION);
	} else if (!sender->database_made) {
		buf_clear(&sender->body);
		buf_add_text(&sender->body, "CREATE DATABASE IF NOT EXISTS ");
		clickhouse_add_name(&sender->body, sender->options.url->database);
		ask_sql(sender, STEP_DATABASE);
	} else {
		next_insert(sender);
	}
}

/* The segment as it is: frames are what a collector reads. */
static void pass_on(struct sender *sender)
{
	const char *headers[] = {"Content-Type: application/x-nest-batches", sender->authorization ?: "Nest-Version: 1",
				 sender->uncertain || sender->segment.inherited ? "Nest-Retry: 1" : NULL, NULL};

	buf_clear(&sender->path);
	buf_add_text(&sender->path, "/api/v1/batches");
	buf_clear(&sender->body);
	buf_add(&sender->body, sender->segment.data, sender->segment.len);
	ask(sender, STEP_PASS, headers);
}

static void carry_on(struct sender *sender)
{
	int r;

	if (sender->step != STEP_NONE || sender->pause || (sender->draining && sender->failed))
		return;
	if (!sender->has_segment) {
		r = take_segment(sender);
		if (r == 0 && sender->options.idle && !sender->draining)
			sender->options.idle(sender->options.context);
		if (r <= 0)
			return;
	}
	if (sender->options.url->database)
		next_of_clickhouse(sender);
	else
		pass_on(sender);
}

/* --- answers --- */

static void take_found(struct sender *sender, const struct transfer_answer *answer)
{
	for (size_t i = sender->at; i < sender->end; i++) {
		struct pending *pending = &sender->batches.items[i];

		if (!pending->done && clickhouse_found(answer->body, answer->len, &pending->batch)) {
			pending->done = true;
			sender->figures.rows_known += pending->batch.rows;
		}
	}
	sender->found = true;
	sender->uncertain = false;
	while (sender->at < sender->end && first_of(sender)->done)
		sender->at++;
}

static void take_inserted(struct sender *sender)
{
	for (size_t i = sender->at; i < sender->end; i++)
		if (!sender->batches.items[i].done) {
			sender->batches.items[i].done = true;
			sender->figures.rows_sent += sender->batches.items[i].batch.rows;
		}
	sender->figures.bytes_sent += sender->body.len;
	sender->figures.requests++;
	sender->at = sender->end;
}

/* What the collector did not take it will never take; {"rows":N,"refused":N}. */
static void take_passed(struct sender *sender, const struct transfer_answer *answer)
{
	json_t *object = json_loadb(answer->body, answer->len, 0, NULL);
	json_int_t refused = json_integer_value(json_object_get(object, "refused"));
	uint64_t rows = refused < 0 ? 0 : min_of((uint64_t)refused, sender->segment.rows);
	struct why text;

	json_decref(object);
	sender->figures.rows_sent += sender->segment.rows - rows;
	sender->figures.rows_refused += rows;
	sender->figures.bytes_sent += sender->body.len;
	sender->figures.requests++;
	if (rows) {
		(void)why_set(&text, 0, "the collector refused %" PRIu64 " row%s", rows, text_plural(rows));
		report(sender, text.text);
	}
	drop_segment(sender);
}

static void take_columns(struct sender *sender, const struct transfer_answer *answer)
{
	buf_clear(&sender->body);
	if (clickhouse_add_alter(&sender->body, sender->options.url->database, &sender->table, answer->body,
				 sender->version))
		ask_sql(sender, STEP_ALTER);
	else
		(void)map_put(&sender->ready, sender->table.name, NULL);
}

static void take_answer(struct sender *sender, enum step step, const struct transfer_answer *answer)
{
	switch (step) {
	case STEP_VERSION:
		if (clickhouse_parse_version(answer->body, &sender->version) < 0)
			fail(sender, "the server's version is not that of ClickHouse");
		return;
	case STEP_DATABASE:
		sender->database_made = true;
		return;
	case STEP_CREATE:
		buf_clear(&sender->body);
		clickhouse_add_list_columns(&sender->body, sender->options.url->database, sender->table.name);
		ask_sql(sender, STEP_COLUMNS);
		return;
	case STEP_COLUMNS:
		take_columns(sender, answer);
		return;
	case STEP_ALTER:
		(void)map_put(&sender->ready, sender->table.name, NULL);
		return;
	case STEP_FIND:
		take_found(sender, answer);
		return;
	case STEP_INSERT:
		take_inserted(sender);
		return;
	case STEP_PASS:
		take_passed(sender, answer);
		return;
	case STEP_NONE:
		return;
	}
}

/* A request with rows failed: true when it is settled all the same. */
static bool settle_refusal(struct sender *sender, enum step step, const struct transfer_answer *answer)
{
	if (step == STEP_DATABASE && answer->error == 0) {
		/* The user may not make databases: it is there, or the next statement says so. */
		sender->database_made = true;
		return true;
	}
	if (step == STEP_PASS && answer->error == 0 && answer->status == 400) {
		sender->figures.rows_refused += sender->segment.rows;
		report(sender, answer->why.text);
		drop_segment(sender);
		return true;
	}
	if (step != STEP_INSERT || answer->error < 0 ||
	    !clickhouse_refuses_rows(answer->status, answer->body, answer->len))
		return false;
	if (sender->end - sender->at > 1) {
		/* One of the batches spoils the others: each by itself. */
		sender->singly = true;
		sender->end = sender->at;
	} else {
		refuse_group(sender, answer->why.text);
		sender->at = sender->end;
	}
	return true;
}

static void on_done(void *context, const struct transfer_answer *answer)
{
	struct sender *sender = context;
	enum step step = sender->step;

	sender->step = STEP_NONE;
	if (answer->error == 0 && answer->status >= 200 && answer->status <= 299) {
		take_answer(sender, step, answer);
		/* The first answer of a server says little: it is back when it takes rows. */
		if (step != STEP_VERSION)
			succeed(sender);
	} else if (settle_refusal(sender, step, answer)) {
		succeed(sender);
	} else {
		if (step == STEP_INSERT || step == STEP_PASS)
			sender->uncertain = true;
		sender->found = false;
		/* Another server may answer next time, or somebody dropped the table. */
		sender->version.major = 0;
		sender->database_made = false;
		map_done(&sender->ready);
		sender->ready = MAP_INIT(0, 1, TABLES_MAX);
		fail(sender, answer->why.text);
	}
	carry_on(sender);
}

/* --- outside --- */

int sender_new(struct loop *loop, struct spool *spool, const struct sender_options *options, struct sender **ret_sender,
	       struct why *why)
{
	struct transfer_client *client;
	struct sender *sender;
	int r = transfer_client_new(loop, &client, why);

	if (r < 0)
		return r;
	sender = xzalloc(sizeof(*sender));
	*sender = (struct sender){.loop = loop,
				  .spool = spool,
				  .options = *options,
				  .client = client,
				  .ready = MAP_INIT(0, 1, TABLES_MAX),
				  .path = BUF_INIT((size_t)1 << 16),
				  .body = BUF_INIT(SPOOL_ADD_MAX + SPOOL_SEGMENT_BYTES + 1)};
	if (options->token)
		sender->authorization = xasprintf("Authorization: Bearer %s", options->token);
	*ret_sender = sender;
	return 0;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	transfer_client_free(sender->client);
	loop_remove(sender->loop, sender->pause);
	map_done(&sender->ready);
	vec_done(&sender->batches);
	buf_done(&sender->body);
	buf_done(&sender->path);
	free(sender->authorization);
	free(sender);
}

void sender_wake(struct sender *sender)
{
	carry_on(sender);
}

void sender_drain(struct sender *sender, uint64_t limit_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + limit_ns, now_ns;

	sender->draining = true;
	sender->failed = 0;
	loop_remove(sender->loop, sender->pause);
	sender->pause = NULL;
	carry_on(sender);
	while (sender->step != STEP_NONE && (now_ns = clock_monotonic_ns()) < end_ns)
		transfer_drain(sender->client, end_ns - now_ns);
}

bool sender_is_idle(const struct sender *sender)
{
	return sender->step == STEP_NONE && !sender->has_segment && spool_look(sender->spool).segments == 0;
}

const struct sender_figures *sender_look(const struct sender *sender)
{
	return &sender->figures;
}

const char *sender_why(const struct sender *sender)
{
	return sender->why.text;
}
