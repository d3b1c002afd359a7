/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Aggregated journeys: per direction and --by group, how they ended, the distribution of each stage, and the stage that
 * causes the tail. Memory is bounded.
 */
#pragma once

#include "base/option.h"
#include "base/out.h"
#include "path/sum/spread.h"
#include "path/sum/tail.h"
#include "tool/core/row.h"

#define SUMMARY_GROUPS_MAX 256

struct summary_group {
	void *key; /* a row of the summary's layout; direction first */
	uint64_t ends[PATH_UNFINISHED + 1];
	struct spread total;
	struct spread stages[PATH_STAGES];
	uint64_t hidden[PATH_STAGES]; /* journeys in which the stage was not traced */
	struct tail tail;
};

struct summary {
	struct row_layout keys;
	VEC(struct field_ref) by; /* source fields of the keys */
	struct map index;         /* key -> number of its group */
	VEC(struct summary_group *) groups;
	uint64_t journeys;
	uint64_t ungrouped; /* journeys of groups beyond the limit */
};

/* by may be NULL. -EINVAL with a reason when a field is unknown. */
int summary_init(struct summary *summary, const struct text_list *by, struct why *why) _must_check_;
void summary_done(struct summary *summary);
void summary_add(struct summary *summary, const struct journey *journey);
/* Receive first, then by total time. */
void summary_sort(struct summary *summary);

/* The direction of a group, enum packet_dir. */
uint8_t summary_dir(const struct summary_group *group);

/* --- as records --- */

/* A stage of a group, or all of its journeys (stage 0, "total"). */
struct stage_row {
	uint8_t stage;
	uint64_t count;
	double share; /* of the group's time */
	uint64_t sum_ns;
	uint64_t p50_ns, p90_ns, p99_ns, max_ns;
	double tail_share; /* of the difference between the slowest 1 % and the fastest half */
	bool owner;        /* largest part of the tail */
	struct list hist;
	char spread[3 * SPREAD_OCTAVES + 1]; /* inline histogram for tables */
};

extern const struct record_type stage_row_type;

/* Inline histogram style. */
struct stage_look {
	bool utf8;
	unsigned columns; /* maximum width; 0: unlimited */
};

struct stage_rows {
	VEC(struct stage_row) rows;
	/* Slots of the inline histograms, common to all rows: first to end, with zero in front if present. */
	unsigned first_octave, end_octave;
	unsigned step; /* octaves per column, except for zero */
	bool with_zero;
	VEC(struct hist_slot) slots;
};

/* Traced stages, and untraced ones with unknown figures. */
void summary_rows(const struct summary_group *group, const struct stage_look *look, struct stage_rows *ret_rows);
void stage_rows_done(struct stage_rows *rows);
/* The keys, then the figures with the histogram; valid for the lifetime of the summary. */
struct shape summary_shape(const struct summary *summary);
/* One table with a heading per group. */
void summary_print(const struct summary *summary, struct out *out);
/* "receive, comm curl": the group's keys. */
void summary_add_title(const struct summary *summary, const struct summary_group *group, struct buf *out);
/* The same with the number of journeys and their ends. */
void summary_add_heading(const struct summary *summary, const struct summary_group *group, struct buf *out);
/* "not visible: irq; in some journeys: ip (3)", or empty. */
void summary_add_unseen(const struct summary_group *group, struct buf *out);
/* "990 delivered, 10 dropped" */
void summary_add_ends(const uint64_t *ends, struct buf *out);
