/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The incident report: summary of a recording. It is an ordinary record (type "report", with lists), so JSON, text and
 * HTML come from the same tables.
 */
#pragma once

#include "base/out.h"
#include "store/input.h"

#define REPORT_SCHEMA "nest.report/1"

/* A finding, from its first to its last report. */
struct report_stall {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t span_ns;
	const char *cause;
	const char *module;
	const char *layer;
	double certainty;
	const char *because;
};

/* Connections between a process and a remote host, by service. */
struct report_talker {
	const char *comm;
	const char *way; /* "to" a service of the remote host, "from" a client there */
	struct addr raddr;
	uint16_t port;
	uint32_t connections;
	uint64_t tx_bytes;
	uint64_t rx_bytes;
	uint64_t retrans;
	uint64_t retrans_bytes;
	double retrans_share;
	uint64_t srtt_ns;
	uint64_t min_rtt_ns;
	uint32_t resets;
	uint32_t zero_windows;
};

struct report_drop {
	const char *where;
	const char *reason;
	uint64_t count;
	double rate;
};

struct report_latency {
	const char *what;
	uint64_t count;
	uint64_t p50_ns;
	uint64_t p95_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	struct list hist;
};

/* One second. Rates are unknown where no sample was taken. */
struct report_point {
	uint64_t time_ns;
	double tx_rate;
	double rx_rate;
	double retrans_rate;
	double drop_rate;
	uint64_t srtt_ns;
	uint32_t connections;
};

/* Kernel reports of one signature (nest oops). */
struct report_oops {
	const char *signature;
	uint64_t count;
	uint64_t begin_ns;
	uint64_t end_ns;
	const char *kind;
	const char *what;
	const char *function;
	const char *module;
	const char *layer;
};

struct report_mark {
	uint64_t time_ns;
	const char *label;
};

/* One figure in two reports. */
struct report_change {
	const char *what;
	double before;
	double after;
	double ratio;
};

struct report_record {
	const char *schema;
	const char *file;
	const char *host;
	const char *kernel;
	const char *command;
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t span_ns;
	uint64_t samples;
	uint64_t lost;
	struct list stalls;
	struct list oopses; /* most frequent first */
	struct list marks;
	struct list talkers;     /* most bytes first */
	struct list retransmits; /* of these, most retransmissions first */
	struct list drops;
	struct list latency;
	struct list series;
	struct list unknown; /* text: limits of the report */
};

struct report_text {
	const char *text;
};

extern const struct record_type report_type, report_stall_type, report_talker_type, report_drop_type,
	report_latency_type, report_point_type, report_mark_type, report_change_type, report_text_type,
	report_oops_type;

struct report;

/* A report under construction: add to it, then take the record from report_finish. */
struct report *report_new(void);
void report_free(struct report *report);
static inline void report_freep(struct report **report)
{
	report_free(*report);
}

/* A copy of the text, owned by the report. */
const char *report_text(struct report *report, const char *text);
void report_add_stall(struct report *report, const struct report_stall *stall);
void report_add_talker(struct report *report, const struct report_talker *talker);
void report_add_drop(struct report *report, const char *where, const char *reason, uint64_t count);
void report_add_point(struct report *report, const struct report_point *point);
void report_add_oops(struct report *report, const struct report_oops *oops);
void report_add_mark(struct report *report, uint64_t time_ns, const char *label);
void report_add_unknown(struct report *report, const char *text);
/* Adds one value to a latency distribution. */
void report_add_latency(struct report *report, const char *what, uint64_t ns);
/* The head, filled in by the caller before report_finish. */
struct report_record *report_head(struct report *report);
/* Sorts, sums, and builds the lists. */
const struct report_record *report_finish(struct report *report);

/* From a recording. */
int report_make(struct recording *recording, const struct time_range *range, struct report **ret_report,
		struct why *why) _must_check_;

/* Differences, the largest first; the list's items belong to the second report. */
struct list report_compare(struct report *before, struct report *after);

/* 2026-11-15 02:13:00, local time */
void report_add_date(struct buf *out, uint64_t ns);
void report_print(const struct report_record *report, const struct list *changes, struct out *out);
/* A self-contained HTML page. */
void report_print_html(const struct report_record *report, const struct list *changes, struct out *out);
