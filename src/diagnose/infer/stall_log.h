/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows findings from one diagnosis to the next: when a stall begins, when the same sufferers have another culprit, when it
 * is over. Nothing is said in between, and a finding that misses one window has not ended.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"

enum follow_event { FOLLOW_BEGIN, FOLLOW_CHANGE, FOLLOW_END };

/* What is told; valid during the call. */
struct follow_record {
	uint64_t time_ns; /* of an end: when it was last seen */
	uint8_t event;
	const char *cause;
	const char *module;
	double certainty; /* of an end: the most it was */
	uint64_t span_ns; /* how long it has lasted; unknown at the begin */
	const char *was;  /* of a change: the cause before */
	const char *because;
	uint64_t netns;
	const char *netns_name;
};

extern const struct record_type follow_type;

struct follow;

struct follow *follow_new(void (*tell)(const struct follow_record *record, void *context), void *context);
void follow_free(struct follow *follow);
/* The next diagnosis of a namespace. */
void follow_diagnosis(struct follow *follow, const struct diagnosis_record *diagnosis);
/* The namespace is no more: so are its stalls. */
void follow_leave(struct follow *follow, uint32_t netns);
/* Stalls that are going on. */
size_t follow_count(const struct follow *follow);
