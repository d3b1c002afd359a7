/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owners of flows, for received packets without a socket yet: saved from what the flow's socket sends.
 * FLOW_OWNERS(tcp_packet) defines the map tcp_packet_owners and two functions on an event's endpoints:
 * tcp_packet_note_owner at transmit, tcp_packet_recall_owner at receive.
 */
#pragma once

#include "event/bpf/event.bpf.h"

struct flow_key {
	struct addr laddr;
	struct addr raddr;
	__u8 proto;
	__u8 unused;
	__u16 lport;
	__u16 rport;
	__u32 netns;
};

struct flow_owner {
	struct sock_owner owner;
	__u64 cookie;
	__u64 sk;
};

static __always_inline void flow_set_key(struct flow_key *key, const struct event_head *head)
{
	__builtin_memset(key, 0, sizeof(*key));
	key->laddr = head->laddr;
	key->raddr = head->raddr;
	key->proto = head->proto;
	key->lport = head->lport;
	key->rport = head->rport;
	key->netns = head->netns;
}

static __always_inline void flow_note_owner(void *owners, const struct flow_key *key, struct sock *sk)
{
	struct sock_owner *owner = event_store_get(&event_owners, sk, 0);
	struct flow_owner *known, now = {};

	if (!owner)
		return;
	/* An update costs several times a lookup, and usually nothing has changed. */
	known = bpf_map_lookup_elem(owners, key);
	if (known && known->sk == event_address(sk) && known->owner.pid_tgid == owner->pid_tgid)
		return;
	now.owner = *owner;
	now.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	now.sk = event_address(sk);
	bpf_map_update_elem(owners, key, &now, BPF_ANY);
}

/* Returns the address of the socket, which may be freed by now. */
static __always_inline struct sock *flow_recall_owner(void *owners, const struct flow_key *key, struct event_head *head)
{
	struct flow_owner *known = bpf_map_lookup_elem(owners, key);

	if (!known)
		return NULL;
	head->pid = known->owner.pid_tgid >> 32;
	head->tid = (__u32)known->owner.pid_tgid;
	head->uid = known->owner.uid;
	head->cgroup_id = known->owner.cgroup_id;
	head->cookie = known->cookie;
	__builtin_memcpy(head->comm, known->owner.comm, sizeof(head->comm));
	return (struct sock *)known->sk;
}

#define FLOW_OWNER_NEEDS (EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_CGROUP | EVENT_NEED_COOKIE)

#define FLOW_OWNERS(event)                                                                                             \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_LRU_HASH);                                                                   \
		__uint(max_entries, 65536);                                                                            \
		__type(key, struct flow_key);                                                                          \
		__type(value, struct flow_owner);                                                                      \
	} event##_owners SEC(".maps");                                                                                 \
	static __always_inline __maybe_unused void event##_note_owner(const struct event_head *head, struct sock *sk)  \
	{                                                                                                              \
		struct flow_key key;                                                                                   \
		if (!(event##_config.needs & FLOW_OWNER_NEEDS))                                                        \
			return;                                                                                        \
		flow_set_key(&key, head);                                                                              \
		flow_note_owner(&event##_owners, &key, sk);                                                            \
	}                                                                                                              \
	static __always_inline __maybe_unused void event##_recall_owner(struct event_head *head)                       \
	{                                                                                                              \
		struct flow_key key;                                                                                   \
		if (!(event##_config.needs & FLOW_OWNER_NEEDS))                                                        \
			return;                                                                                        \
		flow_set_key(&key, head);                                                                              \
		flow_recall_owner(&event##_owners, &key, head);                                                        \
	}
