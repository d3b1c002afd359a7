/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows findings from one diagnosis to the next: when a stall begins, when the same modules are affected by
 * another culprit, when it is over. Nothing is said in between, and a finding that misses one window has not ended.
 */
#pragma once

#include "diagnose/infer/diagnosis.h"

enum stall_log_event { STALL_LOG_BEGIN, STALL_LOG_CHANGE, STALL_LOG_END };

/* One line of the log; valid during the call. */
struct stall_log_record {
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

extern const struct record_type stall_log_type;

struct stall_log;

struct stall_log *stall_log_new(void (*report)(const struct stall_log_record *record, void *context), void *context);
void stall_log_free(struct stall_log *log);
/* The next diagnosis of a namespace. */
void stall_log_add(struct stall_log *log, const struct diagnosis_record *diagnosis);
/* The namespace is no more: so are its stalls. */
void stall_log_leave(struct stall_log *log, uint32_t netns);
/* Stalls that are going on. */
size_t stall_log_count(const struct stall_log *log);
