/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Aggregation by process, protocol and ports alone, the usual case for frequent events (config.brief). The key is built
 * directly instead of through an event, which halves the instructions executed.
 */
#pragma once

#include "event/bpf/event.bpf.h"

/* Masked where a word has other fields. Always four words, even if some are empty. */
static __always_inline void event_make_brief_key(const volatile struct event_config *config, struct sock *sk,
						 __u64 *key)
{
	key[0] = key[1] = key[2] = key[3] = 0;
	if (config->needs & (EVENT_NEED_OWNER | EVENT_NEED_COMM)) {
		const struct task_struct *task = bpf_get_current_task_btf();

		if (config->needs & EVENT_NEED_OWNER) {
			key[0] = (__u64)(__u32)task->tgid << 32;
			key[1] = (__u64)(__u32)task->pid << 32;
		}
		if (config->needs & EVENT_NEED_COMM) {
			key[2] = event_comm_words(task)[0];
			key[3] = event_comm_words(task)[1];
		}
	}
	if (config->key[0].mask & 0xffffffff)
		event_pack_local(sk, &key[0]);
	if (config->key[1].mask & 0xffffffff)
		event_pack_remote(sk, &key[1]);
	key[0] &= config->key[0].mask;
	key[1] &= config->key[1].mask;
}

static __always_inline struct event_group *event_find_brief_front(void *fronts, const __u64 *key)
{
	__u32 zero = 0, place = event_brief_place(key);
	void *map = bpf_map_lookup_elem(fronts, &zero), *front;

	if (!map)
		return NULL;
	front = bpf_map_lookup_elem(map, &place);
	return front ? event_brief_front(front, key) : NULL;
}

/* Defines x_add_briefly for an event with .adds_briefly; use only if x_config.brief is set. */
#define EVENT_ADDS_BRIEFLY(name)                                                                                       \
	static __always_inline int name##_add_briefly(struct sock *sk, __s64 value)                                    \
	{                                                                                                              \
		struct event_group *group;                                                                             \
		__u64 key[EVENT_BRIEF_WORDS];                                                                          \
		event_make_brief_key(&name##_config, sk, key);                                                         \
		group = event_find_brief_front(&name##_fronts, key);                                                   \
		if (!group)                                                                                            \
			group = event_find_group(&name##_groups, key, &name##_losses);                                 \
		if (group)                                                                                             \
			event_group_add(&name##_config, group, value);                                                 \
		else                                                                                                   \
			__sync_fetch_and_add(&name##_losses.groups, 1);                                                \
		return 0;                                                                                              \
	}
