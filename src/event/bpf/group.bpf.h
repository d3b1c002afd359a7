/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Adds an event to a group, in the kernel. Uses no helpers, so that a unit test can compare it with the user-space
 * version on random events (tests/unit/test_event_kernel.c).
 */
#pragma once

#include "event/bpf/basic.bpf.h"
#include "event/bpf/match.bpf.h"

/* 0 for 0, 1 for 1, 2 for 2 to 3, 3 for 4 to 7 ... */
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

/* Slot 0 is underflow, the last one overflow. */
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

/* Zeroes only what filter, key and figures read. For programs that never read a field that they have not set. */
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

/* Slot of a key in the front table. */
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
 * Group of this key if the slot is its own or was free; otherwise NULL. Only programs on the same CPU come here: one
 * that interrupts another while it writes the key finds the slot taken.
 */
static __always_inline struct event_group *event_front_group(const volatile struct event_config *config,
							     struct event_front *front, const __u64 *key)
{
	if (front->state == EVENT_FRONT_FREE &&
	    basic_swap_if(&front->state, EVENT_FRONT_FREE, EVENT_FRONT_TAKEN) == EVENT_FRONT_FREE) {
		front->key[0] = key[0];
		for (__u32 i = 1; i < EVENT_KEY_WORDS; i++) {
			if (i >= config->key_words)
				break;
			front->key[i] = key[i];
		}
		basic_swap(&front->state, EVENT_FRONT_READY);
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

/* The same two for brief keys (brief.bpf.h), without concurrency. */
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

/* Atomic unless the program is alone. */
static __always_inline void event_increase(const volatile struct event_config *config, __u64 *at, __u64 by)
{
	if (config->alone)
		*at += by;
	else
		__sync_fetch_and_add(at, by);
}

/*
 * Atomic maximum. A concurrent change comes from the same CPU and is complete, so the second attempt succeeds unless it
 * is interrupted in turn.
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

		if (old >= value || basic_swap_if(at, old, value) == old)
			return;
	}
}

/* Additional fields; an unknown one adds nothing. */
static __always_inline void event_group_add_fields(const volatile struct event_config *config,
						   struct event_group *group, const char *event)
{
	for (__u32 i = 0; i < EVENT_ADDS_MAX; i++) {
		__s64 value = 0;

		if (i >= config->add_count)
			break;
		if (event_load(event + config->adds[i].offset, config->adds[i].form, config->adds[i].flags, &value))
			event_increase(config, &group->slots[EVENT_ADD_SLOT(config->mode, i)], (__u64)value);
	}
}

/*
 * Programs of one event may interrupt each other here. Additions are atomic, and the encoded extremes only grow from 0,
 * the initial value of a group.
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
