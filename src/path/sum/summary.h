/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many journeys in few numbers: for each direction, and each group that --by tells apart, how they ended, how the time
 * at each stage is spread, and which stage owns the tail. Bounded, whatever comes.
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
	uint64_t hidden[PATH_STAGES]; /* journeys in which the stage could not be seen */
	struct tail tail;
};

struct summary {
	struct row_layout keys;
	VEC(struct field_ref) by; /* where the keys come from */
	struct map index;         /* key -> number of its group */
	VEC(struct summary_group *) groups;
	uint64_t journeys;
	uint64_t ungrouped; /* journeys of groups for which there was no room */
};

/* by may be NULL. -EINVAL with a sentence when there is no such field. */
int summary_init(struct summary *summary, const struct text_list *by, struct why *why) _must_check_;
void summary_done(struct summary *summary);
void summary_add(struct summary *summary, const struct journey *journey);
/* Receiving first, then by time spent. */
void summary_sort(struct summary *summary);

/* The direction of a group, enum packet_dir. */
uint8_t summary_dir(const struct summary_group *group);

/* --- as records --- */

/* One stage of a group, or all of its journeys (stage 0, "total"). */
struct stage_row {
	uint8_t stage;
	uint64_t count;
	double share; /* of the group's time */
	uint64_t sum_ns;
	uint64_t p50_ns, p90_ns, p99_ns, max_ns;
	double tail_share; /* of what the slowest hundredth takes longer */
	bool owner;        /* of the tail */
	struct list hist;
	char spread[3 * SPREAD_OCTAVES + 1]; /* a little histogram for tables */
};

/* How little histograms are drawn. */
struct stage_look {
	bool utf8;
	unsigned columns; /* at most so many, 0: no matter */
};

struct stage_rows {
	VEC(struct stage_row) rows;
	/* Slots of the little histograms, the same in all rows: first to end, before them zero if there was one. */
	unsigned first_octave, end_octave;
	unsigned step; /* so many of them are one column of the little histogram, but for zero */
	bool with_zero;
	VEC(struct hist_slot) slots;
};

/* Seen stages, and those that could not be seen, whose figures are unknown. */
void summary_rows(const struct summary_group *group, const struct stage_look *look, struct stage_rows *ret_rows);
void stage_rows_done(struct stage_rows *rows);
/* The keys, then the figures with the histogram; valid as long as the summary. */
struct shape summary_shape(const struct summary *summary);
/* Tables with headings, one for each group. */
void summary_print(const struct summary *summary, struct out *out);
/* "receive, comm curl": what tells the group from the others. */
void summary_add_title(const struct summary *summary, const struct summary_group *group, struct buf *out);
/* The same with how many journeys there are, and their ends. */
void summary_add_heading(const struct summary *summary, const struct summary_group *group, struct buf *out);
/* "not visible: irq; in some journeys: ip (3)", or nothing. */
void summary_add_unseen(const struct summary_group *group, struct buf *out);
/* "990 delivered, 10 dropped" */
void summary_add_ends(const uint64_t *ends, struct buf *out);
