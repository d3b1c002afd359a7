// SPDX-License-Identifier: GPL-2.0-only
/*
 * qdisc.wait: from enqueue to dequeue of a packet. A qdisc that splits GSO packets (tbf, cake, netem) has freed the
 * packet by the time of the enqueue tracepoint, and dequeues segments that were never enqueued. They are matched by
 * sequence number: the packet about to be enqueued on this CPU is saved just before.
 */
#include "event/dev/qdisc_wait.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(qdisc_wait, struct qdisc_wait_event)

/* GSO packets of one flow that may wait as segments. A power of two. */
#define SPLITS_MAX 32
/* Packets of one bulk dequeue that are inspected. */
#define BULK_MAX 64

struct flow {
	struct addr source;
	struct addr destination;
	__u16 source_port;
	__u16 destination_port;
	__u32 ifindex;
};

struct split {
	__u64 since_ns;
	__u32 seq;
	__u32 bytes;
};

struct splits {
	__u64 next;
	struct split of[SPLITS_MAX];
};

/* The GSO packet that this CPU is about to enqueue. */
struct in_hand {
	__u64 skb;
	struct flow flow;
	__u32 seq;
	__u32 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u64);
} qdisc_wait_since SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct flow);
	__type(value, struct splits);
} qdisc_wait_splits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct in_hand);
} qdisc_wait_in_hand SEC(".maps");

/*
 * Data of a dequeued packet: too large for the BPF stack of older kernels. Dequeue runs with softirqs off, so a CPU
 * never does it twice at once.
 */
struct scratch {
	struct packet packet;
	struct packet_tcp tcp;
	struct flow flow;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} qdisc_wait_scratch SEC(".maps");

static const volatile struct splits no_splits = {};

static __always_inline void set_flow(struct flow *flow, const struct packet *packet, struct net_device *dev)
{
	__builtin_memset(flow, 0, sizeof(*flow));
	flow->source = packet->source;
	flow->destination = packet->destination;
	flow->source_port = packet->source_port;
	flow->destination_port = packet->destination_port;
	/* Unique per namespace only; the addresses distinguish the rest. */
	flow->ifindex = (__u32)BPF_CORE_READ(dev, ifindex);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(qdisc_wait_prepare, struct sk_buff *skb)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(skb->head + skb->end);
	struct in_hand *hand;
	struct packet packet;
	struct packet_tcp tcp;
	__u32 zero = 0;

	if (!BPF_CORE_READ(shared, gso_size) || !packet_read(&packet, skb) || !packet_read_tcp(&tcp, &packet, skb))
		return 0;
	hand = bpf_map_lookup_elem(&qdisc_wait_in_hand, &zero);
	if (!hand)
		return 0;
	set_flow(&hand->flow, &packet, skb->dev);
	hand->seq = tcp.seq;
	hand->bytes = tcp.bytes;
	hand->skb = event_address(skb);
	return 0;
}

static __always_inline void remember_split(struct in_hand *hand, __u64 now)
{
	struct splits *splits = bpf_map_lookup_elem(&qdisc_wait_splits, &hand->flow);
	struct split *split;

	if (!splits) {
		bpf_map_update_elem(&qdisc_wait_splits, &hand->flow, (const void *)&no_splits, BPF_NOEXIST);
		splits = bpf_map_lookup_elem(&qdisc_wait_splits, &hand->flow);
		if (!splits)
			return;
	}
	split = &splits->of[splits->next++ & (SPLITS_MAX - 1)];
	split->since_ns = now;
	split->seq = hand->seq;
	split->bytes = hand->bytes;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(qdisc_wait_enter, struct Qdisc *qdisc, const struct netdev_queue *txq, struct sk_buff *skb)
{
	__u64 key = event_address(skb), now = bpf_ktime_get_boot_ns();
	struct in_hand *hand;
	__u32 zero = 0;

	bpf_map_update_elem(&qdisc_wait_since, &key, &now, BPF_ANY);
	hand = bpf_map_lookup_elem(&qdisc_wait_in_hand, &zero);
	if (hand && hand->skb == key) {
		hand->skb = 0;
		remember_split(hand, now);
	}
	return 0;
}

/* Enqueue time of the packet that this segment belongs to; 0: unknown. */
static __always_inline __u64 split_since(struct sk_buff *skb, struct scratch *of)
{
	struct splits *splits;
	__u64 since = 0;

	if (!packet_read_tcp(&of->tcp, &of->packet, skb) || !of->tcp.bytes)
		return 0;
	set_flow(&of->flow, &of->packet, skb->dev);
	splits = bpf_map_lookup_elem(&qdisc_wait_splits, &of->flow);
	if (!splits)
		return 0;
	for (int i = 0; i < SPLITS_MAX; i++) {
		struct split *split = &splits->of[i];

		/* A retransmission appears twice: the earlier one was dequeued already. */
		if (of->tcp.seq - split->seq < split->bytes && split->since_ns > since)
			since = split->since_ns;
	}
	return since;
}

/* sk: socket of the packet, if its owner may be read. One copy for both callers: two exceed the BPF stack of 6.1. */
static __noinline void report(void *ctx, struct Qdisc *qdisc, struct sk_buff *skb, struct sock *sk)
{
	__u64 key = event_address(skb), now = bpf_ktime_get_boot_ns(), *since, split = 0;
	struct qdisc_wait_event *e = qdisc_wait_begin();
	struct net_device *dev = skb->dev;
	struct skb_shared_info *shared;
	struct scratch *of;
	__u32 zero = 0;
	__u16 segs;

	if (!e)
		return;
	of = bpf_map_lookup_elem(&qdisc_wait_scratch, &zero);
	shared = (struct skb_shared_info *)(skb->head + skb->end);
	segs = BPF_CORE_READ(shared, gso_segs);
	e->data.segs = segs ? segs : 1;
	if (sk && is_whole(sk))
		event_set_owner(&qdisc_wait_config, &e->head, sk);
	if (dev) {
		bpf_probe_read_kernel_str(e->data.dev, sizeof(e->data.dev), dev->name);
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	since = bpf_map_lookup_elem(&qdisc_wait_since, &key);
	if (of && packet_read(&of->packet, skb)) {
		packet_set_endpoints(&e->head, &of->packet, PACKET_TX);
		if (!since)
			split = split_since(skb, of);
	}
	e->data.split = split != 0;
	e->data.lat_ns = EVENT_UNKNOWN64;
	if (since) {
		e->data.lat_ns = now - *since;
		bpf_map_delete_elem(&qdisc_wait_since, &key);
	} else if (split) {
		e->data.lat_ns = now - split;
	}
	bpf_probe_read_kernel_str(e->data.kind, sizeof(e->data.kind), BPF_CORE_READ(qdisc, ops, id));
	e->data.handle = qdisc->handle;
	e->data.bytes = skb->len;
	e->data.qlen = qdisc->q.qlen;
	qdisc_wait_end(ctx, e);
}

struct bulk {
	void *ctx;
	struct Qdisc *qdisc;
	struct sk_buff *skb;
};

/* The verifier refuses socket storage for a packet found through another one. */
static long report_next(__u32 index, struct bulk *bulk)
{
	struct sk_buff *skb = bulk->skb;

	if (!skb)
		return 1;
	report(bulk->ctx, bulk->qdisc, skb, NULL);
	bulk->skb = skb->next;
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(qdisc_wait_leave, struct Qdisc *qdisc, const struct netdev_queue *txq, int packets, struct sk_buff *skb)
{
	struct bulk bulk = {.ctx = ctx, .qdisc = qdisc};
	__u32 turns;

	/* The tracepoint also fires for an empty dequeue. */
	if (!skb || packets < 1)
		return 0;
	report(ctx, qdisc, skb, skb->sk);
	if (packets > 1) {
		bulk.skb = skb->next;
		turns = EVENT_LOOP((__u32)packets - 1, BULK_MAX, report_next, &bulk);
		if (bulk.skb && turns < (__u32)packets - 1)
			__sync_fetch_and_add(&qdisc_wait_losses.memory, (__u32)packets - 1 - turns);
	}
	return 0;
}
