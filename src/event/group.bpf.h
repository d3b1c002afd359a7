/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adding an event to a group, as the kernel does it.
 * Nothing here asks the kernel for anything, so that a unit test can run the same lines beside the program's own way of
 * doing it, on random events (tests/unit/test_event_kernel.c).
 */
#pragma once

#include "event/match.bpf.h"

static __always_inline void event_copy_key(char *to, const char *from, __u16 size)
{
	switch (size) {
	case 1:
		*(__u8 *)to = *(const __u8 *)from;
		break;
	case 2:
		*(__u16 *)to = *(const __u16 *)from;
		break;
	case 4:
		*(__u32 *)to = *(const __u32 *)from;
		break;
	case 17:
		*(__u8 *)(to + 16) = *(const __u8 *)(from + 16);
		__attribute__((fallthrough));
	case 16:
		*(__u64 *)(to + 8) = *(const __u64 *)(from + 8);
		__attribute__((fallthrough));
	case 8:
		*(__u64 *)to = *(const __u64 *)from;
		break;
	default:
		break;
	}
}

/* 0 for none, 1 for 1, 2 for 2 and 3, 3 for 4 to 7 ... */
static __always_inline __u32 event_log2_slot(__s64 value)
{
	__u64 rest = value > 0 ? (__u64)value : 0;
	__u32 slot = 0;

	if (rest >> 32) {
		slot += 32;
		rest >>= 32;
	}
	if (rest >> 16) {
		slot += 16;
		rest >>= 16;
	}
	if (rest >> 8) {
		slot += 8;
		rest >>= 8;
	}
	if (rest >> 4) {
		slot += 4;
		rest >>= 4;
	}
	if (rest >> 2) {
		slot += 2;
		rest >>= 2;
	}
	return slot + (__u32)(rest > 1 ? 2 : rest);
}

/* Slot 0 is what lies below, the last what lies above. */
static __always_inline __u32 event_linear_slot(const volatile struct event_config *config, __s64 value)
{
	__u64 slot;

	if (value < config->slot_first)
		return 0;
	slot = (__u64)(value - config->slot_first) / (__u64)config->slot_width + 1;
	return slot > config->slot_count ? config->slot_count + 1 : (__u32)slot;
}

static __always_inline void event_make_key(const volatile struct event_config *config, const char *event, char *key)
{
	for (__u32 i = 0; i < EVENT_KEYS_MAX; i++) {
		if (i >= config->key_count)
			break;
		event_copy_key(key + i * EVENT_KEY_ROOM, event + config->keys[i].offset, config->keys[i].size);
	}
}

/*
 * Makes it at least as large. Whoever changes it in between is on the same processor and has finished, so the second
 * attempt succeeds unless it is interrupted in turn.
 */
static __always_inline void event_raise(__u64 *at, __u64 value)
{
	for (int i = 0; i < 4; i++) {
		__u64 old = *(volatile __u64 *)at;

		if (old >= value || __sync_val_compare_and_swap(at, old, value) == old)
			return;
	}
}

/* Fields besides the first; an unknown one adds nothing. */
static __always_inline void event_group_add_fields(const volatile struct event_config *config,
						   struct event_group *group, const char *event)
{
	for (__u32 i = 0; i < EVENT_ADDS_MAX; i++) {
		__s64 value = 0;

		if (i >= config->add_count)
			break;
		if (event_load(event + config->adds[i].offset, config->adds[i].form, config->adds[i].flags, &value))
			__sync_fetch_and_add(&group->slots[i], value);
	}
}

/*
 * Programs of one event may interrupt each other in the middle of this. What is added is added in one step, and the
 * extremes are kept so that both of them only grow from zero, which is what a group begins with.
 */
static __always_inline void event_group_add(const volatile struct event_config *config, struct event_group *group,
					    __s64 value)
{
	__u32 slot;

	__sync_fetch_and_add(&group->count, 1);
	if (config->mode == EVENT_COUNT)
		return;
	__sync_fetch_and_add(&group->sum, value);
	event_raise(&group->min, EVENT_GROUP_MIN(value));
	event_raise(&group->max, EVENT_GROUP_MAX(value));
	if (config->mode == EVENT_SUM)
		return;
	slot = config->mode == EVENT_LOG2 ? event_log2_slot(value) : event_linear_slot(config, value);
	if (slot < EVENT_SLOTS_MAX)
		__sync_fetch_and_add(&group->slots[slot], 1);
}
