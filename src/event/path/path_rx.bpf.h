/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by both halves of path.rx: the packet's path to the socket, and the reader's path to the data. */
#pragma once

#include "event/bpf/tcp.bpf.h"
#include "event/path/path.bpf.h"

#define RX_QUEUE_MAX     16
#define RX_ARRIVALS_BITS 13
#define RX_HELD_BITS     12
#define RX_POOL_MAX      16384
#define RX_TASKS_BITS    14
#define RX_SOCKS_BITS    14
#define RX_FLOWS_BITS    10
#define RX_STASH_BITS    10
#define RX_STASH_MAX     4

/* Longest delay between an interrupt and the softirq that it raised. */
#define RX_IRQ_NS 10000000

/* How a packet arrived, by address until it enters the stack. */
enum rx_arrival_kind { RX_POLLED, RX_HANDED_OVER, RX_XMIT };

struct rx_arrival {
	__u64 skb;
	__u64 ns;     /* RX_POLLED: unknown */
	__u64 gro_ns; /* 0: not through GRO */
	__u16 cpu;
	__u16 gro_cpu;
	__u32 kind;
	__u32 ifindex; /* RX_HANDED_OVER: sending interface, 0 for loopback */
	__u32 unused;
};

struct rx_cpu {
	__u64 irq_ns; /* last device interrupt */
	__u64 irq_done_ns;
	__u64 soft_ns;   /* last NET_RX softirq */
	__u64 queued_sk; /* socket for which the last packet was queued */
	__u64 queued_skb;
	__u64 queued_number;
	__u32 queued_at; /* its index in the socket's queue */
	__u32 ack;       /* ACK number from the header of the packet in the stack */
	__u64 skb;       /* its address */
	__u64 at;        /* and the number of its journey; 0: not followed */
	__u64 gro_skb;   /* the packet in GRO, if followed */
	__u64 wake_sk;   /* socket whose readers are being woken */
	__u64 wake_ns;
	struct path_way spare; /* for a packet that ends before the stack */
};

/* Packets whose data is in a socket. */
struct rx_queue {
	__u32 head; /* nothing waits before it */
	__u32 tail;
	__u32 spilled;   /* journeys kept by user space, since the queue was full */
	__u32 reader;    /* last reading thread: known as the owner */
	__u64 reader_at; /* its task; may be gone */
	/* Few hooks: the receiving interface. */
	__u64 dev[2];
	__u32 ifindex;
	__u32 early; /* datagrams read before the socket's notification, and time of the last one */
	__u64 early_ns;
	__u64 numbers[RX_QUEUE_MAX]; /* of their journeys; 0: none */
};

struct rx_stash {
	__u32 tid;
	__u32 count;
	struct path_way ways[RX_STASH_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rx_cpu);
} path_rx_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_ARRIVALS_BITS);
	__type(key, __u32);
	__type(value, struct rx_arrival);
} path_rx_arrivals SEC(".maps");

/*
 * Every packet is checked for being held, and few are: the answer is in a separate table small enough for the CPU
 * cache.
 */
struct rx_held {
	__u64 skb;
	__u64 number;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_HELD_BITS);
	__type(key, __u32);
	__type(value, struct rx_held);
} path_rx_held SEC(".maps");

/*
 * All journeys are in one pool from the moment the packet enters the stack, and are passed on by number: a CPU has the
 * one in progress, a socket those whose data waits in it. For held packets (filter, tunnel, locked socket, qdisc) the
 * address leads to the number; but merged packets vanish silently, and their address is reused while their journey
 * continues.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RX_POOL_MAX);
	__type(key, __u32);
	__type(value, struct path_way);
} path_rx_pool SEC(".maps");

PATH_FREE_MAP(path_rx_free);

/* Last held packet of a flow: its number by flow hash. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_FLOWS_BITS);
	__type(key, __u32);
	__type(value, __u64);
} path_rx_flows SEC(".maps");

/* Sockets with followed data, by address: only these are looked up in socket storage. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_SOCKS_BITS);
	__type(key, __u32);
	__type(value, __u8);
} path_rx_socks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_TASKS_BITS);
	__type(key, __u32);
	__type(value, struct rx_task);
} path_rx_tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_STASH_BITS);
	__type(key, __u32);
	__type(value, struct rx_stash);
} path_rx_stash SEC(".maps");

EVENT(path_rx, struct path_event)
EVENT_SOCK_STORE(path_rx, queue, struct rx_queue);

/* The part of the filter that is decidable on arrival. */
const volatile struct event_config path_rx_early = {};
struct path_counts path_rx_counts[PATH_CPUS_MAX] = {};
/* Set when user space keeps journeys that do not fit into their socket's queue. */
__u32 path_rx_spills = 0;
/* Sampled runs: journeys waiting in sockets. Journeys of destroyed sockets remain counted. */
__s32 path_rx_waiting = 0;
__u32 path_rx_next = 0;
/* Set by the program on system call returns: without it there is nothing to wait for. */
__u32 path_rx_sees_calls = 0;

static __always_inline bool rx_is_sampled(void)
{
	return *(volatile __u32 *)&path_sample > 1;
}

/* No data waits: wake-ups and schedule-ins do not matter, skip the clock. */
static __always_inline bool rx_nothing_waits(void)
{
	return rx_is_sampled() && !*(volatile __s32 *)&path_rx_waiting;
}

static __always_inline struct rx_cpu *rx_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&path_rx_cpus, &zero);
}

static __always_inline struct path_counts *rx_counts(void)
{
	return &path_rx_counts[bpf_get_smp_processor_id() & (PATH_CPUS_MAX - 1)];
}

static __always_inline struct rx_arrival *rx_arrival_at(__u64 skb)
{
	__u32 place = path_place(skb, RX_ARRIVALS_BITS);

	return bpf_map_lookup_elem(&path_rx_arrivals, &place);
}

static __noinline int path_rx_search(void);

static __always_inline struct path_pool rx_pool(void)
{
	return (struct path_pool){.ways = &path_rx_pool,
				  .free = &path_rx_free,
				  .next = &path_rx_next,
				  .search = path_rx_search,
				  .size = RX_POOL_MAX};
}

static __noinline int path_rx_search(void)
{
	struct path_pool pool = rx_pool();

	return path_search(&pool);
}

static __always_inline struct path_way *rx_pool_find(__u64 number)
{
	struct path_pool pool = rx_pool();

	return path_find(&pool, number);
}

/* The journey of a held packet. */
static __always_inline struct path_way *rx_held_find(__u64 skb)
{
	__u32 place = path_place(skb, RX_HELD_BITS);
	struct rx_held *held = bpf_map_lookup_elem(&path_rx_held, &place);

	return held && held->skb == skb ? rx_pool_find(held->number) : NULL;
}

/* The journey of the packet in progress on this CPU; NULL: not followed, or taken by another CPU. */
static __always_inline struct path_way *rx_current(const struct rx_cpu *cpu)
{
	struct path_way *way = cpu->at ? rx_pool_find(cpu->at) : NULL;

	return way && way->state == PATH_WAY_OPEN ? way : NULL;
}

static __always_inline struct path_way *rx_pool_take(void)
{
	struct path_pool pool = rx_pool();

	return path_take(&pool);
}

static __always_inline void rx_give_back(struct path_way *way)
{
	struct path_pool pool = rx_pool();

	path_give_back(&pool, way);
}

/* Makes it findable by its packet's address. */
static __always_inline void rx_hold(const struct path_way *way)
{
	__u32 place = path_place(way->skb, RX_HELD_BITS);
	struct rx_held *held = bpf_map_lookup_elem(&path_rx_held, &place);

	if (!held)
		return;
	held->number = way->number;
	held->skb = way->skb;
}

static __always_inline __u8 *rx_sock_mark(const struct sock *sk)
{
	__u32 place = path_place(path_id(sk), RX_SOCKS_BITS);

	return bpf_map_lookup_elem(&path_rx_socks, &place);
}

/* Data for this socket, or for one with the same hash, was followed. */
static __always_inline bool rx_is_marked(const struct sock *sk)
{
	const __u8 *mark = rx_sock_mark(sk);

	return mark && *mark;
}

/* Packets waiting in a socket; NULL: none followed yet. */
static __always_inline struct rx_queue *rx_queue_find(struct sock *sk)
{
	return rx_is_marked(sk) ? event_store_get(&path_rx_queue, sk, 0) : NULL;
}

static __always_inline struct rx_queue *rx_queue_make(struct sock *sk)
{
	__u8 *mark = rx_sock_mark(sk);

	if (mark && !*mark)
		*mark = 1;
	return event_store_get(&path_rx_queue, sk, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline struct rx_task *rx_task_at(__u32 tid)
{
	__u32 place = tid & ((1 << RX_TASKS_BITS) - 1);

	return bpf_map_lookup_elem(&path_rx_tasks, &place);
}

/* Ends the journey. Its slot is freed only after reporting: another CPU may be waiting for one. */
static __always_inline void rx_report(void *ctx, struct path_way *way, __u8 end)
{
	struct path_event *e;
	bool passes = true;

	/* Nothing inside matched the filter. */
	if (way->tentative) {
		rx_give_back(way);
		return;
	}
	path_way_finish(way, end, rx_counts());
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	if (path_rx_config.mode == EVENT_STREAM) {
		if (!path_is_decided(&path_rx_config, &path_rx_early, way)) {
			(void)path_set_waits(&way->event.data);
			passes = event_passes(&path_rx_config, (const char *)&way->event);
		}
		/* User space sums up the waits again. */
		if (passes)
			event_send(&way->event, path_event_size(&way->event), &path_rx_losses);
	} else {
		(void)path_set_waits(&way->event.data);
		e = path_rx_begin();
		if (e) {
			__builtin_memcpy(e, &way->event, sizeof(*e));
			(void)path_rx_end(ctx, e);
		}
	}
	rx_give_back(way);
}

#define RX_READ(what, way, member)                                                                                     \
	bpf_probe_read_kernel(&(what), sizeof(what),                                                                   \
			      (const void *)((way)->address + bpf_core_field_offset(struct sk_buff, member)))

/*
 * Whether a packet that may vanish silently still exists. The kernel does not decrement the last reference of a freed
 * packet, but clears its route; and reused memory holds another packet.
 */
static __always_inline bool rx_is_somewhere(const struct path_way *way)
{
	const struct path_event *e = &way->event;
	unsigned char *head = NULL;
	__u32 users = 0, words[2] = {};
	unsigned long route = 0;
	__u16 transport = 0;

	if (RX_READ(users, way, users) < 0 || !users || RX_READ(route, way, _skb_refdst) < 0 || !route)
		return false;
	if (e->head.proto != IPPROTO_TCP)
		return true;
	/* Ports, then sequence number. */
	return RX_READ(head, way, head) == 0 && RX_READ(transport, way, transport_header) == 0 &&
	       bpf_probe_read_kernel(words, sizeof(words), head + transport) == 0 && bpf_ntohl(words[1]) == e->data.seq;
}

/* A message to user space about a socket with spilled journeys; NULL: lost. Submit with rx_send. */
static __always_inline struct path_read_event *rx_message(enum path_message message, __u64 cookie)
{
	struct path_read_event *e = bpf_ringbuf_reserve(&event_ring, sizeof(*e), 0);

	if (!e) {
		__sync_fetch_and_add(&path_rx_losses.ring, 1);
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->head.event = path_rx_config.id;
	e->head.cookie = cookie;
	e->end = message;
	return e;
}

static __always_inline void rx_send(struct path_read_event *e, const struct path_read *info)
{
	e->head.cpu = info->now.cpu;
	e->info = *info;
	bpf_ringbuf_submit(e, *(volatile __u32 *)&event_reader_awake ? BPF_RB_NO_WAKEUP : 0);
}
