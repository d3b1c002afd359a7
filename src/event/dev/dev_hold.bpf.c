// SPDX-License-Identifier: GPL-2.0-only
/*
 * dev.hold: from the packet after which a transmit queue was stopped (BQL reached, or ring full) to its wake. The
 * kernel has no tracepoint for either: the stop shows when the driver's function returns, the wake when the qdisc is
 * dequeued again, which the kernel does at once.
 */
#include "event/dev/dev_hold.h"
#include "event/bpf/dev.bpf.h"

EVENT(dev_hold, struct dev_hold_event)

#define STOPPED (DEV_HOLD_DRIVER | DEV_HOLD_BQL)

struct hold {
	__u64 since_ns;
	__u32 limit;
	__u32 inflight;
	__u32 queue;
	__u32 by;
};

/* The queue that the innermost driver on this CPU got a packet for. */
struct given {
	__u64 dev;
	__u32 queue;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* struct netdev_queue * */
	__type(value, struct hold);
} dev_hold_held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct given);
} dev_hold_given SEC(".maps");

static __always_inline struct netdev_queue *queue_of(struct net_device *dev, __u32 queue)
{
	char *first = (char *)BPF_CORE_READ(dev, _tx);

	if (queue >= BPF_CORE_READ(dev, num_tx_queues))
		return NULL;
	return (struct netdev_queue *)(first + (__u64)queue * bpf_core_type_size(struct netdev_queue));
}

static __always_inline void report(void *ctx, struct netdev_queue *txq, __u64 now)
{
	struct net_device *dev = BPF_CORE_READ(txq, dev);
	__u64 key = event_address(txq);
	struct hold *hold = bpf_map_lookup_elem(&dev_hold_held, &key);
	struct dev_hold_event *e;

	if (!hold || BPF_CORE_READ(txq, state) & STOPPED)
		return;
	e = dev_hold_begin();
	if (!e)
		return;
	e->data.lat_ns = now - hold->since_ns;
	e->data.queue = hold->queue;
	e->data.limit = hold->limit;
	e->data.inflight = hold->inflight;
	e->data.by = (__u8)hold->by;
	BPF_CORE_READ_STR_INTO(&e->data.dev, dev, name);
	e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	bpf_map_delete_elem(&dev_hold_held, &key);
	dev_hold_end(ctx, e);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(dev_hold_give, struct sk_buff *skb, struct net_device *dev)
{
	struct netdev_queue *txq = queue_of(dev, skb->queue_mapping);
	struct given *given;
	__u32 zero = 0;

	if (txq)
		report(ctx, txq, bpf_ktime_get_boot_ns());
	given = bpf_map_lookup_elem(&dev_hold_given, &zero);
	if (!given)
		return 0;
	given->dev = event_address(dev);
	given->queue = skb->queue_mapping;
	return 0;
}

static __always_inline void set_limit(struct hold *hold, struct netdev_queue *txq)
{
	struct netdev_queue___bql *with = (void *)txq;

	hold->limit = hold->inflight = EVENT_UNKNOWN32;
	if (!(hold->by & DEV_HOLD_BQL) || !bpf_core_field_exists(with->dql))
		return;
	hold->limit = BPF_CORE_READ(with, dql.limit);
	hold->inflight = BPF_CORE_READ(with, dql.num_queued) - BPF_CORE_READ(with, dql.num_completed);
}

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(dev_hold_return, struct sk_buff *skb, int rc, struct net_device *dev)
{
	struct hold hold = {.since_ns = bpf_ktime_get_boot_ns()};
	struct netdev_queue *txq;
	struct given *given;
	__u32 zero = 0;
	__u64 key;

	/* The packet may be freed by now. */
	given = bpf_map_lookup_elem(&dev_hold_given, &zero);
	if (!given || given->dev != event_address(dev))
		return 0;
	txq = queue_of(dev, given->queue);
	if (!txq)
		return 0;
	hold.by = BPF_CORE_READ(txq, state) & STOPPED;
	if (!hold.by)
		return 0;
	hold.queue = given->queue;
	set_limit(&hold, txq);
	key = event_address(txq);
	/* A queue that is stopped already keeps its start time. */
	if (!bpf_map_lookup_elem(&dev_hold_held, &key))
		event_remember(&dev_hold_held, &key, &hold, &dev_hold_losses);
	return 0;
}

SEC("tp_btf/qdisc_dequeue")
int BPF_PROG(dev_hold_ask, struct Qdisc *qdisc, struct netdev_queue *txq)
{
	report(ctx, txq, bpf_ktime_get_boot_ns());
	return 0;
}
