/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds reports among the lines of a log. */
#include <stdarg.h>
#include <string.h>

#include "oops/oops.h"
#include "oops/oops_body.h"
#include "oops/oops_layer.h"
#include "oops/oops_start.h"
#include "oops/oops_what.h"
#include "oops/piece.h"
#include "record/value.h"

/* CPUs that report at the same time, in a log that says which line is whose. */
#define OPEN_MAX 8
/* A report without a further line for so long is over. */
#define QUIET_LINES 120
#define QUIET_NS    (UINT64_C(30) * 1000000000)

struct open_report {
	struct oops_body body;
	char caller[16];
	uint8_t rank;
	bool cut_here;
	uint64_t starts; /* start lines that were seen, as bits */
	uint32_t last_line;
	uint64_t last_ns;
};

/* A panic within this many lines of a report's end is its consequence. */
#define PANIC_LINES 16
#define NEAR_NS     (UINT64_C(2) * 1000000000)

struct reader {
	struct oops_list *list;
	struct oops *last; /* that was closed */
	uint32_t last_end;
	struct open_report open[OPEN_MAX];
};

const char *oops_keep(struct oops *oops, const char *text, size_t len)
{
	char *copy = xstrndup(text, len);

	vec_push(&oops->texts, copy);
	return copy;
}

const char *oops_keep_format(struct oops *oops, const char *format, ...)
{
	va_list args;
	char *copy;

	va_start(args, format);
	copy = xvasprintf(format, args);
	va_end(args);
	vec_push(&oops->texts, copy);
	return copy;
}

void oops_settle(struct oops *oops)
{
	struct oops_report *report = &oops->report;

	/* An empty list is known to be empty. */
#define LIST_OF(vec) ((struct list){(vec).items ? (void *)(vec).items : "", (uint32_t)(vec).count})
	report->trace = LIST_OF(oops->frames);
	report->registers = LIST_OF(oops->registers);
	report->code = LIST_OF(oops->instructions);
	report->known = LIST_OF(oops->findings);
#undef LIST_OF
}

static void free_oops(struct oops *oops)
{
	vec_each(&oops->texts, text)
		free(*text);
	vec_done(&oops->texts);
	vec_done(&oops->frames);
	vec_done(&oops->registers);
	vec_done(&oops->instructions);
	vec_done(&oops->findings);
	free(oops);
}

void oops_list_done(struct oops_list *list)
{
	vec_each(&list->items, oops)
		free_oops(*oops);
	vec_done(&list->items);
}

static void close_report(struct reader *reader, struct open_report *open)
{
	struct oops *oops = open->body.oops;
	uint32_t end = open->last_line;

	if (!oops)
		return;
	memset(open, 0, sizeof(*open));
	if (oops->report.kind == OOPS_NONE && oops->frames.count == 0) {
		free_oops(oops);
		return;
	}
	if (reader->list->items.count >= OOPS_REPORTS_MAX) {
		reader->list->cut++;
		free_oops(oops);
		return;
	}
	/* First: the place may turn out to be the caller of the check that the line names. */
	oops_what_say(oops);
	oops_layer_place(oops);
	oops_what_sign(oops);
	oops_settle(oops);
	vec_push(&reader->list->items, oops);
	reader->last = oops;
	reader->last_end = end;
}

static struct oops *new_oops(const struct log_line *line)
{
	struct oops *oops = xzalloc(sizeof(*oops));

	for (uint32_t i = 0; i < oops_type.field_count; i++)
		value_set_unknown(&oops_type.fields[i], &oops->report);
	oops->report.kind = OOPS_NONE;
	oops->report.line = 0;
	oops->report.log_line = line->number;
	oops->report.time_ns = line->time_ns;
	oops->report.uptime_ns = line->uptime_ns;
	oops->code.fault = SIZE_MAX;
	return oops;
}

/* The report of this caller: its open one, a free place, or the place of the oldest. */
static struct open_report *find_open(struct reader *reader, const char *caller)
{
	struct open_report *place = NULL;

	for (unsigned i = 0; i < OPEN_MAX; i++) {
		struct open_report *open = &reader->open[i];

		if (open->body.oops && strcmp(open->caller, caller) == 0)
			return open;
		if (!place || (place->body.oops && (!open->body.oops || open->last_line < place->last_line)))
			place = open;
	}
	return place;
}

static void touch(struct open_report *open, const struct log_line *line)
{
	open->last_line = line->number;
	open->last_ns = line->uptime_ns;
}

static struct open_report *begin(struct reader *reader, struct open_report *open, const struct log_line *line)
{
	close_report(reader, open);
	open->body.oops = new_oops(line);
	memcpy(open->caller, line->caller, sizeof(open->caller));
	touch(open, line);
	return open;
}

static bool is_quiet(const struct open_report *open, const struct log_line *line)
{
	if (line->number - open->last_line > QUIET_LINES)
		return true;
	if (open->last_ns == UINT64_MAX || line->uptime_ns == UINT64_MAX)
		return false;
	/* An uptime that goes back is of another boot. */
	return line->uptime_ns < open->last_ns ? open->last_ns - line->uptime_ns > QUIET_NS
					       : line->uptime_ns - open->last_ns > QUIET_NS;
}

/* Within the same breath. */
static bool is_near(const struct open_report *open, const struct log_line *line)
{
	return line->number - open->last_line <= PANIC_LINES &&
	       (open->last_ns == UINT64_MAX || line->uptime_ns == UINT64_MAX ||
		line->uptime_ns - open->last_ns <= NEAR_NS);
}

/* A panic is how a report ends; false: it is one of its own. */
static bool see_panic(struct reader *reader, struct open_report *open, const struct log_line *line, const char *text)
{
	const char *reason = piece_behind(text, "not syncing: ");

	if (open->body.oops && open->body.started && is_near(open, line))
		return oops_body_read(&open->body, text);
	if (open->body.oops || !reader->last || line->number - reader->last_end > PANIC_LINES || !reason)
		return false;
	reader->last->report.panic = oops_keep(reader->last, reason, strlen(reason));
	return true;
}

static void see_start(struct reader *reader, struct open_report *open, const struct oops_start *start, uint64_t bit,
		      const struct log_line *line)
{
	const char *text = piece_blanks(line->text);
	struct oops *oops;

	if (start->kind == OOPS_PANIC && see_panic(reader, open, line, text))
		return;
	if (!open->body.oops || !start->joins || open->body.started || (open->starts & bit))
		open = begin(reader, open, line);
	touch(open, line);
	oops = open->body.oops;
	open->starts |= bit;
	if (start->rank > open->rank) {
		open->rank = start->rank;
		oops->report.kind = (uint8_t)start->kind;
		oops_start_read(start, oops, text);
	} else if (start->read) {
		/* Its place, not its words. */
		const char *what = oops->report.what;

		start->read(oops, text);
		oops->report.what = what ? what : oops->report.what;
	}
	/* Also the number of the oops, at the end of the line. */
	if (start->kind == OOPS_FAULT)
		(void)oops_body_read(&open->body, text);
	if (start->alone)
		close_report(reader, open);
}

/* What stands beside the headline, and is no line of a known form, says why. */
static void see_message(struct open_report *open, const char *text)
{
	struct oops *oops = open->body.oops;

	if (oops->message || open->body.started || !*text || text[0] == '=' || text[0] == '-')
		return;
	if (open->cut_here || oops->report.kind == OOPS_WARN || oops->report.kind == OOPS_BUG)
		oops->message = oops_keep(oops, text, strlen(text));
}

static void count_dropped(struct reader *reader, const char *text)
{
	const char *at = piece_after(text, "** ");
	uint64_t count;

	at = at ? piece_number(at, UINT32_MAX, &count) : NULL;
	if (at && piece_after(at, " printk messages dropped"))
		reader->list->dropped += count;
}

static void see_line(const struct log_line *line, void *context)
{
	struct reader *reader = context;
	struct open_report *open = find_open(reader, line->caller);
	const char *text = piece_blanks(line->text);
	const struct oops_start *start;
	uint64_t bit;

	if (open->body.oops && strcmp(open->caller, line->caller) != 0)
		close_report(reader, open);
	if (open->body.oops && is_quiet(open, line))
		close_report(reader, open);
	count_dropped(reader, text);
	if (piece_after(text, "------------[ cut here ]")) {
		/* skb_over_panic says why before it cuts. */
		if (!open->body.oops || open->body.started || !is_near(open, line))
			open = begin(reader, open, line);
		open->cut_here = true;
		return;
	}
	start = oops_start_find(text, &bit);
	if (start) {
		see_start(reader, open, start, bit, line);
		return;
	}
	if (!open->body.oops)
		return;
	if (oops_body_read(&open->body, text))
		touch(open, line);
	else
		see_message(open, text);
	if (open->body.ended)
		close_report(reader, open);
}

static int compare_lines(const void *a, const void *b)
{
	const struct oops *const *left = a, *const *right = b;

	return ((*left)->report.log_line > (*right)->report.log_line) -
	       ((*left)->report.log_line < (*right)->report.log_line);
}

void oops_read(const char *text, size_t len, struct oops_list *ret_list)
{
	struct reader reader = {.list = ret_list};

	ret_list->lines = log_line_each(text, len, see_line, &reader);
	for (unsigned i = 0; i < OPEN_MAX; i++)
		close_report(&reader, &reader.open[i]);
	vec_sort(&ret_list->items, compare_lines);
	oops_what_relate(ret_list);
}

void oops_date(struct oops_list *list, uint64_t start_ns)
{
	vec_each(&list->items, item)
		if ((*item)->report.time_ns == UINT64_MAX && (*item)->report.uptime_ns != UINT64_MAX)
			(*item)->report.time_ns = start_ns + (*item)->report.uptime_ns;
}
