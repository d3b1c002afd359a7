/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A journey under construction. Each hook appends a step that starts where the last one ended, so the steps always sum
 * up to the total.
 *
 * State by packet address is in plain arrays at an index hashed from the address: a lookup costs next to nothing, which
 * every packet of the host pays, and a collision (one in thousands) costs the older packet its journey.
 */
#pragma once

#include "event/bpf/packet.bpf.h"
#include "event/path/path_steps.h"

/* A packet timestamp older than this, or in the future, is not trusted. */
#define PATH_STAMP_MAX_NS 10000000000ull

/* Follow one flow in N; 0 and 1: all. User space may change it at any time. */
__u32 path_sample __weak;

/*
 * The start of the driver's transmit matters only for packets that were queued or segmented; for others it follows at
 * once. So its hook is attached late: this variable requests it, and the hook's own program sets the next one.
 */
__u32 path_wants_xmit __weak;
__u32 path_sees_xmit __weak;

/* Whether enqueues are traced (path_enqueue). */
#define PATH_SEES_QUEUES bpf_core_field_exists(struct trace_event_raw_qdisc_enqueue, ifindex)

static __always_inline bool path_is_xmit_seen(void)
{
	return *(volatile __u32 *)&path_sees_xmit;
}

static __always_inline void path_want_xmit(void)
{
	if (!*(volatile __u32 *)&path_wants_xmit)
		path_wants_xmit = 1;
}

/* The cheapest clock; events report time since boot. The two differ only across suspend, when nothing is in flight. */
static __always_inline __u64 path_clock(void)
{
	return bpf_ktime_get_ns();
}

static __always_inline __u64 path_since_boot(__u64 ns)
{
	return ns + *(volatile __u64 *)&event_boot_offset_ns;
}

static __always_inline struct path_mark path_mark_at(__u64 ns, __u8 context)
{
	return (struct path_mark){
		.ns = ns, .note = PATH_NO_NOTE, .cpu = (__u16)bpf_get_smp_processor_id(), .context = context};
}

static __always_inline struct path_mark path_now(__u8 context)
{
	return path_mark_at(path_clock(), context);
}

/* The same when the clock may have been read already. */
static __always_inline void path_now_once(struct path_mark *now)
{
	if (!now->ns)
		*now = path_now(PATH_SOFT);
}

/*
 * A packet's address as a number, relative to a constant: the verifier forbids arithmetic on addresses except for
 * subtraction.
 */
static __always_inline __u64 path_id(const void *address)
{
	__u64 id = (__u64)address;

	asm volatile("%0 -= %1" : "+r"(id) : "r"(&path_sample));
	return id;
}

/* Index of an address or number in a table of 1 << bits entries. */
static __always_inline __u32 path_place(__u64 key, __u32 bits)
{
	return (__u32)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

/* Symmetric hash of a flow: XOR of the address words, and both ports. */
static __always_inline __u32 path_hash(__u64 first, __u64 second, __u32 port, __u32 other_port)
{
	__u64 hash = first * 31 + second;

	hash = (hash ^ (port ^ other_port) ^ (__u64)(port + other_port) << 32) * 0x9e3779b97f4a7c15ull;
	return (__u32)(hash >> 32);
}

static __always_inline __u32 path_packet_hash(const struct packet *packet)
{
	const __u64 *a = (const __u64 *)packet->source.bytes, *b = (const __u64 *)packet->destination.bytes;

	return path_hash(a[0] ^ b[0], a[1] ^ b[1], packet->source_port, packet->destination_port);
}

/* One in N, without a division. */
static __always_inline bool path_is_low(__u32 hash, __u32 sample)
{
	return (__u64)hash * sample >> 32 == 0;
}

static __always_inline bool path_is_chosen(const struct packet *packet)
{
	__u32 sample = *(volatile __u32 *)&path_sample;

	return sample <= 1 || path_is_low(path_packet_hash(packet), sample);
}

/* Whether a socket's flow is followed: the first check at most hooks, hence free of calls. */
static __always_inline bool path_is_sock_chosen(const struct sock *sk)
{
	const struct sock_common *common = &sk->__sk_common;
	__u32 sample = *(volatile __u32 *)&path_sample, port = common->skc_num;
	__u64 first = 0, second;

	if (sample <= 1)
		return true;
	if (common->skc_family == AF_INET) {
		second = (__u64)(common->skc_daddr ^ common->skc_rcv_saddr) << 32;
	} else {
		const __u32 *a = common->skc_v6_daddr.in6_u.u6_addr32, *b = common->skc_v6_rcv_saddr.in6_u.u6_addr32;

		first = (__u64)(a[1] ^ b[1]) << 32 | (a[0] ^ b[0]);
		second = (__u64)(a[3] ^ b[3]) << 32 | (a[2] ^ b[2]);
	}
	/* Unconnected: its packets belong to many flows. */
	if (!common->skc_dport)
		return true;
	return path_is_low(path_hash(first, second, port, bpf_ntohs(common->skc_dport)), sample);
}

#define PATH_OWNER_NEEDS (EVENT_NEED_OWNER | EVENT_NEED_COMM | EVENT_NEED_CGROUP)

/* The running task, as the head of an event tells it. */
struct path_who {
	__u64 comm[2];
	__u64 cgroup_id;
	__u32 pid;
	__u32 tid;
	__u32 uid;
	__u32 unused;
};

/*
 * As event_set_current, but nothing is called: that costs more than all that is read. Once for all that a call reads,
 * as the verifier takes half a millisecond for each pointer that is followed, every time it passes.
 */
static __always_inline void path_note_current(const volatile struct event_config *config, struct path_who *who,
					      const struct task_struct *task)
{
	who->pid = (__u32)task->tgid;
	who->tid = (__u32)task->pid;
	who->uid = task->cred->uid.val;
	who->cgroup_id = task->cgroups->dfl_cgrp->kn->id;
	if (config->comm_is_padded) {
		who->comm[0] = ((const __u64 *)task->comm)[0];
		who->comm[1] = ((const __u64 *)task->comm)[1];
	} else {
		bpf_get_current_comm(who->comm, sizeof(who->comm));
	}
}

static __always_inline void path_set_current(struct event_head *head, const struct path_who *who)
{
	head->pid = who->pid;
	head->tid = who->tid;
	head->uid = who->uid;
	head->cgroup_id = who->cgroup_id;
	((__u64 *)head->comm)[0] = who->comm[0];
	((__u64 *)head->comm)[1] = who->comm[1];
}

/* As event_learn_owner, and asks for the running task but once. */
static __always_inline void path_learn_owner(const volatile struct event_config *config, struct sock *sk)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	struct sock_owner *owner;

	if (!(config->needs & PATH_OWNER_NEEDS))
		return;
	owner = event_store_get(&event_owners, sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (owner && (owner->pid_tgid != ((__u64)(__u32)task->tgid << 32 | (__u32)task->pid) || owner->of_listener))
		event_fill_owner(owner);
}

/* --- the pool of journeys ----------------------------------------------------------------------------------------- */

#define PATH_FREE_MAX 64
/* Slots probed for a free one. */
#define PATH_POOL_TRIES 8

/* Slots freed recently on this CPU: still in its cache. */
struct path_free {
	__u32 count;
	__u32 places[PATH_FREE_MAX];
};

#define PATH_FREE_MAP(name)                                                                                            \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                               \
		__uint(max_entries, 1);                                                                                \
		__type(key, __u32);                                                                                    \
		__type(value, struct path_free);                                                                       \
	} name SEC(".maps")

/*
 * A softirq, on some kernels also another process, may interrupt a process that frees a slot. So the list above is only
 * a hint, which may be wrong or lost; a slot belongs to whoever changes its state atomically.
 */
static __always_inline bool path_claim(struct path_way *way, __u32 from)
{
	return __sync_val_compare_and_swap(&way->state, from, PATH_WAY_TAKEN) == from;
}

struct path_pool {
	void *ways;
	void *free; /* PATH_FREE_MAP */
	__u32 *next;
	int (*search)(void); /* path_search of this pool */
	__u32 size;          /* a power of two */
};

static __always_inline __u32 path_next_place(const struct path_pool *pool)
{
	return __sync_fetch_and_add(pool->next, 1) & (pool->size - 1);
}

/*
 * Claims a free slot; negative: none found. Rare, hence out of line, but static: Linux before 6.8 also verifies
 * uncalled global functions, and a run of one direction lacks the maps of the other.
 */
static __always_inline int path_search(const struct path_pool *pool)
{
	for (int i = 0; i < PATH_POOL_TRIES; i++) {
		__u32 place = path_next_place(pool);
		struct path_way *way = bpf_map_lookup_elem(pool->ways, &place);

		if (way && path_claim(way, PATH_WAY_NONE))
			return (int)place;
	}
	return -1;
}

/* A slot freed recently on this CPU; NULL: none. */
static __always_inline struct path_way *path_take_lately(const struct path_pool *pool, __u32 *ret_place)
{
	__u32 zero = 0;
	struct path_free *free = bpf_map_lookup_elem(pool->free, &zero);
	struct path_way *way;

	if (!free || !free->count)
		return NULL;
	*ret_place = free->places[--free->count & (PATH_FREE_MAX - 1)] & (pool->size - 1);
	way = bpf_map_lookup_elem(pool->ways, ret_place);
	return way && path_claim(way, PATH_WAY_NONE) ? way : NULL;
}

/*
 * A slot with a fresh number, so stale references find nothing. When the pool is full, evicts an old waiting journey;
 * NULL: that one is in use right now.
 */
static __always_inline struct path_way *path_take(const struct path_pool *pool)
{
	__u32 place = 0;
	struct path_way *way = path_take_lately(pool, &place);
	int found;

	if (!way) {
		found = pool->search();
		place = found < 0 ? path_next_place(pool) : (__u32)found;
		way = bpf_map_lookup_elem(pool->ways, &place);
		if (!way || (found < 0 && !path_claim(way, way->state)))
			return NULL;
	}
	way->number = way->number ? way->number + pool->size : pool->size + place;
	way->next = 0;
	return way;
}

/* Frees the slot. A journey without a number is not in the pool. */
static __always_inline void path_give_back(const struct path_pool *pool, struct path_way *way)
{
	__u32 zero = 0, place = (__u32)way->number & (pool->size - 1);
	struct path_free *free = way->number ? bpf_map_lookup_elem(pool->free, &zero) : NULL;

	way->state = PATH_WAY_NONE;
	if (free && free->count < PATH_FREE_MAX)
		free->places[free->count++ & (PATH_FREE_MAX - 1)] = place;
}

static __always_inline struct path_way *path_find(const struct path_pool *pool, __u64 number)
{
	__u32 place = (__u32)number & (pool->size - 1);
	struct path_way *way = bpf_map_lookup_elem(pool->ways, &place);

	return way && way->number == number && way->state > PATH_WAY_TAKEN ? way : NULL;
}

#define ETH_P_8021Q  0x8100
#define ETH_P_8021AD 0x88a8

/* Protocol behind a VLAN tag left in the packet. On transmit the tag precedes the headers. */
static __always_inline __be16 path_skip_tag(struct sk_buff *skb, __u32 *network)
{
	__be16 tag[2], protocol = skb->protocol;

	if ((protocol != bpf_htons(ETH_P_8021Q) && protocol != bpf_htons(ETH_P_8021AD)) ||
	    skb->data - skb->head != *network || bpf_probe_read_kernel(tag, sizeof(tag), skb->data) < 0)
		return protocol;
	*network += sizeof(tag);
	return tag[1];
}

/* Parses the headers of most packets with one read; the rest is left to the full parser. */
static __always_inline bool path_read_headers(struct packet *packet, struct packet_tcp *tcp, struct sk_buff *skb,
					      __u32 network)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} at;
	__u32 total;

	__builtin_memset(packet, 0, sizeof(*packet));
	__builtin_memset(tcp, 0, sizeof(*tcp));
	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_probe_read_kernel(&at, sizeof(at), skb->head + network) < 0 ||
	    *(const __u8 *)&at != 0x45 || at.ip.protocol != IPPROTO_TCP || at.ip.frag_off & bpf_htons(0x1fff) ||
	    !at.ip.tot_len) {
		__be16 protocol = path_skip_tag(skb, &network);

		if (!packet_read_as(packet, skb, protocol, network))
			return false;
		(void)packet_read_tcp(tcp, packet, skb);
		return true;
	}
	event_set_v4(&packet->source, at.ip.saddr);
	event_set_v4(&packet->destination, at.ip.daddr);
	packet->proto = IPPROTO_TCP;
	packet->source_port = bpf_ntohs(at.tcp.source);
	packet->destination_port = bpf_ntohs(at.tcp.dest);
	packet->transport = network + sizeof(at.ip);
	total = bpf_ntohs(at.ip.tot_len);
	packet->bytes = total - sizeof(at.ip);
	tcp->seq = bpf_ntohl(at.tcp.seq);
	tcp->ack = bpf_ntohl(at.tcp.ack_seq);
	tcp->bytes = packet->bytes > at.tcp.doff * 4u ? packet->bytes - at.tcp.doff * 4u : 0;
	return true;
}

/* Fills what the packet shows at once; the rest of the head follows with the socket. */
static __always_inline void path_begin(struct path_way *way, const volatile struct event_config *config,
				       const struct packet *packet, __u8 dir)
{
	struct event_head *head = &way->event.head;

	/* Steps are written one by one and only valid ones are read; their sums come last. */
	__builtin_memset(&way->event, 0, __builtin_offsetof(struct path_event, data.steps));
	head->event = config->id;
	head->uid = EVENT_UNKNOWN32;
	head->kstack_id = EVENT_STACK_NONE;
	head->ustack_id = EVENT_STACK_NONE;
	packet_set_endpoints(head, packet, dir);
	way->event.data.dir = dir;
	way->ready_ns = 0;
	way->few = 0;
	way->state = PATH_WAY_OPEN;
}

#define IFF_LOOPBACK 0x8

/*
 * Devices whose packets arrive on this host, in the backlog of the same CPU: loopback, and virtual links with a peer. A
 * hook would also cover others, but would cost every packet more than all the rest.
 */
static __always_inline bool path_hands_over(const struct net_device *dev)
{
	return dev->flags & IFF_LOOPBACK || dev->netdev_ops->ndo_get_peer_dev;
}

static __always_inline void path_set_dev(struct path_way *way, struct net_device *dev)
{
	way->event.head.netns = dev->nd_net.net->ns.inum;
	((__u64 *)way->event.data.dev)[0] = ((const __u64 *)dev->name)[0];
	((__u64 *)way->event.data.dev)[1] = ((const __u64 *)dev->name)[1];
}

/* --- drop reasons ------------------------------------------------------------------------------------------------- */

/* Only names: the values come from the running kernel. */
enum skb_drop_reason___path {
	SKB_DROP_REASON_NOT_SPECIFIED___path = 1,
	SKB_DROP_REASON_NETFILTER_DROP___path,
	SKB_DROP_REASON_QUEUE_PURGE___path,
	SKB_DROP_REASON_TCP_CLOSE___path,
};

#define PATH_REASON(name)                                                                                              \
	(bpf_core_enum_value_exists(enum skb_drop_reason___path, SKB_DROP_REASON_##name##___path)                      \
		 ? (__u32)bpf_core_enum_value(enum skb_drop_reason___path, SKB_DROP_REASON_##name##___path)            \
		 : 0)
#define PATH_IS_REASON(reason, name) ((reason) && (reason) == PATH_REASON(name))

/* From kfree_skb; 0: not reported by this kernel. */
static __always_inline __u32 path_drop_reason(const __u64 *ctx)
{
	return bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason) ? (__u32)ctx[2] : 0;
}

/* Size without the unused steps: fewer bytes to write and read. */
static __always_inline __u64 path_event_size(const struct path_event *event)
{
	return __builtin_offsetof(struct path_event, data.steps) +
	       (event->data.step_count & (PATH_STEPS_MAX - 1)) * sizeof(struct path_step);
}

/* Copies only the steps in use. */
static __always_inline void path_way_copy(struct path_way *to, const struct path_way *from)
{
	__builtin_memcpy(to, from, __builtin_offsetof(struct path_way, event.data.steps));
	__builtin_memcpy(to->event.data.steps, from->event.data.steps, 4 * sizeof(struct path_step));
	if (from->event.data.step_count > 4)
		__builtin_memcpy(&to->event.data.steps[4], &from->event.data.steps[4], 12 * sizeof(struct path_step));
}

/*
 * Fields for filters and figures, once all steps are known. Global, so that it is verified once: it was most of the
 * verifier's work.
 */
__noinline int path_set_waits(struct path_journey *journey)
{
	if (!journey)
		return 0;
	__builtin_memset(&journey->sndbuf_ns, 0, sizeof(*journey) - __builtin_offsetof(struct path_journey, sndbuf_ns));
	path_add_waits(journey);
	return 0;
}

/* The packet leaves a queue (ready_ns: packets in the queue at enqueue plus 1, itself included; 0 and 1: unknown). */
static __always_inline void path_leave_queue(struct path_way *way, struct path_mark *now, struct path_counts *counts)
{
	if (way->ready_ns > 1)
		now->note = (__u32)way->ready_ns - 2;
	way->ready_ns = 0;
	path_step(way, PATH_QDISC, now, counts);
	now->note = PATH_NO_NOTE;
}

/* The filter was decided when the packet was first seen, and its fields have not changed since. */
static __always_inline bool path_is_decided(const volatile struct event_config *config,
					    const volatile struct event_config *early, const struct path_way *way)
{
	return !config->by_tree && !config->by_cgroup && config->term_count == early->term_count && way->decided;
}
