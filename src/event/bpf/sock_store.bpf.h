/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-socket storage of an event, freed with the socket:
 *
 *	EVENT_SOCK_STORE(tcp_close, life, struct tcp_life);
 *	life = event_store_get(&tcp_close_life, sk, BPF_SK_STORAGE_GET_F_CREATE);
 *
 * Tracing programs have the kernel's socket storage since 5.11. The build for kernels without it (BPF_BASIC) keeps a
 * hash table instead: every socket has a number, which ends when another socket is made at the same address
 * (sock_number.bpf.c), and the storage is keyed by that number. The least recently used entries make room.
 */
#pragma once

#include "kernel/types.bpf.h"

#include "event/core/config.h"

#ifndef __weak
#define __weak __attribute__((weak))
#endif

/* Initial value of new groups and entries. */
const volatile struct event_group event_no_group __weak = {};

/* An address as a number, for map keys: before 5.11 the verifier refuses keys with pointers that it knows. */
static __always_inline __u64 event_address(const void *pointer)
{
#ifdef BPF_BASIC
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &pointer);
	return address;
#else
	return (__u64)pointer;
#endif
}

#ifdef BPF_BASIC
#define EVENT_SOCKETS_MAX 32768

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, EVENT_SOCKETS_MAX);
	__type(key, __u64);
	__type(value, __u64);
} event_sock_numbers SEC(".maps") __weak;

#define EVENT_STORE_MAP(value_type)                                                                                    \
	__uint(type, BPF_MAP_TYPE_LRU_HASH);                                                                           \
	__uint(max_entries, EVENT_SOCKETS_MAX);                                                                        \
	__type(key, __u64);                                                                                            \
	__type(value, value_type);                                                                                     \
	_Static_assert(sizeof(value_type) <= sizeof(struct event_group), "an entry begins as an empty group")
#define EVENT_STORE_MAP_INHERITED(value_type) EVENT_STORE_MAP(value_type)

/* Of this socket; 0: none. */
static __always_inline __u64 event_sock_number(const void *sk, bool create)
{
	__u64 address = event_address(sk), fresh, *number;

	number = bpf_map_lookup_elem(&event_sock_numbers, &address);
	if (!number && create) {
		/* Unique: on one CPU no two are made at the same time. */
		fresh = bpf_ktime_get_boot_ns() << 8 | (bpf_get_smp_processor_id() & 0xff);
		bpf_map_update_elem(&event_sock_numbers, &address, &fresh, BPF_NOEXIST);
		number = bpf_map_lookup_elem(&event_sock_numbers, &address);
	}
	return number ? *number : 0;
}

static __always_inline void *event_store_get(void *store, void *sk, __u64 flags)
{
	bool create = flags & BPF_SK_STORAGE_GET_F_CREATE;
	__u64 number = sk ? event_sock_number(sk, create) : 0;
	void *entry;

	if (!number)
		return NULL;
	entry = bpf_map_lookup_elem(store, &number);
	if (entry || !create)
		return entry;
	bpf_map_update_elem(store, &number, (const void *)&event_no_group, BPF_NOEXIST);
	return bpf_map_lookup_elem(store, &number);
}
#else
#define EVENT_STORE_MAP_WITH(flags, value_type)                                                                        \
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                                                         \
	__uint(map_flags, BPF_F_NO_PREALLOC | (flags));                                                                \
	__type(key, int);                                                                                              \
	__type(value, value_type)
#define EVENT_STORE_MAP(value_type)           EVENT_STORE_MAP_WITH(0, value_type)
/* Copied to connections from their listener. */
#define EVENT_STORE_MAP_INHERITED(value_type) EVENT_STORE_MAP_WITH(BPF_F_CLONE, value_type)

/* A macro: the helper takes a kernel socket of a tracing program as well as the context of a cgroup program. */
#define event_store_get(store, sk, flags)     bpf_sk_storage_get(store, sk, NULL, flags)
#endif

#define EVENT_SOCK_STORE(event, name, value_type)                                                                      \
	struct {                                                                                                       \
		EVENT_STORE_MAP(value_type);                                                                           \
	} event##_##name SEC(".maps")

/* The cookie of a socket. Before 5.12 tracing programs cannot make one: 0 if nobody has asked for it. */
static __always_inline __u64 event_cookie(struct sock *sk)
{
#ifdef BPF_BASIC
	return (__u64)sk->__sk_common.skc_cookie.counter;
#else
	return bpf_get_socket_cookie(sk);
#endif
}
