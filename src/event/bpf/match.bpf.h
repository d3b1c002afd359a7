/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates the filter of an event in the kernel. Uses no helpers, so that a unit test can compare it with the
 * user-space version on random events (tests/unit/test_event_kernel.c).
 */
#pragma once

#include "event/core/config.h"
#include "event/core/head.h"

/* Reads a number of the event; false if unknown. */
static __always_inline bool event_load(const char *at, __u8 form, __u8 flags, __s64 *value)
{
	__u64 raw, ones;

	switch (form) {
	case EVENT_U8:
		raw = *(const __u8 *)at;
		ones = 0xff;
		break;
	case EVENT_U16:
		raw = *(const __u16 *)at;
		ones = 0xffff;
		break;
	case EVENT_U32:
		raw = *(const __u32 *)at;
		ones = EVENT_UNKNOWN32;
		break;
	case EVENT_U64:
		raw = *(const __u64 *)at;
		ones = EVENT_UNKNOWN64;
		break;
	case EVENT_I32:
		raw = (__u64)(__s64) * (const __s32 *)at;
		ones = (__u64)(__s64)(-2147483647 - 1);
		break;
	case EVENT_I64:
		raw = *(const __u64 *)at;
		ones = 1ull << 63;
		break;
	default:
		return false;
	}
	*value = (__s64)raw;
	return !(raw == 0 && flags & EVENT_ZERO_UNKNOWN) && (raw != ones || flags & EVENT_ONES_KNOWN);
}

static __always_inline bool event_number_holds(const volatile struct event_term *term, const char *at)
{
	/* Signed numbers are biased, so that all compare as unsigned. */
	__u64 sign = term->form == EVENT_I32 || term->form == EVENT_I64 ? 1ull << 63 : 0;
	__u64 limit = term->value[0] ^ sign, value;
	__s64 loaded = 0;

	if (!event_load(at, term->form, term->flags, &loaded))
		return term->op == EVENT_UNKNOWN;
	value = (__u64)loaded ^ sign;
	switch (term->op) {
	case EVENT_EQ:
		return value == limit;
	case EVENT_NE:
		return value != limit;
	case EVENT_LT:
		return value < limit;
	case EVENT_LE:
		return value <= limit;
	case EVENT_GT:
		return value > limit;
	case EVENT_GE:
		return value >= limit;
	case EVENT_ALL_BITS:
		return (value & limit) == limit;
	default:
		return term->op == EVENT_KNOWN;
	}
}

static __always_inline bool event_words_hold(const volatile struct event_term *term, const char *at)
{
	const __u64 *words = (const __u64 *)at;
	bool same = ((words[0] ^ term->value[0]) & term->mask[0]) == 0 &&
		    ((words[1] ^ term->value[1]) & term->mask[1]) == 0;

	if (term->form == EVENT_ADDR) {
		__u8 family = *(const __u8 *)(at + 16);

		if (family == 0)
			return term->op == EVENT_UNKNOWN;
		same = same && family == term->family;
	} else if (*at == 0) {
		return term->op == EVENT_UNKNOWN;
	}
	if (term->op >= EVENT_KNOWN)
		return term->op == EVENT_KNOWN;
	return same == (term->op == EVENT_EQ);
}

static __always_inline bool event_matches(const volatile struct event_config *config, const char *event)
{
	bool holds = true;
	__u8 clause = 255;

	for (__u32 i = 0; i < EVENT_TERMS_MAX; i++) {
		const volatile struct event_term *term = &config->terms[i];

		if (i >= config->term_count)
			break;
		if (term->clause != clause) {
			if (!holds)
				return false;
			holds = false;
			clause = term->clause;
		}
		if (holds)
			continue;
		if (term->form >= EVENT_WORDS)
			holds = event_words_hold(term, event + term->offset);
		else
			holds = event_number_holds(term, event + term->offset);
	}
	return holds;
}
