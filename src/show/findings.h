/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Findings from their beginning to their end, as records: what the diagnosis of each window says, kept when it is over.
 * Also what else the last diagnosis knows: where programs spend their time, what limits connections, what was not seen.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"
#include "show/keeper.h"

enum finding_phase { FINDING_ACTIVE, FINDING_OVER };

/* Beside the finding itself. */
struct finding_span {
	uint8_t phase;
	uint64_t begin_ns;
	uint64_t change_ns; /* when its certainty or sentence last changed */
	uint64_t end_ns;    /* when it was last seen; unknown while it is active */
	uint64_t age_ns;    /* since its beginning, or how long it lasted */
	double peak;        /* the most certain it was */
};

extern const struct record_type finding_span_type;

struct finding_entry {
	struct keeper keeper;
	struct finding_span span;
	struct finding_record finding;
	uint32_t netns;
	unsigned missed; /* windows in a row without it */
};

/* What was not looked at, and why. */
struct unseen {
	const char *what;
	const char *why;
};

struct findings {
	VEC(struct finding_entry *) entries;
	uint64_t dropped; /* old ones that made room */
	uint64_t now_ns;
	unsigned windows;    /* diagnosed so far */
	uint64_t baseline_s; /* past that was known before; 0: none */
	/* Of the last diagnosis. */
	struct keeper keeper;
	struct map modules; /* id -> struct limit_record */
	struct map times;   /* pid -> struct share_record, the largest share that is not idle */
	VEC(struct unseen) unseen;
};

void findings_init(struct findings *findings);
void findings_done(struct findings *findings);
/* Forgets everything: another time of a recording. */
void findings_clear(struct findings *findings);
/* The diagnosis of the next window of a namespace. */
void findings_add(struct findings *findings, const struct diagnosis_record *record);
/* Active ones. */
size_t findings_active(const struct findings *findings);
/* What limited the connection; NULL: not known. */
const struct limit_record *findings_limits(const struct findings *findings, const char *module);
/* What the process spends most of its time on; NULL: not known. */
const struct share_record *findings_time(const struct findings *findings, uint32_t pid);
