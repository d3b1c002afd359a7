/* SPDX-License-Identifier: GPL-2.0-only */
/* What the two halves of path.rx share: the packet's way to the socket, and the reader's way to the data. */
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

/* A softirq belongs to the interrupt that ended this long before, at most. */
#define RX_IRQ_NS 10000000

/* How a packet came to this host, by its address until the stack takes it up. */
enum rx_arrival_kind { RX_POLLED, RX_HANDED_OVER, RX_XMIT };

struct rx_arrival {
	__u64 skb;
	__u64 ns;     /* of RX_POLLED: nobody knows */
	__u64 gro_ns; /* 0: not through GRO */
	__u16 cpu;
	__u16 gro_cpu;
	__u32 kind;
	__u32 ifindex; /* of RX_HANDED_OVER: where it was sent, 0 for loopback */
	__u32 unused;
};

struct rx_cpu {
	__u64 irq_ns; /* the last interrupt of a device */
	__u64 irq_done_ns;
	__u64 soft_ns;   /* the last softirq for packets that arrive */
	__u64 queued_sk; /* for this socket the last packet was queued */
	__u64 queued_skb;
	__u64 queued_number;
	__u32 queued_at; /* its place in the socket's queue */
	__u32 ack;       /* of the packet that the stack is busy with, as it stood in the header */
	__u64 skb;       /* its address */
	__u64 at;        /* and the number of its way; 0: it is not followed */
	__u64 gro_skb;   /* the packet in GRO's hands, if it was asked for */
	__u64 wake_sk;   /* readers of this socket are being told */
	__u64 wake_ns;
	struct path_way spare; /* of a packet that ends before the stack takes it up */
};

/* Packets whose data waits in a socket. */
struct rx_queue {
	__u32 head; /* nothing waits before it */
	__u32 tail;
	__u32 spilled;   /* journeys that the program keeps, since there was no room */
	__u32 reader;    /* thread that read last: it is known as the owner */
	__u64 reader_at; /* its address; the thread may be gone */
	/* With few hooks: the interface that its packets come from. */
	__u64 dev[2];
	__u32 ifindex;
	__u32 early; /* datagrams that were read before the socket announced them, and when the last one was */
	__u64 early_ns;
	__u64 numbers[RX_QUEUE_MAX]; /* of their ways; 0: there is none */
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
 * Whether a packet was put aside is asked of every packet and seldom true: the answer lies in a table of its own, small
 * enough to stay in the processor's cache.
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
 * All journeys lie in one pool, from the moment in which the stack takes the packet up, and are passed on by their
 * numbers: a processor has the one that it is busy with, a socket those whose data waits in it. Of what something has
 * put aside (a filter, a tunnel, a socket in use, a queue to another interface) the packet's address tells the number;
 * but packets that are merged with others go without a word, and their address is used again while their journey goes
 * on.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RX_POOL_MAX);
	__type(key, __u32);
	__type(value, struct path_way);
} path_rx_pool SEC(".maps");

PATH_FREE_MAP(path_rx_free);

/* The packet of a flow that was put aside last, its number by the flow's hash. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RX_FLOWS_BITS);
	__type(key, __u32);
	__type(value, __u64);
} path_rx_flows SEC(".maps");

/* Sockets for which data was followed, by their address: what lies with a socket is asked for only of those. */
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

/* What of the filter can be decided when a packet arrives. */
const volatile struct event_config path_rx_early = {};
struct path_counts path_rx_counts[PATH_CPUS_MAX] = {};
/* Set where the program keeps journeys that find no room in their socket's queue. */
__u32 path_rx_spills = 0;
/* Where few flows are followed: journeys that wait in sockets. Kept only then; what a socket takes with it stays. */
__s32 path_rx_waiting = 0;
__u32 path_rx_next = 0;
/* Set by the program that sees system calls end: without it nobody need wait for them. */
__u32 path_rx_sees_calls = 0;

static __always_inline bool rx_is_sampled(void)
{
	return *(volatile __u32 *)&path_sample > 1;
}

/* No data waits: when readers are woken and run does not matter, and the clock need not be read. */
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

/* The packet's way, if it was put aside. */
static __always_inline struct path_way *rx_held_find(__u64 skb)
{
	__u32 place = path_place(skb, RX_HELD_BITS);
	struct rx_held *held = bpf_map_lookup_elem(&path_rx_held, &place);

	return held && held->skb == skb ? rx_pool_find(held->number) : NULL;
}

/* The way of the packet that the stack is busy with here; NULL: it is not followed, or somebody else has it by now. */
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

/* From now on it is found by its packet's address. */
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

/* Data for this socket was followed, or for another at the same place of the table. */
static __always_inline bool rx_is_marked(const struct sock *sk)
{
	const __u8 *mark = rx_sock_mark(sk);

	return mark && *mark;
}

/* The packets that wait in a socket; NULL where none was followed yet. */
static __always_inline struct rx_queue *rx_queue_find(struct sock *sk)
{
	return rx_is_marked(sk) ? bpf_sk_storage_get(&path_rx_queue, sk, NULL, 0) : NULL;
}

static __always_inline struct rx_queue *rx_queue_make(struct sock *sk)
{
	__u8 *mark = rx_sock_mark(sk);

	if (mark && !*mark)
		*mark = 1;
	return bpf_sk_storage_get(&path_rx_queue, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline struct rx_task *rx_task_at(__u32 tid)
{
	__u32 place = tid & ((1 << RX_TASKS_BITS) - 1);

	return bpf_map_lookup_elem(&path_rx_tasks, &place);
}

/* The journey is over. Its place is free only once it was told: another processor may be waiting for one. */
static __always_inline void rx_tell(void *ctx, struct path_way *way, __u8 end)
{
	struct path_event *e;
	bool passes = true;

	/* There was nothing in it that anybody had asked for. */
	if (way->tentative) {
		rx_give_back(way);
		return;
	}
	path_way_finish(way, end, rx_counts());
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	if (path_rx_config.mode == EVENT_STREAM) {
		if (!path_is_decided(&path_rx_config, &path_rx_early, way)) {
			path_set_waits(&way->event.data);
			passes = event_passes(&path_rx_config, (const char *)&way->event);
		}
		/* The program adds the waits up again. */
		if (passes)
			event_send(&way->event, path_event_size(&way->event), &path_rx_losses);
	} else {
		path_set_waits(&way->event.data);
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
 * Whether somebody still has a packet of which nobody may be left to say what became of it. The kernel does not count
 * down the last user of what it frees, but takes the route away; and memory that is used again holds another packet.
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
	/* Ports, then the number. */
	return RX_READ(head, way, head) == 0 && RX_READ(transport, way, transport_header) == 0 &&
	       bpf_probe_read_kernel(words, sizeof(words), head + transport) == 0 && bpf_ntohl(words[1]) == e->data.seq;
}

/* The program keeps journeys of a socket, and is told about it; NULL: that is lost. To be handed over by rx_send. */
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
