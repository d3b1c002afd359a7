/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "run/run_oops.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "oops/oops.h"
#include "store/about.h"

#define TICK_NS NSEC_PER_SEC
/* A log that never rests is searched after this many ticks. */
#define TICKS_MAX 10
/* Of one search; a report is hardly longer than 10 KiB. */
#define TEXT_MAX ((size_t)1 << 20)
/* Of one run: a warning in a loop must not fill the disk. */
#define KEPT_MAX 1000

static int open_table(struct run_oops *oops, const struct record_type *type, struct store_table **ret_table)
{
	return store_table_open(oops->run->store, type->name, &SHAPE_OF(type), ret_table);
}

/* Lines from the first report on, each with its time; lines without one continue the line before. */
static int keep_lines(struct run_oops *oops, uint32_t first, uint64_t start_ns)
{
	const char *at = buf_text(&oops->text), *end = at + oops->text.len;
	uint64_t time_ns = UINT64_MAX;
	struct store_table *table;
	uint32_t number = 0;
	int r = open_table(oops, &oops_log_type, &table);

	while (r == 0 && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((newline ? newline : end) - at);
		_cleanup_free_ char *raw = xstrndup(at, len);
		struct oops_log_line row;
		struct log_line line;

		at += len + (newline != NULL);
		if (++number < first)
			continue;
		log_line_clean(raw, len, &line);
		if (line.uptime_ns != UINT64_MAX)
			time_ns = start_ns + line.uptime_ns;
		row = (struct oops_log_line){.time_ns = time_ns, .text = raw};
		r = store_add(table, &RECORD_OF(&row));
	}
	return r;
}

static int keep_reports(struct run_oops *oops, struct oops_list *list)
{
	struct store_table *table;
	int r = open_table(oops, &oops_type, &table);
	bool any = false;

	oops_date(list, kmsg_start_ns());
	vec_each(&list->items, item) {
		if (r < 0)
			return r;
		if (oops->kept >= KEPT_MAX) {
			oops->lost++;
			continue;
		}
		oops->kept++;
		any = true;
		r = store_add(table, &RECORD_OF(&(*item)->report));
	}
	return r == 0 && any ? keep_lines(oops, list->items.items[0]->report.log_line, kmsg_start_ns()) : r;
}

/* Searches what was logged so far. */
static int search(struct run_oops *oops)
{
	_cleanup_oops_ struct oops_list list = {};
	int r = 0;

	oops_read(buf_text(&oops->text), oops->text.len, &list);
	oops->lost += list.cut;
	if (list.items.count)
		r = keep_reports(oops, &list);
	buf_clear(&oops->text);
	oops->waited = 0;
	return run_stored(oops->run, r);
}

/* Lines of the log that nobody searched. */
static int note_loss(struct run_oops *oops)
{
	uint64_t lost = oops->tail.overwritten + oops->tail.refused;
	int r = 0;

	if (lost > oops->unsearched)
		r = store_add_loss(oops->run->store, oops_log_type.name, lost - oops->unsearched);
	oops->unsearched = lost;
	return run_stored(oops->run, r);
}

/* A report is over when nothing follows it. */
static void on_tick(void *context, uint64_t expirations _unused_)
{
	struct run_oops *oops = context;
	size_t before = oops->text.len;
	struct why why;
	int r;

	if (!oops->follows)
		return;
	if (kmsg_tail_read(&oops->tail, &oops->text, &why) < 0) {
		log_warn("record: kernel reports are no longer recorded: %s", why.text);
		oops->follows = false;
	}
	r = note_loss(oops);
	oops->waited += oops->text.len > 0;
	if (r == 0 && oops->text.len &&
	    (oops->text.len == before || oops->waited >= TICKS_MAX || oops->text.len > TEXT_MAX / 2))
		r = search(oops);
	if (r < 0)
		run_stop(oops->run, r);
}

static int note_source(struct run_oops *oops, const char *reason)
{
	struct attached_record record = {.time_ns = clock_real_ns(),
					 .event = oops_type.name,
					 .hook = reason ? NULL : "/dev/kmsg",
					 .reason = reason};
	struct store_table *table;
	int r = open_table(oops, &attached_type, &table);

	return r < 0 ? r : store_add(table, &RECORD_OF(&record));
}

/* The tables are made even if no report comes: then it is known that there was none. */
static int begin(struct run_sink *sink, struct run *run)
{
	struct run_oops *oops = (struct run_oops *)sink;
	struct store_table *table;
	struct why why;
	int r;

	if (kmsg_tail_open(&oops->tail, &why) < 0) {
		log_warn("record: kernel reports are not recorded: %s", why.text);
		return run_stored(run, note_source(oops, why.text));
	}
	oops->follows = true;
	r = note_source(oops, NULL);
	if (r == 0)
		r = open_table(oops, &oops_type, &table);
	if (r == 0)
		r = open_table(oops, &oops_log_type, &table);
	if (r < 0)
		return run_stored(run, r);
	return loop_add_timer(run->loop, TICK_NS, TICK_NS, on_tick, oops, NULL);
}

static int end(struct run_sink *sink, struct run *run _unused_)
{
	struct run_oops *oops = (struct run_oops *)sink;
	struct why why;
	int r;

	if (!oops->follows)
		return 0;
	if (kmsg_tail_read(&oops->tail, &oops->text, &why) < 0)
		log_warn("record: kernel reports are no longer recorded: %s", why.text);
	r = note_loss(oops);
	if (r == 0)
		r = search(oops);
	if (r == 0 && oops->lost)
		r = run_stored(oops->run, store_add_loss(oops->run->store, oops_type.name, oops->lost));
	return r;
}

static void account(struct run_sink *sink, struct run *run _unused_, struct run_account *account)
{
	const struct run_oops *oops = (const struct run_oops *)sink;

	account->lost += oops->lost + oops->unsearched;
	if (oops->kept)
		buf_add_format(&account->more, "%s%" PRIu64 " kernel report%s", account->more.len ? "; " : "",
			       oops->kept, oops->kept == 1 ? "" : "s");
}

static void close_log(struct run_sink *sink)
{
	struct run_oops *oops = (struct run_oops *)sink;

	if (oops->follows)
		kmsg_tail_close(&oops->tail);
	buf_done(&oops->text);
}

static const struct run_sink_ops oops_ops = {.begin = begin, .end = end, .account = account, .close = close_log};

void run_oops_init(struct run_oops *oops, struct run *run)
{
	*oops = (struct run_oops){.sink.ops = &oops_ops, .run = run, .tail.fd = -1, .text = BUF_INIT(TEXT_MAX)};
	run_add_sink(run, NULL, &oops->sink);
}
