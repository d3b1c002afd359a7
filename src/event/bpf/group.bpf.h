/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adding an event to a group, as the kernel does it.
 * Nothing here asks the kernel for anything, so that a unit test can run the same lines beside the program's own way of
 * doing it, on random events (tests/unit/test_event_kernel.c).
 */
#pragma once

#include "event/bpf/match.bpf.h"

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

static __always_inline void event_make_key(const volatile struct event_config *config, const char *event, __u64 *key)
{
	/* Without keys there is one group. */
	key[0] = 0;
	for (__u32 i = 0; i < EVENT_KEY_WORDS; i++) {
		if (i >= config->key_words)
			break;
		key[i] = *(const __u64 *)(event + config->key[i].offset) & config->key[i].mask;
	}
}

/*
 * Zeroes what filter, key and figures will look at, which is less than all. Only for programs that never look at a
 * field that they have not set.
 */
static __always_inline void event_clear_used(const volatile struct event_config *config, char *event)
{
	*(__u64 *)(event + (config->value_offset & ~7u)) = 0;
	if (config->by_tree)
		((struct event_head *)event)->pid = 0;
	if (config->by_cgroup)
		((struct event_head *)event)->cgroup_id = 0;
	for (__u32 i = 0; i < EVENT_KEY_WORDS; i++) {
		if (i >= config->key_words)
			break;
		*(__u64 *)(event + config->key[i].offset) = 0;
	}
	for (__u32 i = 0; i < EVENT_ADDS_MAX; i++) {
		if (i >= config->add_count)
			break;
		*(__u64 *)(event + (config->adds[i].offset & ~7u)) = 0;
	}
	for (__u32 i = 0; i < EVENT_TERMS_MAX; i++) {
		__u64 *at = (__u64 *)(event + (config->terms[i].offset & ~7u));

		if (i >= config->term_count)
			break;
		at[0] = 0;
		if (config->terms[i].form >= EVENT_WORDS)
			at[1] = 0;
		if (config->terms[i].form >= EVENT_WORDS &&
		    (config->terms[i].form == EVENT_ADDR || config->terms[i].offset & 7))
			at[2] = 0;
	}
}

/* In which place of a processor's table a key falls. */
static __always_inline __u32 event_key_place(const volatile struct event_config *config, const __u64 *key)
{
	__u64 hash = 0;

	for (__u32 i = 0; i < EVENT_KEY_WORDS; i++) {
		if (i >= config->key_words)
			break;
		hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15ull;
	}
	return (__u32)(hash >> (64 - EVENT_FRONT_BITS));
}

/*
 * The group of this key if the place is its own, or was free; otherwise NULL. Only programs on the same processor come
 * here: one that interrupts another while it writes the key finds the place taken.
 */
static __always_inline struct event_group *event_front_group(const volatile struct event_config *config,
							     struct event_front *front, const __u64 *key)
{
	if (front->state == EVENT_FRONT_FREE &&
	    __sync_val_compare_and_swap(&front->state, EVENT_FRONT_FREE, EVENT_FRONT_TAKEN) == EVENT_FRONT_FREE) {
		front->key[0] = key[0];
		for (__u32 i = 1; i < EVENT_KEY_WORDS; i++) {
			if (i >= config->key_words)
				break;
			front->key[i] = key[i];
		}
		__sync_lock_test_and_set(&front->state, EVENT_FRONT_READY);
	}
	if (*(volatile __u64 *)&front->state != EVENT_FRONT_READY)
		return NULL;
	for (__u32 i = 0; i < EVENT_KEY_WORDS; i++) {
		if (i >= config->key_words)
			break;
		if (front->key[i] != key[i])
			return NULL;
	}
	return (struct event_group *)&front->key[EVENT_KEY_STORED(config)];
}

/* The same two for keys of process, protocol and ports (brief.bpf.h), where nobody comes in between. */
static __always_inline __u32 event_brief_place(const __u64 *key)
{
	__u64 hash = key[0] * 0x9e3779b97f4a7c15ull ^ key[1] * 0xbf58476d1ce4e5b9ull ^ key[2] * 0x94d049bb133111ebull ^
		     key[3] * 0xd6e8feb86659fd93ull;

	return (__u32)(hash >> (64 - EVENT_FRONT_BITS));
}

static __always_inline struct event_group *event_brief_front(struct event_front *front, const __u64 *key)
{
	if (front->state == EVENT_FRONT_FREE) {
		for (int i = 0; i < EVENT_BRIEF_WORDS; i++)
			front->key[i] = key[i];
		front->state = EVENT_FRONT_READY;
	} else if ((front->key[0] ^ key[0]) | (front->key[1] ^ key[1]) | (front->key[2] ^ key[2]) |
		   (front->key[3] ^ key[3])) {
		return NULL;
	}
	return (struct event_group *)&front->key[EVENT_BRIEF_WORDS];
}

/* In one step where others may come in between. */
static __always_inline void event_increase(const volatile struct event_config *config, __u64 *at, __u64 by)
{
	if (config->alone)
		*at += by;
	else
		__sync_fetch_and_add(at, by);
}

/*
 * Makes it at least as large. Whoever changes it in between is on the same processor and has finished, so the second
 * attempt succeeds unless it is interrupted in turn.
 */
static __always_inline void event_raise(const volatile struct event_config *config, __u64 *at, __u64 value)
{
	if (config->alone) {
		if (*at < value)
			*at = value;
		return;
	}
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
			event_increase(config, &group->slots[i], (__u64)value);
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

	event_increase(config, &group->count, 1);
	if (config->mode == EVENT_COUNT)
		return;
	event_increase(config, (__u64 *)&group->sum, (__u64)value);
	event_raise(config, &group->min, EVENT_GROUP_MIN(value));
	event_raise(config, &group->max, EVENT_GROUP_MAX(value));
	if (config->mode == EVENT_SUM)
		return;
	slot = config->mode == EVENT_LOG2 ? event_log2_slot(value) : event_linear_slot(config, value);
	if (slot < EVENT_SLOTS_MAX)
		event_increase(config, &group->slots[slot], 1);
}
