/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/shipper.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "http/http_token.h"
#include "store/about.h"

#define FLUSH_NS    (5 * NSEC_PER_SEC)
#define FLUSH_ROWS  10000
#define FLUSH_BYTES ((size_t)8 << 20)
#define TABLES_MAX  1000

const struct option_spec ship_option_table[] = {
	OPTION(struct ship_options, url, TEXT, "ship", 0, "URL",
	       "send rows to ClickHouse (http(s)://USER:PASS@HOST:8123/DATABASE) or to nest collect "
	       "(http(s)://HOST:PORT)",
	       .file = FILE_SERVER),
	OPTION(struct ship_options, spool, TEXT, "spool", 0, "DIR",
	       "keep rows that wait for the server in this directory (default: in memory)", .file = FILE_TREE),
	OPTION(struct ship_options, spool_size, SIZE, "spool-size", 0, "BYTES",
	       "limit the spool (default 256MiB): beyond it the oldest rows are dropped and counted; nest collect "
	       "(4GiB) "
	       "refuses new ones"),
	OPTION(struct ship_options, ca_file, TEXT, "ship-ca", 0, "FILE",
	       "trust the certificates in this file (PEM) instead of the system's", .file = FILE_READ),
	OPTION_END,
};

/* Rows of a table that are not in a batch yet. */
struct heap {
	struct fleet_table table;
	bool known; /* false: not a table of the fleet */
	struct buf text;
	uint32_t rows;
	uint64_t first_row;
	uint64_t min_time_ns, max_time_ns;
};

struct shipper {
	struct loop *loop;
	struct loop_source *timer;
	struct fleet_url url;
	struct http_token token;
	struct fleet_origin origin;
	struct buf head; /* of a row */
	struct spool *spool;
	struct sender *sender;
	VEC(struct heap *) heaps;
	struct map by_name; /* name of the type -> its heap */
	uint64_t rows, held, lost;
	void (*report)(void *context, const char *text);
	void *context;
	void (*idle)(void *context);
	void *idle_context;
	bool may_be_there;
	bool refused; /* by the spool; reported once */
};

void shipper_origin_here(struct fleet_origin *origin, uint64_t stream)
{
	struct host_record host;

	host_record_fill(&host);
	*origin = (struct fleet_origin){.stream = stream};
	snprintf(origin->host, sizeof(origin->host), "%.*s", FLEET_HOST_MAX, host.host[0] ? host.host : "unknown");
	snprintf(origin->boot, sizeof(origin->boot), "%.*s", FLEET_BOOT_MAX,
		 host.boot_id[0] ? host.boot_id : "unknown");
}

static void on_report(void *context, const char *text);

/* --- batches --- */

/* Appends the frame of what the heap holds, and empties it. */
static void add_frame(struct shipper *shipper, struct heap *heap, struct buf *frames)
{
	_cleanup_buf_ struct buf body = BUF_INIT(BATCH_BODY_MAX);
	struct batch batch = {.origin = shipper->origin,
			      .flags = shipper->may_be_there ? BATCH_RETRIED : 0,
			      .rows = heap->rows,
			      .first_row = heap->first_row,
			      .min_time_ns = heap->min_time_ns,
			      .max_time_ns = heap->max_time_ns};

	snprintf(batch.table, sizeof(batch.table), "%s", heap->table.name);
	batch_deflate(&body, buf_text(&heap->text), heap->text.len);
	batch.body = buf_text(&body);
	batch.body_len = body.len;
	batch_add(frames, &batch);
	heap->rows = 0;
	buf_clear(&heap->text);
}

static void into_spool(struct shipper *shipper, const struct buf *frames, uint64_t rows)
{
	struct why why = {};
	int r = frames->over ? why_set(&why, -E2BIG, "a batch is too long")
			     : spool_add(shipper->spool, frames->data, frames->len, rows, &why);

	shipper->held -= rows;
	if (r < 0) {
		shipper->lost += rows;
		if (!shipper->refused)
			on_report(shipper, why.text);
	}
	shipper->refused = r < 0;
}

/* One heap: it is full, or its rows end here. */
static void flush_heap(struct shipper *shipper, struct heap *heap)
{
	_cleanup_buf_ struct buf frames = BUF_INIT(SPOOL_ADD_MAX);
	uint64_t rows = heap->rows;

	if (rows == 0)
		return;
	add_frame(shipper, heap, &frames);
	into_spool(shipper, &frames, rows);
}

void shipper_flush(struct shipper *shipper)
{
	_cleanup_buf_ struct buf frames = BUF_INIT(SPOOL_ADD_MAX);
	uint64_t rows = 0;

	/* Small batches of several tables are written together: one write to the disk. */
	vec_each(&shipper->heaps, heap) {
		if ((*heap)->rows == 0)
			continue;
		rows += (*heap)->rows;
		add_frame(shipper, *heap, &frames);
		if (frames.len > SPOOL_SEGMENT_BYTES / 2 || frames.over) {
			into_spool(shipper, &frames, rows);
			buf_clear(&frames);
			rows = 0;
		}
	}
	if (rows)
		into_spool(shipper, &frames, rows);
	spool_cut(shipper->spool);
	sender_wake(shipper->sender);
}

static void on_flush(void *context, uint64_t expirations _unused_)
{
	shipper_flush(context);
}

/* --- rows --- */

static struct heap *find_heap(struct shipper *shipper, const char *name)
{
	struct heap **found = map_get(&shipper->by_name, name), *heap;

	if (found)
		return *found;
	found = map_put(&shipper->by_name, name, NULL);
	if (!found)
		return NULL;
	heap = xzalloc(sizeof(*heap));
	heap->known = fleet_table_find(name, &heap->table) == 0;
	heap->text = BUF_INIT(BATCH_TEXT_MAX);
	*found = heap;
	vec_push(&shipper->heaps, heap);
	return heap;
}

/* The line behind `before` is a row of another day: it begins the next batch. */
static void split_day(struct shipper *shipper, struct heap *heap, size_t before)
{
	_cleanup_free_ char *line = xstrdup(buf_text(&heap->text) + before);

	buf_truncate(&heap->text, before);
	flush_heap(shipper, heap);
	buf_add_text(&heap->text, line);
}

void shipper_add_cells(struct shipper *shipper, const char *table, uint64_t row, shipper_cells_fn *cells,
		       const void *context)
{
	struct heap *heap = find_heap(shipper, table);
	uint64_t time_ns;
	size_t before;

	if (!heap || !heap->known)
		return;
	/* A gap in the numbers ends a batch: its rows are counted from its first on. */
	if (heap->rows && row != heap->first_row + heap->rows)
		flush_heap(shipper, heap);
	before = heap->text.len;
	buf_add(&heap->text, buf_text(&shipper->head), shipper->head.len);
	buf_add_format(&heap->text, "%" PRIu64, row);
	time_ns = cells(&heap->text, context);
	buf_add_text(&heap->text, "}\n");
	if (heap->rows && batch_day(time_ns) != batch_day(heap->min_time_ns))
		split_day(shipper, heap, before);
	if (heap->rows == 0) {
		heap->first_row = row;
		heap->min_time_ns = heap->max_time_ns = time_ns;
	}
	heap->min_time_ns = min_of(heap->min_time_ns, time_ns);
	heap->max_time_ns = max_of(heap->max_time_ns, time_ns);
	heap->rows++;
	shipper->rows++;
	shipper->held++;
	if (heap->rows >= FLUSH_ROWS || heap->text.len > FLUSH_BYTES) {
		flush_heap(shipper, heap);
		spool_cut(shipper->spool);
		sender_wake(shipper->sender);
	}
}

struct shaped {
	const struct shape *shape;
	const struct record *record;
};

static uint64_t add_record(struct buf *out, const void *context)
{
	const struct shaped *shaped = context;

	return fleet_row_add_cells(out, shaped->shape, shaped->record);
}

void shipper_add(struct shipper *shipper, const char *table, uint64_t row, const struct shape *shape,
		 const struct record *record)
{
	shipper_add_cells(shipper, table, row, add_record, &(struct shaped){shape, record});
}

/* --- opening and closing --- */

/* A password or token on a network that others can read. */
static int check_url(const struct shipper *shipper, struct why *why)
{
	if (!shipper->url.database && !shipper->token.text[0])
		return why_set(why, -EINVAL, "a collector needs --token-file FILE");
	return 0;
}

static void on_report(void *context, const char *text)
{
	struct shipper *shipper = context;

	if (shipper->report)
		shipper->report(shipper->context, text);
}

static void on_idle(void *context)
{
	struct shipper *shipper = context;

	if (shipper->idle)
		shipper->idle(shipper->idle_context);
}

void shipper_on_idle(struct shipper *shipper, void (*fn)(void *context), void *context)
{
	shipper->idle = fn;
	shipper->idle_context = context;
}

static int open_parts(struct shipper *shipper, const struct ship_options *options, struct why *why)
{
	struct spool_options spool = {.dir = options->spool,
				      .limit_bytes = options->spool_size ? options->spool_size : SHIP_SPOOL_SIZE,
				      .drop_oldest = true};
	struct sender_options sender = {.url = &shipper->url,
					.ca_file = options->ca_file,
					.report = on_report,
					.idle = on_idle,
					.context = shipper};
	int r = fleet_url_parse(options->url, &shipper->url, why);

	if (r == 0 && options->token_file)
		r = http_token_read(options->token_file, &shipper->token, why);
	if (r == 0)
		r = check_url(shipper, why);
	if (r == 0)
		r = spool_open(&spool, &shipper->spool, why);
	sender.token = shipper->token.text[0] ? shipper->token.text : NULL;
	if (r == 0)
		r = sender_new(shipper->loop, shipper->spool, &sender, &shipper->sender, why);
	if (r == 0)
		r = loop_add_timer(shipper->loop, FLUSH_NS, FLUSH_NS, on_flush, shipper, &shipper->timer);
	return r;
}

int shipper_new(struct loop *loop, const struct ship_options *options, const struct fleet_origin *origin,
		void (*report)(void *context, const char *text), void *context, struct shipper **ret_shipper,
		struct why *why)
{
	_cleanup_(shipper_freep) struct shipper *shipper = xzalloc(sizeof(*shipper));
	int r;

	*shipper = (struct shipper){.loop = loop,
				    .origin = *origin,
				    .head = BUF_INIT(4096),
				    .by_name = MAP_INIT(0, sizeof(struct heap *), TABLES_MAX),
				    .may_be_there = options->may_be_there,
				    .report = report,
				    .context = context};
	fleet_row_add_head(&shipper->head, origin);
	r = open_parts(shipper, options, why);
	if (r < 0)
		return r;
	/* What an earlier process left. */
	sender_wake(shipper->sender);
	*ret_shipper = take_ptr(shipper);
	return 0;
}

void shipper_free(struct shipper *shipper)
{
	if (!shipper)
		return;
	loop_remove(shipper->loop, shipper->timer);
	sender_free(shipper->sender);
	spool_close(shipper->spool);
	vec_each(&shipper->heaps, heap) {
		buf_done(&(*heap)->text);
		free(*heap);
	}
	vec_done(&shipper->heaps);
	map_done(&shipper->by_name);
	buf_done(&shipper->head);
	fleet_url_done(&shipper->url);
	free(shipper);
}

void shipper_finish(struct shipper *shipper, uint64_t limit_ns)
{
	shipper_flush(shipper);
	sender_drain(shipper->sender, limit_ns);
}

uint64_t shipper_waiting_bytes(const struct shipper *shipper)
{
	return spool_look(shipper->spool).bytes;
}

struct shipper_figures shipper_look(const struct shipper *shipper)
{
	struct spool_figures spool = spool_look(shipper->spool);
	const struct sender_figures *sender = sender_look(shipper->sender);

	return (struct shipper_figures){.rows = shipper->rows,
					.lost = shipper->lost + spool.dropped_rows + sender->rows_refused,
					.waiting = shipper->held + spool.rows,
					.sender = *sender};
}

const char *shipper_why(const struct shipper *shipper)
{
	return sender_why(shipper->sender);
}
