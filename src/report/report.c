/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "report/report.h"
#include "snapshot/core/arena.h"
#include "view/hist.h"

/* Longest lists of a page. */
#define TALKERS_MAX 20
#define DROPS_MAX   40
#define VALUES_MAX  ((size_t)2 << 20)
#define TEXTS_MAX   ((size_t)64 << 20)

#define S           struct report_stall
static const struct field stall_fields[] = {
	FIELD(S, begin_ns, TIME, "when it was first reported"),
	FIELD(S, end_ns, TIME, "when it was last reported", .hidden = true),
	FIELD(S, span_ns, DURATION, "how long it was reported"),
	FIELD(S, cause, TEXT, "cause"),
	FIELD(S, module, TEXT, "culprit module"),
	FIELD(S, layer, TEXT, "layer of the module", .hidden = true),
	FIELD(S, certainty, RATIO, "highest certainty"),
	FIELD(S, because, TEXT, "latest evidence"),
};
#undef S
RECORD_TYPE(report_stall_type, "report.stall", struct report_stall, stall_fields, "finding, from start to end");

#define T struct report_talker
static const struct field talker_fields[] = {
	FIELD(T, comm, TEXT, "process"),
	FIELD(T, way, TEXT, "to: outgoing connections to a service; from: incoming connections of clients"),
	FIELD(T, raddr, ADDR, "remote address"),
	FIELD(T, port, ID, "port of the service", .zero_is_unknown = true),
	FIELD(T, connections, COUNT, "connections seen"),
	FIELD(T, tx_bytes, BYTES, "bytes sent, including retransmissions"),
	FIELD(T, rx_bytes, BYTES, "bytes received"),
	FIELD(T, retrans, COUNT, "retransmitted segments"),
	FIELD(T, retrans_bytes, BYTES, "retransmitted bytes", .heading = "retrans_bytes", .hidden = true),
	FIELD(T, retrans_share, RATIO, "share of retransmitted bytes", .unit = "%"),
	FIELD(T, srtt_ns, DURATION, "SRTT, median of all samples"),
	FIELD(T, min_rtt_ns, DURATION, "minimum RTT", .hidden = true),
	FIELD(T, resets, COUNT, "reset connections", .hidden = true),
	FIELD(T, zero_windows, COUNT, "zero windows advertised", .hidden = true),
};
#undef T
RECORD_TYPE(report_talker_type, "report.talker", struct report_talker, talker_fields,
	    "traffic of a process with a remote host");

static const struct field drop_fields[] = {
	FIELD(struct report_drop, where, TEXT, "place of the drop"),
	FIELD(struct report_drop, reason, TEXT, "drop reason, or the counter"),
	FIELD(struct report_drop, count, COUNT, "dropped packets"),
	FIELD(struct report_drop, rate, RATIO, "per second", .unit = "/s"),
};
RECORD_TYPE(report_drop_type, "report.drop", struct report_drop, drop_fields, "dropped packets or connection requests");

#define L struct report_latency
static const struct field latency_fields[] = {
	FIELD(L, what, TEXT, "what was measured"),
	FIELD(L, count, COUNT, "number of values"),
	FIELD(L, p50_ns, DURATION, "median"),
	FIELD(L, p95_ns, DURATION, "95th percentile"),
	FIELD(L, p99_ns, DURATION, "99th percentile"),
	FIELD(L, max_ns, DURATION, "maximum"),
	FIELD(L, hist, LIST, "distribution", .element = &hist_slot_type, .hidden = true),
};
#undef L
RECORD_TYPE(report_latency_type, "report.latency", struct report_latency, latency_fields, "latency distribution");

#define P struct report_point
static const struct field point_fields[] = {
	FIELD(P, time_ns, TIME, "start of the second"),
	FIELD(P, tx_rate, RATIO, "bytes sent", .unit = "B/s"),
	FIELD(P, rx_rate, RATIO, "bytes received", .unit = "B/s"),
	FIELD(P, retrans_rate, RATIO, "retransmitted segments", .unit = "/s"),
	FIELD(P, drop_rate, RATIO, "drops", .unit = "/s"),
	FIELD(P, srtt_ns, DURATION, "SRTT, median of all connections"),
	FIELD(P, connections, COUNT, "connections"),
};
#undef P
RECORD_TYPE(report_point_type, "report.point", struct report_point, point_fields, "one second of the timeline");

static const struct field mark_fields[] = {
	FIELD(struct report_mark, time_ns, TIME, "time of the mark"),
	FIELD(struct report_mark, label, TEXT, "text of the mark"),
};
RECORD_TYPE(report_mark_type, "report.mark", struct report_mark, mark_fields, "mark set by the user");

static const struct field change_fields[] = {
	FIELD(struct report_change, what, TEXT, "compared figure"),
	FIELD(struct report_change, before, RATIO, "value before"),
	FIELD(struct report_change, after, RATIO, "value after"),
	FIELD(struct report_change, ratio, RATIO, "after divided by before"),
};
RECORD_TYPE(report_change_type, "report.change", struct report_change, change_fields, "difference between two reports");

static const struct field text_fields[] = {
	FIELD(struct report_text, text, TEXT, "sentence"),
};
RECORD_TYPE(report_text_type, "report.text", struct report_text, text_fields, "sentence", .bare = true);

#define R struct report_record
static const struct field report_fields[] = {
	FIELD(R, schema, TEXT, "version of this layout"),
	FIELD(R, file, TEXT, "recording or capture"),
	FIELD(R, host, TEXT, "host"),
	FIELD(R, kernel, TEXT, "kernel version"),
	FIELD(R, command, TEXT, "recording command"),
	FIELD(R, begin_ns, TIME, "start of the recording"),
	FIELD(R, end_ns, TIME, "end of the recording"),
	FIELD(R, span_ns, DURATION, "length of the recording"),
	FIELD(R, samples, COUNT, "samples of the host, or packets"),
	FIELD(R, lost, COUNT, "lost records"),
	FIELD(R, stalls, LIST, "findings", .element = &report_stall_type),
	FIELD(R, oopses, LIST, "kernel reports by signature, most frequent first", .element = &report_oops_type),
	FIELD(R, marks, LIST, "marks", .element = &report_mark_type),
	FIELD(R, talkers, LIST, "most bytes first", .element = &report_talker_type),
	FIELD(R, retransmits, LIST, "most retransmissions first", .element = &report_talker_type),
	FIELD(R, drops, LIST, "drops", .element = &report_drop_type),
	FIELD(R, latency, LIST, "latency distributions", .element = &report_latency_type),
	FIELD(R, series, LIST, "figures of every second", .element = &report_point_type),
	FIELD(R, unknown, LIST, "limits of this report", .element = &report_text_type),
};
#undef R
RECORD_TYPE(report_type, "report", struct report_record, report_fields, "summary of a recording");

/* --- under construction --- */

struct values {
	const char *what;
	VEC(uint64_t) items;
	uint64_t count; /* including those that did not fit */
};

struct report {
	struct report_record head;
	struct arena texts;
	VEC(struct report_stall) stalls;
	VEC(struct report_oops) oopses;
	VEC(struct report_mark) marks;
	VEC(struct report_talker) talkers, retransmits;
	VEC(struct report_drop) drops;
	VEC(struct report_point) points;
	VEC(struct report_latency) latency;
	VEC(struct report_text) unknown;
	VEC(struct report_change) changes;
	VEC(struct values *) values;
	VEC(void *) memory;
};

struct report *report_new(void)
{
	struct report *report = xzalloc(sizeof(*report));

	report->texts.cap = TEXTS_MAX;
	report->head.schema = REPORT_SCHEMA;
	return report;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	vec_each(&report->values, values) {
		vec_done(&(*values)->items);
		free(*values);
	}
	vec_each(&report->memory, block)
		free(*block);
	vec_done(&report->memory);
	vec_done(&report->values);
	vec_done(&report->stalls);
	vec_done(&report->oopses);
	vec_done(&report->marks);
	vec_done(&report->talkers);
	vec_done(&report->retransmits);
	vec_done(&report->drops);
	vec_done(&report->points);
	vec_done(&report->latency);
	vec_done(&report->unknown);
	vec_done(&report->changes);
	arena_done(&report->texts);
	free(report);
}

struct report_record *report_head(struct report *report)
{
	return &report->head;
}

const char *report_text(struct report *report, const char *text)
{
	return text ? arena_text(&report->texts, text, strlen(text)) : NULL;
}

void report_add_stall(struct report *report, const struct report_stall *stall)
{
	vec_push(&report->stalls, *stall);
}

void report_add_talker(struct report *report, const struct report_talker *talker)
{
	vec_push(&report->talkers, *talker);
}

void report_add_drop(struct report *report, const char *where, const char *reason, uint64_t count)
{
	vec_push(&report->drops, (struct report_drop){.where = report_text(report, where),
						      .reason = report_text(report, reason),
						      .count = count,
						      .rate = NAN});
}

void report_add_point(struct report *report, const struct report_point *point)
{
	vec_push(&report->points, *point);
}

void report_add_oops(struct report *report, const struct report_oops *oops)
{
	vec_push(&report->oopses, *oops);
}

void report_add_mark(struct report *report, uint64_t time_ns, const char *label)
{
	vec_push(&report->marks, (struct report_mark){time_ns, report_text(report, label)});
}

void report_add_unknown(struct report *report, const char *text)
{
	vec_push(&report->unknown, (struct report_text){report_text(report, text)});
}

void report_add_latency(struct report *report, const char *what, uint64_t ns)
{
	struct values *values = NULL;

	vec_each(&report->values, at)
		if (strcmp((*at)->what, what) == 0)
			values = *at;
	if (!values) {
		values = xzalloc(sizeof(*values));
		values->what = report_text(report, what);
		vec_push(&report->values, values);
	}
	values->count++;
	if (values->items.count < VALUES_MAX)
		vec_push(&values->items, ns);
}

/* --- summary --- */

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct list make_hist(struct report *report, const uint64_t *items, size_t count)
{
	struct hist_slot *slots = xzalloc(65 * sizeof(*slots));
	unsigned first = 64, last = 0;

	vec_push(&report->memory, slots);
	for (unsigned i = 0; i < 65; i++)
		slots[i] = hist_log2_slot(i);
	for (size_t i = 0; i < count; i++) {
		unsigned slot = hist_log2_index(items[i]);

		slots[slot].count++;
		first = min_of(first, slot);
		last = max_of(last, slot);
	}
	return (struct list){.items = &slots[first], .count = count ? last - first + 1 : 0};
}

static void make_latency(struct report *report)
{
	vec_each(&report->values, at) {
		struct values *values = *at;
		size_t n = values->items.count;
		const uint64_t *items = values->items.items;

		vec_sort(&values->items, by_number);
		vec_push(&report->latency, (struct report_latency){.what = values->what,
								   .count = values->count,
								   .p50_ns = items[(n - 1) / 2],
								   .p95_ns = items[(n - 1) * 95 / 100],
								   .p99_ns = items[(n - 1) * 99 / 100],
								   .max_ns = items[n - 1],
								   .hist = make_hist(report, items, n)});
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct report_talker *x = a, *y = b;
	uint64_t left = x->tx_bytes + x->rx_bytes, right = y->tx_bytes + y->rx_bytes;

	return left != right ? (left > right ? -1 : 1) : addr_compare(&x->raddr, &y->raddr);
}

static int by_retrans(const void *a, const void *b)
{
	const struct report_talker *x = a, *y = b;

	return x->retrans != y->retrans ? (x->retrans > y->retrans ? -1 : 1) : by_bytes(a, b);
}

static int by_drops(const void *a, const void *b)
{
	const struct report_drop *x = a, *y = b;

	return x->count != y->count ? (x->count > y->count ? -1 : 1) : strcmp(x->reason, y->reason);
}

static int by_begin(const void *a, const void *b)
{
	const struct report_stall *x = a, *y = b;

	return x->begin_ns != y->begin_ns ? (x->begin_ns < y->begin_ns ? -1 : 1) : strcmp(x->module, y->module);
}

#define LIST_OF(vec) ((struct list){.items = (vec).items ?: (void *)"", .count = (uint32_t)(vec).count})

const struct report_record *report_finish(struct report *report)
{
	struct report_record *head = &report->head;
	double seconds;

	head->span_ns = head->end_ns > head->begin_ns ? head->end_ns - head->begin_ns : 0;
	seconds = (double)head->span_ns / NSEC_PER_SEC;
	make_latency(report);
	vec_each(&report->talkers, talker)
		if (talker->retrans != UINT64_MAX && talker->retrans > 0)
			vec_push(&report->retransmits, *talker);
	vec_each(&report->drops, drop)
		drop->rate = seconds > 0 ? (double)drop->count / seconds : NAN;
	vec_sort(&report->stalls, by_begin);
	vec_sort(&report->talkers, by_bytes);
	vec_sort(&report->retransmits, by_retrans);
	vec_sort(&report->drops, by_drops);
	report->talkers.count = min_of(report->talkers.count, (size_t)TALKERS_MAX);
	report->retransmits.count = min_of(report->retransmits.count, (size_t)TALKERS_MAX);
	report->drops.count = min_of(report->drops.count, (size_t)DROPS_MAX);
	head->stalls = LIST_OF(report->stalls);
	head->oopses = LIST_OF(report->oopses);
	head->marks = LIST_OF(report->marks);
	head->talkers = LIST_OF(report->talkers);
	head->retransmits = LIST_OF(report->retransmits);
	head->drops = LIST_OF(report->drops);
	head->latency = LIST_OF(report->latency);
	head->series = LIST_OF(report->points);
	head->unknown = LIST_OF(report->unknown);
	return head;
}

/* --- differences --- */

/* Smaller changes are not listed. */
#define CHANGE_MIN 1.25

static void add_change(struct report *report, const char *what, double before, double after)
{
	struct report_change change = {.what = report_text(report, what), .before = before, .after = after};

	if (isnan(before) && isnan(after))
		return;
	change.ratio = before > 0 && !isnan(after) ? after / before : NAN;
	if (!isnan(change.ratio) && change.ratio < CHANGE_MIN && change.ratio > 1 / CHANGE_MIN)
		return;
	if ((isnan(before) || before == 0) && (isnan(after) || after == 0))
		return;
	vec_push(&report->changes, change);
}

static double mean_of(const struct report *report, size_t offset)
{
	double sum = 0;
	size_t count = 0;

	vec_each(&report->points, point) {
		double value;

		memcpy(&value, (const char *)point + offset, sizeof(value));
		if (isnan(value))
			continue;
		sum += value;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

static const struct report_latency *find_latency(const struct report *report, const char *what)
{
	vec_each(&report->latency, latency)
		if (strcmp(latency->what, what) == 0)
			return latency;
	return NULL;
}

static void compare_latency(struct report *before, struct report *after)
{
	vec_each(&after->latency, now) {
		const struct report_latency *then = find_latency(before, now->what);
		_cleanup_free_ char *middle = xasprintf("%s, p50 ms", now->what),
				    *high = xasprintf("%s, p99 ms", now->what);

		add_change(after, middle, then ? (double)then->p50_ns / 1e6 : NAN, (double)now->p50_ns / 1e6);
		add_change(after, high, then ? (double)then->p99_ns / 1e6 : NAN, (double)now->p99_ns / 1e6);
	}
}

static double drop_rate(const struct report *report, const struct report_drop *like)
{
	vec_each(&report->drops, drop)
		if (strcmp(drop->where, like->where) == 0 && strcmp(drop->reason, like->reason) == 0)
			return drop->rate;
	return 0;
}

static void compare_drops(struct report *before, struct report *after)
{
	vec_each(&after->drops, now) {
		_cleanup_free_ char *what = xasprintf("drops: %s %s, per second", now->where, now->reason);

		add_change(after, what, drop_rate(before, now), now->rate);
	}
	vec_each(&before->drops, then) {
		_cleanup_free_ char *what = xasprintf("drops: %s %s, per second", then->where, then->reason);

		if (drop_rate(after, then) == 0)
			add_change(after, what, then->rate, 0);
	}
}

/* Seconds in which the finding was reported. */
static double stall_seconds(const struct report *report, const char *cause)
{
	double sum = 0;

	vec_each(&report->stalls, stall)
		if (strcmp(stall->cause, cause) == 0)
			sum += (double)stall->span_ns / NSEC_PER_SEC;
	return sum;
}

static void compare_stalls(struct report *before, struct report *after)
{
	const struct report *both[] = {before, after};

	for (unsigned side = 0; side < 2; side++)
		vec_each(&both[side]->stalls, stall) {
			_cleanup_free_ char *what = xasprintf("finding: %s, seconds", stall->cause);
			bool known = false;

			vec_each(&after->changes, change)
				known = known || strcmp(change->what, what) == 0;
			if (!known)
				add_change(after, what, stall_seconds(before, stall->cause),
					   stall_seconds(after, stall->cause));
		}
}

static double change_weight(const struct report_change *change)
{
	return isnan(change->ratio) || change->ratio <= 0 ? INFINITY : fabs(log(change->ratio));
}

static int by_weight(const void *a, const void *b)
{
	double x = change_weight(a), y = change_weight(b);

	return x != y ? (x > y ? -1 : 1)
		      : strcmp(((const struct report_change *)a)->what, ((const struct report_change *)b)->what);
}

struct list report_compare(struct report *before, struct report *after)
{
	static const struct {
		const char *what;
		size_t offset;
	} rates[] = {
		{"sent, bytes per second", offsetof(struct report_point, tx_rate)},
		{"received, bytes per second", offsetof(struct report_point, rx_rate)},
		{"retransmitted segments per second", offsetof(struct report_point, retrans_rate)},
		{"drops per second", offsetof(struct report_point, drop_rate)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		add_change(after, rates[i].what, mean_of(before, rates[i].offset), mean_of(after, rates[i].offset));
	compare_latency(before, after);
	compare_drops(before, after);
	compare_stalls(before, after);
	vec_sort(&after->changes, by_weight);
	return LIST_OF(after->changes);
}
