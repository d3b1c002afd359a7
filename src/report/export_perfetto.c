/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace-event JSON: findings as slices on a track of the host, the figures of every second as counters, events as
 * instants (slices when they have a duration) on the tracks of their processes.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "event/core/event.h"
#include "report/export.h"
#include "report/report.h"
#include "view/json.h"

/* The host's own track; no process has this number. */
#define HOST_PID 0

struct tracing {
	struct out *out;
	bool any;
};

static struct buf *begin_event(struct tracing *tracing, const char *name, char phase, uint64_t ns, uint32_t pid)
{
	struct buf *line = &tracing->out->pending;

	buf_add_text(line, tracing->any ? ",\n" : "\n");
	tracing->any = true;
	buf_add_text(line, "{\"name\":\"");
	text_add_json(line, name, strlen(name));
	/* Microseconds, with nanoseconds as decimals. */
	buf_add_format(line, "\",\"ph\":\"%c\",\"ts\":%" PRIu64 ".%03" PRIu64 ",\"pid\":%u", phase, ns / 1000,
		       ns % 1000, pid);
	return line;
}

static void end_event(struct tracing *tracing)
{
	buf_add_char(&tracing->out->pending, '}');
	/* A newline is no record boundary here; flush long buffers in pieces. */
	if (tracing->out->pending.len > (64 << 10))
		(void)out_flush(tracing->out);
}

static void add_stall(struct tracing *tracing, const struct report_stall *stall, unsigned track)
{
	struct buf *line = begin_event(tracing, stall->cause, 'X', stall->begin_ns, HOST_PID);

	buf_add_format(line, ",\"tid\":%u,\"dur\":%" PRIu64 ",\"cat\":\"finding\",\"args\":{\"module\":\"", track,
		       stall->span_ns / 1000);
	text_add_json(line, stall->module, strlen(stall->module));
	buf_add_format(line, "\",\"certainty\":%.3f,\"because\":\"", stall->certainty);
	text_add_json(line, stall->because ?: "", strlen(stall->because ?: ""));
	buf_add_text(line, "\"}");
	end_event(tracing);
}

static void add_counter(struct tracing *tracing, const char *name, uint64_t ns, double value)
{
	struct buf *line;

	if (isnan(value))
		return;
	line = begin_event(tracing, name, 'C', ns, HOST_PID);
	buf_add_format(line, ",\"args\":{\"value\":%.3f}", value);
	end_event(tracing);
}

static int add_report(struct tracing *tracing, const struct export_request *request, struct why *why)
{
	_cleanup_(report_freep) struct report *report = NULL;
	const struct report_record *record;
	const struct report_stall *stalls;
	const struct report_point *points;
	struct buf *line;
	int r = report_make(request->recording, &request->range, &report, why);

	if (r < 0)
		return r;
	record = report_head(report);
	stalls = record->stalls.items;
	points = record->series.items;
	line = begin_event(tracing, "process_name", 'M', 0, HOST_PID);
	buf_add_text(line, ",\"args\":{\"name\":\"");
	text_add_json(line, record->host ?: "host", strlen(record->host ?: "host"));
	buf_add_text(line, "\"}");
	end_event(tracing);
	/* One track per finding: slices of one track must not overlap. */
	for (uint32_t i = 0; i < record->stalls.count; i++)
		add_stall(tracing, &stalls[i], i + 1);
	for (uint32_t i = 0; i < record->series.count; i++) {
		add_counter(tracing, "sent B/s", points[i].time_ns, points[i].tx_rate);
		add_counter(tracing, "received B/s", points[i].time_ns, points[i].rx_rate);
		add_counter(tracing, "retransmits/s", points[i].time_ns, points[i].retrans_rate);
		add_counter(tracing, "drops/s", points[i].time_ns, points[i].drop_rate);
		add_counter(tracing, "SRTT ms", points[i].time_ns,
			    points[i].srtt_ns == UINT64_MAX ? NAN : (double)points[i].srtt_ns / 1e6);
	}
	return 0;
}

static uint64_t latency_of(const struct shape *shape, const struct record *record)
{
	struct field_ref ref;
	struct value value;

	if (shape_find(shape, "lat_ns", &ref) < 0)
		return 0;
	value = record_get(record, ref);
	return value.class == VALUE_UINT ? value.uint : 0;
}

static int add_event(void *context, const char *event, const struct shape *shape, const struct record *record)
{
	struct tracing *tracing = context;
	const struct event_head *head = record->parts[EVENT_PART_HEAD];
	uint64_t lat_ns = latency_of(shape, record);
	struct field_ref at = {};
	bool comma = false;
	struct buf *line;

	lat_ns = min_of(lat_ns, head->time_ns);
	line = begin_event(tracing, event, lat_ns ? 'X' : 'i', head->time_ns - lat_ns, head->pid);
	buf_add_format(line, ",\"tid\":%u,\"cat\":\"event\"", head->tid ?: head->pid);
	if (lat_ns)
		buf_add_format(line, ",\"dur\":%" PRIu64 ".%03" PRIu64, lat_ns / 1000, lat_ns % 1000);
	else
		buf_add_text(line, ",\"s\":\"t\"");
	buf_add_text(line, ",\"args\":{");
	while (shape_next(shape, &at)) {
		struct value value = record_get(record, at);

		if (value.class == VALUE_UNKNOWN)
			continue;
		buf_add_format(line, "%s\"%s\":", comma ? "," : "", at.field->name);
		json_add_value(line, at.field, &value);
		comma = true;
	}
	buf_add_char(line, '}');
	end_event(tracing);
	return tracing->out->error;
}

int export_perfetto(const struct export_request *request, struct out *out, struct why *why)
{
	struct tracing tracing = {.out = out};
	int r;

	buf_add_text(&out->pending, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	r = add_report(&tracing, request, why);
	if (r == 0)
		r = export_each_event(request, add_event, &tracing, why);
	buf_add_text(&out->pending, "\n]}");
	out_end_line(out);
	return r;
}
