/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/collector.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "http/http_server.h"
#include "view/json.h"

/* A body of an agent: a segment of its spool. */
#define BODY_MAX ((size_t)16 << 20)
/* Requests wait this long for company, unless this much waits. */
#define COMMIT_NS    (10 * NSEC_PER_MSEC)
#define COMMIT_BYTES ((size_t)4 << 20)
/* Batches remembered, in two halves: the older one is forgotten when the newer one is full. */
#define SEEN_MAX 250000
/* Hosts with a limit; all are forgotten when there are more. */
#define AGENTS_MAX 200000
/* An agent may send this many seconds of its rate at once: after an outage. */
#define BURST_SECONDS 60

struct batch_key {
	char table[FLEET_TABLE_MAX + 1];
	struct fleet_origin origin;
	uint64_t first_row;
};

/* A request that waits for the disk. */
struct waiting {
	struct http_request *request;
	uint64_t rows, doubles, refused;
	VEC(struct batch_key) keys;
};

/* What a host may still send. */
struct allowance {
	uint64_t time_ns;
	double bytes;
};

struct collector {
	struct collector_options options;
	struct loop_source *timer;
	struct map seen, seen_before;
	struct map agents;
	struct buf frames; /* of the requests that wait */
	uint64_t rows;
	VEC(struct waiting) waiting;
	struct collector_figures figures;
};

static const struct field collector_fields[] = {
	FIELD(struct collector_figures, requests, COUNT, "requests acknowledged"),
	FIELD(struct collector_figures, rows, COUNT, "rows taken"),
	FIELD(struct collector_figures, doubles, COUNT, "duplicate rows"),
	FIELD(struct collector_figures, refused, COUNT, "rows refused for ever"),
	FIELD(struct collector_figures, turned_away, COUNT,
	      "requests to be repeated: agent over its limit, full spool"),
	FIELD(struct collector_figures, agents, COUNT, "hosts seen"),
	FIELD(struct collector_figures, waiting_rows, COUNT, "rows in the spool"),
	FIELD(struct collector_figures, waiting_bytes, BYTES, "size of the spool"),
	FIELD(struct collector_figures, sent_rows, COUNT, "rows sent on"),
	FIELD(struct collector_figures, syncs, COUNT, "writes to the disk"),
};
RECORD_TYPE(collector_type, "collector", struct collector_figures, collector_fields, "figures of nest collect");

/* --- what was taken before --- */

/* Zeroed first: keys are compared as bytes. */
static void set_key(struct batch_key *key, const struct batch *batch)
{
	memset(key, 0, sizeof(*key));
	snprintf(key->table, sizeof(key->table), "%s", batch->table);
	snprintf(key->origin.host, sizeof(key->origin.host), "%s", batch->origin.host);
	snprintf(key->origin.boot, sizeof(key->origin.boot), "%s", batch->origin.boot);
	key->origin.stream = batch->origin.stream;
	key->first_row = batch->first_row;
}

static bool was_taken(const struct collector *collector, const struct batch_key *key)
{
	return map_get(&collector->seen, key) || map_get(&collector->seen_before, key);
}

static void remember(struct collector *collector, const struct batch_key *key)
{
	if (map_put(&collector->seen, key, NULL))
		return;
	map_done(&collector->seen_before);
	collector->seen_before = collector->seen;
	collector->seen = MAP_INIT(sizeof(*key), 1, SEEN_MAX);
	(void)map_put(&collector->seen, key, NULL);
}

static bool remember_spooled(const struct batch *batch, void *context)
{
	struct batch_key key;

	set_key(&key, batch);
	remember(context, &key);
	return true;
}

/* --- limits --- */

static bool is_allowed(struct collector *collector, const char *host, size_t bytes)
{
	double rate = (double)collector->options.agent_rate, most = rate * BURST_SECONDS;
	uint64_t now_ns = clock_monotonic_ns();
	struct allowance *allowance;
	bool is_new;

	if (rate <= 0)
		return true;
	allowance = map_put(&collector->agents, host, &is_new);
	if (!allowance) {
		map_done(&collector->agents);
		collector->agents = MAP_INIT(0, sizeof(struct allowance), AGENTS_MAX);
		allowance = map_put(&collector->agents, host, &is_new);
	}
	if (is_new)
		*allowance = (struct allowance){.time_ns = now_ns, .bytes = most};
	allowance->bytes += rate * (double)(now_ns - allowance->time_ns) / (double)NSEC_PER_SEC;
	allowance->bytes = allowance->bytes > most ? most : allowance->bytes;
	allowance->time_ns = now_ns;
	if (allowance->bytes < (double)bytes)
		return false;
	allowance->bytes -= (double)bytes;
	return true;
}

/* --- the disk --- */

static void answer(struct waiting *waiting, int r, const struct why *why)
{
	struct buf body = BUF_INIT(1024);

	if (r < 0) {
		http_refuse(waiting->request, 503, "%s", why->text);
		return;
	}
	buf_add_format(&body, "{\"rows\":%" PRIu64 ",\"doubles\":%" PRIu64 ",\"refused\":%" PRIu64 "}\n", waiting->rows,
		       waiting->doubles, waiting->refused);
	http_answer(waiting->request, 200, NULL, &body);
}

static void settle(struct collector *collector, struct waiting *waiting, int r, const struct why *why)
{
	answer(waiting, r, why);
	if (r < 0) {
		collector->figures.turned_away++;
		vec_each(&waiting->keys, key) {
			(void)map_remove(&collector->seen, key);
			(void)map_remove(&collector->seen_before, key);
		}
	} else {
		collector->figures.requests++;
		collector->figures.rows += waiting->rows;
		collector->figures.doubles += waiting->doubles;
		collector->figures.refused += waiting->refused;
	}
	vec_done(&waiting->keys);
}

void collector_commit(struct collector *collector)
{
	struct why why = {};
	int r = 0;

	loop_remove(collector->options.loop, collector->timer);
	collector->timer = NULL;
	if (collector->frames.len) {
		r = spool_add(collector->options.spool, collector->frames.data, collector->frames.len, collector->rows,
			      &why);
		collector->figures.syncs++;
	}
	buf_clear(&collector->frames);
	collector->rows = 0;
	vec_each(&collector->waiting, waiting)
		settle(collector, waiting, r, &why);
	collector->waiting.count = 0;
	if (collector->options.added)
		collector->options.added(collector->options.context);
}

static void on_commit(void *context, uint64_t expirations _unused_)
{
	collector_commit(context);
}

/* --- requests --- */

/* Whether the batch may go on; the reason why no collector will ever take it. */
static int check_batch(const struct batch *batch, struct why *why)
{
	_cleanup_buf_ struct buf text = BUF_INIT(BATCH_TEXT_MAX + 1);
	struct fleet_table table;
	int r;

	if (fleet_table_find(batch->table, &table) < 0)
		return why_set(why, -EINVAL, "a table that this collector does not know");
	r = batch_inflate(batch, &text);
	if (r < 0)
		return why_set(why, -EINVAL, "rows that cannot be unpacked");
	return fleet_row_check(buf_text(&text), text.len, &batch->origin, batch->first_row, batch->rows, why);
}

static void take_batch(struct collector *collector, struct waiting *waiting, struct batch *batch, bool retried)
{
	struct batch_key key;
	struct why why = {};

	set_key(&key, batch);
	if (was_taken(collector, &key)) {
		waiting->doubles += batch->rows;
		return;
	}
	if (check_batch(batch, &why) < 0) {
		waiting->refused += batch->rows;
		return;
	}
	if (retried)
		batch->flags |= BATCH_RETRIED;
	batch_add(&collector->frames, batch);
	waiting->rows += batch->rows;
	collector->rows += batch->rows;
	remember(collector, &key);
	vec_push(&waiting->keys, key);
}

/* Whether the body is frames from end to end, of hosts that may send; the status to refuse it with otherwise. */
static unsigned check_body(struct collector *collector, const struct buf *body, struct why *why)
{
	struct batch batch;
	size_t at = 0, len;

	if (body->len == 0)
		(void)why_set(why, 0, "no batches");
	while (at < body->len) {
		if (batch_read(body->data + at, body->len - at, &batch, &len) < 0) {
			(void)why_set(why, 0, "not a batch, or a damaged one, at byte %zu", at);
			return 400;
		}
		at += len;
	}
	if (body->len == 0)
		return 400;
	/* The first host stands for the sender. */
	(void)!batch_read(body->data, body->len, &batch, &len);
	if (!is_allowed(collector, batch.origin.host, body->len)) {
		(void)why_set(why, 0, "this agent sends more than %" PRIu64 " bytes per second",
			      collector->options.agent_rate);
		return 429;
	}
	return 0;
}

static void take_batches(struct http_request *request)
{
	struct collector *collector = request->service;
	bool retried = http_request_header(request, "Nest-Retry") != NULL;
	struct waiting waiting = {.request = request};
	struct batch batch;
	struct why why = {};
	size_t at = 0, len;
	unsigned status = check_body(collector, &request->body, &why);

	if (status) {
		collector->figures.turned_away += status == 429;
		http_refuse(request, status, "%s", why.text);
		return;
	}
	while (at < request->body.len &&
	       batch_read(request->body.data + at, request->body.len - at, &batch, &len) == 0) {
		take_batch(collector, &waiting, &batch, retried);
		at += len;
	}
	vec_push(&collector->waiting, waiting);
	if (collector->frames.len >= COMMIT_BYTES)
		collector_commit(collector);
	else if (!collector->timer &&
		 loop_add_timer(collector->options.loop, COMMIT_NS, 0, on_commit, collector, &collector->timer) < 0)
		collector_commit(collector);
}

/* Agents have no page whose Origin they could name; a browser has no token in a header to be misused with. */
static const struct http_route batches_route = {
	.service = HTTP_COLLECT,
	.method = "POST",
	.path = "/api/v1/batches",
	.summary = "batches of an agent; 200 when they are on the disk",
	.access = HTTP_WITH_BEARER,
	.body_max = BODY_MAX,
	.body = "frames of batches, as in an agent's spool",
	.handle = take_batches,
};
HTTP_ROUTE(batches_route);

static void show_figures(struct http_request *request)
{
	struct collector_figures figures = collector_look(request->service);
	struct buf body = BUF_INIT(4096);

	json_add_object(&body, &collector_type, &figures);
	buf_add_char(&body, '\n');
	http_answer(request, 200, NULL, &body);
}

static const struct http_route figures_route = {
	.service = HTTP_COLLECT,
	.method = "GET",
	.path = "/api/v1/collector",
	.summary = "figures of the collector",
	.answer = "collector",
	.access = HTTP_WITH_BEARER,
	.handle = show_figures,
};
HTTP_ROUTE(figures_route);

/* --- outside --- */

int collector_new(const struct collector_options *options, struct collector **ret_collector, struct why *why)
{
	struct collector *collector = xzalloc(sizeof(*collector));
	int r;

	*collector = (struct collector){.options = *options,
					.seen = MAP_INIT(sizeof(struct batch_key), 1, SEEN_MAX),
					.seen_before = MAP_INIT(sizeof(struct batch_key), 1, SEEN_MAX),
					.agents = MAP_INIT(0, sizeof(struct allowance), AGENTS_MAX),
					.frames = BUF_INIT(SPOOL_ADD_MAX)};
	r = spool_each(options->spool, remember_spooled, collector, why);
	if (r < 0) {
		collector_free(collector);
		return r;
	}
	*ret_collector = collector;
	return 0;
}

void collector_free(struct collector *collector)
{
	static const struct why over = {.text = "the collector ends"};

	if (!collector)
		return;
	vec_each(&collector->waiting, waiting)
		settle(collector, waiting, -ESHUTDOWN, &over);
	vec_done(&collector->waiting);
	loop_remove(collector->options.loop, collector->timer);
	map_done(&collector->seen);
	map_done(&collector->seen_before);
	map_done(&collector->agents);
	buf_done(&collector->frames);
	free(collector);
}

struct collector_figures collector_look(const struct collector *collector)
{
	struct spool_figures spool = spool_look(collector->options.spool);
	struct collector_figures figures = collector->figures;

	figures.agents = collector->agents.count;
	figures.waiting_rows = spool.rows;
	figures.waiting_bytes = spool.bytes;
	if (collector->options.fill)
		collector->options.fill(collector->options.context, &figures);
	return figures;
}
