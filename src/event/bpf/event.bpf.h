/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The BPF side of events. A family file declares its events and fills them:
 *
 *	EVENT(tcp_reset, struct tcp_reset_event)
 *
 *	SEC("tp_btf/tcp_receive_reset")
 *	int BPF_PROG(tcp_reset_received, struct sock *sk)
 *	{
 *		struct tcp_reset_event *e = tcp_reset_begin();
 *
 *		if (!e)
 *			return 0;
 *		event_set_sock(&tcp_reset_config, &e->head, sk);
 *		e->data.received = 1;
 *		return tcp_reset_end(ctx, e);
 *	}
 *
 * begin returns a zeroed event with time and CPU, or NULL (counted as lost); end filters, then aggregates or sends.
 * Every begin needs an end, or a cancel, which reports nothing. Filter, keys and needed fields are read-only data
 * (config.h): the verifier removes the code that a run does not need.
 *
 * A file whose events are frequent, and whose programs never read what they have not set, defines EVENT_IS_FREQUENT
 * before including this one: aggregation is inlined, only what it reads is zeroed, and the process is read from its
 * task.
 */
#pragma once

#include "kernel/types.bpf.h"

#include "event/bpf/group.bpf.h"
#include "event/bpf/sock_store.bpf.h"

#ifndef __maybe_unused
#define __maybe_unused __attribute__((unused))
#endif

char LICENSE[] SEC("license") = "GPL";

/* One ring buffer for all events of a run keeps their order. User space sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} event_ring SEC(".maps") __weak;

/* Set while user space polls the buffer: waking it for each event would cost more than the event. */
__u32 event_reader_awake __weak;

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC, kept up to date by user space. */
__u64 event_boot_offset_ns __weak;

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16384);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} event_stacks SEC(".maps") __weak;

/* Owner of a socket: recorded in process context (sock_owner.bpf.c), inherited by connections from listeners. */
struct sock_owner {
	__u64 pid_tgid;
	__u64 cgroup_id;
	__u32 uid;
	__u32 of_listener; /* of a listener, or inherited: the connection is not used yet */
	char comm[EVENT_COMM_LEN];
};

struct {
	EVENT_STORE_MAP_INHERITED(struct sock_owner);
} event_owners SEC(".maps") __weak;

/* Followed processes (process_tree.bpf.c). They stay after their exit: their connections may live longer. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u8);
} event_tree SEC(".maps") __weak;

/* Processes and cgroups that could not be followed: the map was full. */
__u64 event_unfollowed __weak;

/* Followed cgroups (cgroup_tree.bpf.c), by id. Sockets may outlive the cgroup of their owner. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} event_cgroups SEC(".maps") __weak;

/* Stack ids: not taken yet, and none. */
#define EVENT_STACK_OPEN -1
#define EVENT_STACK_NONE -2

struct event_room {
	__u64 taken;
};

#define EVENT(name, event_type)                                                                                        \
	const volatile struct event_config name##_config = {};                                                         \
	struct event_losses name##_losses = {};                                                                        \
	struct name##_room {                                                                                           \
		struct event_room room;                                                                                \
		event_type event;                                                                                      \
	};                                                                                                             \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                               \
		__uint(max_entries, EVENT_ROOMS);                                                                      \
		__type(key, __u32);                                                                                    \
		__type(value, struct name##_room);                                                                     \
	} name##_rooms SEC(".maps");                                                                                   \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);                                                              \
		__uint(max_entries, 1);                                                                                \
		__uint(key_size, sizeof(__u32));                                                                       \
		__uint(value_size, sizeof(__u32));                                                                     \
	} name##_groups SEC(".maps"), name##_fronts SEC(".maps");                                                      \
	/* Without time and CPU: event_init must follow. */                                                            \
	static __always_inline event_type *name##_begin_early(void)                                                    \
	{                                                                                                              \
		struct name##_room *r = event_take_room(&name##_config, &name##_rooms, &name##_losses);                \
		if (!r)                                                                                                \
			return NULL;                                                                                   \
		event_clear(&name##_config, &r->event, sizeof(r->event));                                              \
		return &r->event;                                                                                      \
	}                                                                                                              \
	static __always_inline __maybe_unused event_type *name##_begin(void)                                           \
	{                                                                                                              \
		event_type *e = name##_begin_early();                                                                  \
		if (e)                                                                                                 \
			event_init(&name##_config, &e->head);                                                          \
		return e;                                                                                              \
	}                                                                                                              \
	static __always_inline __maybe_unused void name##_cancel(event_type *e)                                        \
	{                                                                                                              \
		struct name##_room *r = (void *)((char *)e - offsetof(struct name##_room, event));                     \
		r->room.taken = 0;                                                                                     \
	}                                                                                                              \
	static __always_inline int name##_end(void *ctx, event_type *e)                                                \
	{                                                                                                              \
		struct name##_room *r = (void *)((char *)e - offsetof(struct name##_room, event));                     \
		event_set_stacks(&name##_config, ctx, &e->head);                                                       \
		if (event_passes(&name##_config, (const char *)e)) {                                                   \
			if (name##_config.mode == EVENT_STREAM)                                                        \
				event_send(e, sizeof(*e), &name##_losses);                                             \
			else                                                                                           \
				event_add(&name##_config, &name##_fronts, &name##_groups, (const char *)e,             \
					  &name##_losses);                                                             \
		}                                                                                                      \
		r->room.taken = 0;                                                                                     \
		return 0;                                                                                              \
	}

#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

/* --- building ----------------------------------------------------------------------------------------------------- */

/*
 * A program can be interrupted by another, or by itself in a softirq, and preempted on some kernels; the second one
 * must not write into the first one's event.
 */
static __always_inline void *event_take_room(const volatile struct event_config *config, void *rooms,
					     struct event_losses *losses)
{
#ifdef EVENT_IS_FREQUENT
	__u32 only = 0;

	if (config->alone)
		return bpf_map_lookup_elem(rooms, &only);
#endif
	for (__u32 i = 0; i < EVENT_ROOMS; i++) {
		__u32 index = i;
		__u64 *taken = bpf_map_lookup_elem(rooms, &index);

		if (!taken)
			return NULL;
		if (basic_swap(taken, 1) == 0)
			return taken;
	}
	__sync_fetch_and_add(&losses->rooms, 1);
	return NULL;
}

/* Saves the start of something until its end. A full or locked map refuses, and the event is lost. */
static __always_inline __maybe_unused void event_remember(void *map, const void *key, const void *value,
							  struct event_losses *losses)
{
	if (bpf_map_update_elem(map, key, value, BPF_ANY) < 0)
		__sync_fetch_and_add(&losses->memory, 1);
}

/* The same in socket storage (EVENT_SOCK_STORE), created if missing; NULL is counted as lost. */
static __always_inline __maybe_unused void *event_remember_sock(void *store, struct sock *sk,
								struct event_losses *losses)
{
	void *memory = event_store_get(store, sk, BPF_SK_STORAGE_GET_F_CREATE);

	if (!memory)
		__sync_fetch_and_add(&losses->memory, 1);
	return memory;
}

/*
 * Calls long function(__u32 index, context) until it returns 1: at most count times, and no more than the constant max;
 * EVENT_LOOP_FEW without callbacks, since the verifier then follows every turn. Returns the number of calls.
 */
#define EVENT_LOOP_FEW 8
#define EVENT_LOOP(count, max, function, context)                                                                      \
	({                                                                                                             \
		__u32 count_ = (count) < (max) ? (count) : (max), turns_ = 0;                                          \
		EVENT_IF_CALLBACKS(turns_ = (__u32)bpf_loop(count_, function, context, 0))                             \
		while (turns_ < EVENT_LOOP_FEW && turns_ < count_)                                                     \
			if ((function)(turns_++, context))                                                             \
				break;                                                                                 \
		turns_;                                                                                                \
	})
/* Since 5.17. Before 5.13 the verifier refuses callbacks even where it never gets to them. */
#ifdef BPF_BASIC
#define EVENT_IF_CALLBACKS(call)
#else
#define EVENT_IF_CALLBACKS(call)                                                                                       \
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_loop))                                               \
		call;                                                                                                  \
	else
#endif

static __always_inline void event_clear(const volatile struct event_config *config, void *event, __u64 size)
{
#ifdef EVENT_IS_FREQUENT
	if (config->mode != EVENT_STREAM) {
		event_clear_used(config, event);
		return;
	}
#endif
	/* Otherwise the compiler copies byte by byte. */
	__builtin_memset(__builtin_assume_aligned(event, 8), 0, size);
}

static __always_inline void event_init(const volatile struct event_config *config, struct event_head *head)
{
	head->event = config->id;
	head->cpu = bpf_get_smp_processor_id();
	head->uid = EVENT_UNKNOWN32;
	head->kstack_id = EVENT_STACK_OPEN;
	head->ustack_id = EVENT_STACK_OPEN;
	if (config->needs & EVENT_NEED_TIME)
		head->time_ns = bpf_ktime_get_boot_ns();
}

/*
 * cgroup programs may not take stacks: their files define EVENT_WITHOUT_STACKS before including this one. Files whose
 * events carry the kernel stack (frames_at) define EVENT_BRINGS_STACK.
 */
static __always_inline void event_set_stacks(const volatile struct event_config *config, void *ctx,
					     struct event_head *head)
{
#ifndef EVENT_WITHOUT_STACKS
	/* For an event reported elsewhere than it began, the stacks of its start are set already. */
#ifndef EVENT_BRINGS_STACK
	if (config->needs & EVENT_NEED_KSTACK && head->kstack_id == EVENT_STACK_OPEN)
		head->kstack_id = (__s32)bpf_get_stackid(ctx, &event_stacks, 0);
#endif
	if (config->needs & EVENT_NEED_USTACK && head->ustack_id == EVENT_STACK_OPEN)
		head->ustack_id = (__s32)bpf_get_stackid(ctx, &event_stacks, BPF_F_USER_STACK);
#endif
}

#if defined(EVENT_IS_FREQUENT) && !defined(BPF_BASIC)
#define EVENT_READS_TASK
#endif

#ifndef EVENT_READS_TASK
static __always_inline void event_set_process(const volatile struct event_config *config, struct event_head *head)
{
	if (config->needs & EVENT_NEED_OWNER) {
		__u64 id = bpf_get_current_pid_tgid();

		head->pid = id >> 32;
		head->tid = (__u32)id;
		head->uid = (__u32)bpf_get_current_uid_gid();
	}
	if (config->needs & EVENT_NEED_COMM)
		bpf_get_current_comm(head->comm, sizeof(head->comm));
}
#endif

#ifdef EVENT_IS_FREQUENT
/* Two words. Otherwise the compiler reads them in halves. */
static __always_inline const __u64 *event_comm_words(const struct task_struct *task)
{
	return __builtin_assume_aligned(task->comm, 8);
}

static __always_inline void event_set_rest_of_process(const volatile struct event_config *config,
						      struct event_head *head, const struct task_struct *task)
{
	if (config->needs & EVENT_NEED_UID)
		head->uid = task->cred->uid.val;
	if (!(config->needs & EVENT_NEED_COMM))
		return;
	if (config->comm_is_padded) {
		const __u64 *comm = event_comm_words(task);

		((__u64 *)head->comm)[0] = comm[0];
		((__u64 *)head->comm)[1] = comm[1];
	} else {
		bpf_get_current_comm(head->comm, sizeof(head->comm));
	}
}

#ifdef EVENT_READS_TASK
/*
 * Helper calls are the cost: one call, and the rest is read directly. In a loop, verification takes several times as
 * long.
 */
static __always_inline void event_set_process(const volatile struct event_config *config, struct event_head *head)
{
	const struct task_struct *task;

	if (!(config->needs & (EVENT_NEED_OWNER | EVENT_NEED_COMM)))
		return;
	task = bpf_get_current_task_btf();
	if (config->needs & EVENT_NEED_OWNER) {
		head->pid = (__u32)task->tgid;
		head->tid = (__u32)task->pid;
	}
	event_set_rest_of_process(config, head, task);
}
#endif
#endif

/* The current process: only in its own context (system calls), never in a softirq. */
static __always_inline void event_set_current(const volatile struct event_config *config, struct event_head *head)
{
	event_set_process(config, head);
	if (config->needs & EVENT_NEED_CGROUP)
		head->cgroup_id = bpf_get_current_cgroup_id();
}

static __always_inline bool event_needs_owner(const volatile struct event_config *config)
{
	return config->needs & (EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_CGROUP);
}

/* The owner of the socket, if known. */
static __always_inline void event_set_owner(const volatile struct event_config *config, struct event_head *head,
					    struct sock *sk)
{
	struct sock_owner *owner;

	if (!event_needs_owner(config))
		return;
	owner = event_store_get(&event_owners, sk, 0);
	if (!owner)
		return;
	head->pid = owner->pid_tgid >> 32;
	head->tid = (__u32)owner->pid_tgid;
	head->uid = owner->uid;
	head->cgroup_id = owner->cgroup_id;
	__builtin_memcpy(head->comm, owner->comm, sizeof(head->comm));
}

static __always_inline void event_fill_owner(struct sock_owner *owner)
{
	owner->of_listener = 0;
	owner->pid_tgid = bpf_get_current_pid_tgid();
	owner->uid = (__u32)bpf_get_current_uid_gid();
	owner->cgroup_id = bpf_get_current_cgroup_id();
	bpf_get_current_comm(owner->comm, sizeof(owner->comm));
}

/* The current process uses this socket and becomes its owner. */
static __always_inline void event_learn_owner(struct sock *sk)
{
	struct sock_owner *owner = event_store_get(&event_owners, sk, BPF_SK_STORAGE_GET_F_CREATE);

	if (owner && (owner->pid_tgid != bpf_get_current_pid_tgid() || owner->of_listener))
		event_fill_owner(owner);
}

static __always_inline void event_set_v4(struct addr *addr, __be32 four)
{
	addr->bytes[10] = 0xff;
	addr->bytes[11] = 0xff;
	__builtin_memcpy(&addr->bytes[12], &four, sizeof(four));
	addr->family = ADDR_V4;
}

/* A v4-mapped address is shown as IPv4. */
static __always_inline void event_set_v6(struct addr *addr, const __u32 *words)
{
	__builtin_memcpy(addr->bytes, words, sizeof(addr->bytes));
	addr->family = words[0] == 0 && words[1] == 0 && words[2] == bpf_htonl(0xffff) ? ADDR_V4 : ADDR_V6;
}

static __always_inline bool event_is_any(const struct addr *addr)
{
	const __u32 *words = (const __u32 *)addr->bytes;

	return words[0] == 0 && words[1] == 0 && words[3] == 0 && (words[2] == 0 || addr->family == ADDR_V4);
}

/* Call last: a socket without a peer has no remote address, rather than a zero one. */
static __always_inline void event_finish_endpoints(struct event_head *head)
{
	head->family = head->raddr.family;
	if (head->rport == 0 && event_is_any(&head->raddr))
		head->raddr = (struct addr){};
}

/* Addresses and ports of a full, request or time-wait socket; false if not IP. */
static __always_inline bool event_set_endpoints(struct event_head *head, const struct sock_common *common)
{
	__u32 words[4];

	if (common->skc_family == AF_INET) {
		event_set_v4(&head->laddr, common->skc_rcv_saddr);
		event_set_v4(&head->raddr, common->skc_daddr);
	} else if (common->skc_family == AF_INET6) {
		for (int i = 0; i < 4; i++)
			words[i] = common->skc_v6_rcv_saddr.in6_u.u6_addr32[i];
		event_set_v6(&head->laddr, words);
		for (int i = 0; i < 4; i++)
			words[i] = common->skc_v6_daddr.in6_u.u6_addr32[i];
		event_set_v6(&head->raddr, words);
	} else {
		head->family = EVENT_FAMILY_OTHER + (__u8)common->skc_family;
		return false;
	}
	head->lport = common->skc_num;
	head->rport = bpf_ntohs(common->skc_dport);
	event_finish_endpoints(head);
	return true;
}

static __always_inline void event_set_tuple(struct event_head *head, struct sock *sk)
{
	if (!event_set_endpoints(head, &sk->__sk_common))
		return;
	/* Other families have their own protocol numbers: 6 is TCP, but not for netlink. */
	head->proto = (__u8)sk->sk_protocol;
	/* A closing socket has released its port, but still knows it. */
	if (head->lport == 0)
		head->lport = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
}

/*
 * For each pointer read from a trusted one, such as an argument of a tracepoint, the verifier searches all types of the
 * kernel by name, four times: 1 ms for each path that gets here. Two helper calls are worth that where events are rare.
 */
static __always_inline __u32 event_netns_of(const struct sock *sk)
{
#ifdef EVENT_IS_FREQUENT
	return sk->__sk_common.skc_net.net->ns.inum;
#else
	return BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
#endif
}

static __always_inline void event_set_namespace(const volatile struct event_config *config, struct event_head *head,
						struct sock *sk)
{
	if (config->needs & EVENT_NEED_NETNS)
		head->netns = event_netns_of(sk);
	if (config->needs & EVENT_NEED_COOKIE)
		head->cookie = event_cookie(sk);
}

/* All fields of a socket except its owner. */
static __always_inline void event_set_socket(const volatile struct event_config *config, struct event_head *head,
					     struct sock *sk)
{
	if (config->needs & EVENT_NEED_ENDPOINTS)
		event_set_tuple(head, sk);
	event_set_namespace(config, head, sk);
}

/* Whether a field of an event with data TYPE is used. */
#define EVENT_WANTS(config, type, member) event_wants(config, offsetof(type, member), sizeof(((type *)0)->member))

static __always_inline __maybe_unused bool event_wants(const volatile struct event_config *config, __u64 offset,
						       __u64 size)
{
	__u64 first = offset / 8, words = (offset + size + 7) / 8 - first;

	return first + words >= 64 || config->wanted & ((1ull << words) - 1) << first;
}

#ifdef EVENT_IS_FREQUENT
/* Family, protocol and ports, packed as in the two words that they share with pid and tid. */
static __always_inline void event_pack_remote(struct sock *sk, __u64 *remote)
{
	__u16 family = sk->__sk_common.skc_family;

	if (family == AF_INET || family == AF_INET6)
		*remote |= (__u64)(__u8)sk->sk_protocol << 8 | (__u64)bpf_ntohs(sk->__sk_common.skc_dport) << 16;
}

static __always_inline void event_pack_local(struct sock *sk, __u64 *local)
{
	const struct sock_common *common = &sk->__sk_common;
	__u16 lport = common->skc_num;
	__u8 family = ADDR_V4;

	if (common->skc_family == AF_INET6) {
		const __u32 *words = common->skc_v6_daddr.in6_u.u6_addr32;

		if (words[0] || words[1] || words[2] != bpf_htonl(0xffff))
			family = ADDR_V6;
	} else if (common->skc_family != AF_INET) {
		*local |= (__u64)(__u8)(EVENT_FAMILY_OTHER + common->skc_family) << 8;
		return;
	}
	if (lport == 0)
		lport = bpf_ntohs(BPF_CORE_READ((struct inet_sock *)sk, inet_sport));
	*local |= (__u64)family << 8 | (__u64)lport << 16;
}

/*
 * If addresses are not used. A word is written at once: reading it for a key right after partial writes stalls the CPU
 * (store forwarding).
 */
static __always_inline void event_set_used_briefly(const volatile struct event_config *config, struct event_head *head,
						   struct sock *sk)
{
	__u64 local = 0, remote = 0;

	if (config->needs & (EVENT_NEED_OWNER | EVENT_NEED_COMM)) {
		const struct task_struct *task = bpf_get_current_task_btf();

		if (config->needs & EVENT_NEED_OWNER) {
			local = (__u64)(__u32)task->tgid << 32;
			remote = (__u64)(__u32)task->pid << 32;
		}
		event_set_rest_of_process(config, head, task);
	}
	if (config->needs & EVENT_NEED_ENDPOINTS) {
		event_pack_local(sk, &local);
		event_pack_remote(sk, &remote);
	}
	*(__u64 *)&head->laddr.family = local;
	*(__u64 *)&head->raddr.family = remote;
	if (config->needs & EVENT_NEED_CGROUP)
		head->cgroup_id = bpf_get_current_cgroup_id();
	event_set_namespace(config, head, sk);
}
#endif

/* The usual two: a socket used by the current process, and a socket in any context. */
static __always_inline void event_set_used_sock(const volatile struct event_config *config, struct event_head *head,
						struct sock *sk)
{
#ifdef EVENT_READS_TASK
	if (!(config->needs & EVENT_NEED_ADDRESSES)) {
		event_set_used_briefly(config, head, sk);
		return;
	}
#endif
	event_set_current(config, head);
	event_set_socket(config, head, sk);
}

static __always_inline void event_set_sock(const volatile struct event_config *config, struct event_head *head,
					   struct sock *sk)
{
	event_set_owner(config, head, sk);
	event_set_socket(config, head, sk);
}

/* --- filtering, passing on and adding up -------------------------------------------------------------------------- */

static __noinline __maybe_unused int event_filter(const volatile struct event_config *config, const char *event)
{
	const struct event_head *head = (const struct event_head *)event;
	__u64 cgroup = head->cgroup_id;
	__u32 pid = head->pid;

	if (config->by_tree && !bpf_map_lookup_elem(&event_tree, &pid))
		return 0;
	if (config->by_cgroup && !bpf_map_lookup_elem(&event_cgroups, &cgroup))
		return 0;
	return event_matches(config, event);
}

/* Not called without a filter. */
static __always_inline bool event_passes(const volatile struct event_config *config, const char *event)
{
	return (!config->by_tree && !config->by_cgroup && config->term_count == 0) || event_filter(config, event);
}

static __always_inline void event_send(void *event, __u64 size, struct event_losses *losses)
{
	__u64 flags = *(volatile __u32 *)&event_reader_awake ? BPF_RB_NO_WAKEUP : 0;

	if (bpf_ringbuf_output(&event_ring, event, size, flags) < 0)
		__sync_fetch_and_add(&losses->ring, 1);
}

static __always_inline struct event_group *event_find_front(const volatile struct event_config *config, void *fronts,
							    const __u64 *key)
{
	__u32 zero = 0, place = event_key_place(config, key);
	void *map = bpf_map_lookup_elem(fronts, &zero), *front;

	if (!map)
		return NULL;
	front = bpf_map_lookup_elem(map, &place);
	return front ? event_front_group(config, front, key) : NULL;
}

static __always_inline struct event_group *event_find_group(void *groups, const __u64 *key, struct event_losses *losses)
{
	struct event_group *group;
	__u32 zero = 0;
	void *map = bpf_map_lookup_elem(groups, &zero);

	if (!map)
		return NULL;
	if (!losses->beyond)
		losses->beyond = 1;
	group = bpf_map_lookup_elem(map, key);
	if (!group) {
		bpf_map_update_elem(map, key, (const void *)&event_no_group, BPF_NOEXIST);
		group = bpf_map_lookup_elem(map, key);
	}
	return group;
}

/* Frequent events are inlined: larger programs, no call. */
#ifdef EVENT_IS_FREQUENT
static __always_inline
#else
static __noinline __maybe_unused
#endif
	int
	event_add(const volatile struct event_config *config, void *fronts, void *groups, const char *event,
		  struct event_losses *losses)
{
	__u64 key[EVENT_KEY_WORDS];
	struct event_group *group;
	__s64 value = 0;

	if (config->mode != EVENT_COUNT &&
	    !event_load(event + config->value_offset, config->value_form, config->value_flags, &value))
		return 0;
	event_make_key(config, event, key);
	group = event_find_front(config, fronts, key);
	if (!group)
		group = event_find_group(groups, key, losses);
	if (group) {
		event_group_add(config, group, value);
		event_group_add_fields(config, group, event);
	} else {
		__sync_fetch_and_add(&losses->groups, 1);
	}
	return 0;
}
