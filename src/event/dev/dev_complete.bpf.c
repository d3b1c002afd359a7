// SPDX-License-Identifier: GPL-2.0-only
/*
 * dev.complete: from the driver getting a packet to its completion. The driver of a virtual interface does not complete
 * it but passes it on: to the receiving side, or to a lower interface.
 */
#include "event/dev/dev_complete.h"
#include "event/bpf/dev.bpf.h"

EVENT(dev_complete, struct dev_complete_event)

struct in_driver {
	__u64 since_ns;
	char dev[PACKET_DEV_LEN];
	__u32 netns;
	__u32 queue;
	__u32 bytes;
	__u32 returned; /* ndo_start_xmit has returned, the driver keeps the packet */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, struct in_driver);
} dev_complete_packets SEC(".maps");

static __always_inline void report(void *ctx, struct sk_buff *skb, struct in_driver *in, __u8 end)
{
	__u64 key = event_address(skb), now = bpf_ktime_get_boot_ns();
	struct dev_complete_event *e = dev_complete_begin();
	struct packet packet;
	struct sock *sk;

	if (!e)
		return;
	e->data.lat_ns = now - in->since_ns;
	__builtin_memcpy(e->data.dev, in->dev, sizeof(e->data.dev));
	e->data.queue = in->queue;
	e->data.bytes = in->bytes;
	e->data.end = end;
	e->head.netns = in->netns;
	bpf_map_delete_elem(&dev_complete_packets, &key);
	/* On the receiving side it no longer has an owner. */
	sk = end == DEV_HANDED_ON ? NULL : skb->sk;
	if (sk && is_whole(sk))
		event_set_owner(&dev_complete_config, &e->head, sk);
	if (dev_complete_config.needs & EVENT_NEED_ENDPOINTS && packet_read(&packet, skb))
		packet_set_endpoints(&e->head, &packet, PACKET_TX);
	dev_complete_end(ctx, e);
}

static __always_inline int report_if_known(void *ctx, struct sk_buff *skb, __u8 end)
{
	__u64 key = event_address(skb);
	struct in_driver *in = bpf_map_lookup_elem(&dev_complete_packets, &key);

	if (in)
		report(ctx, skb, in, end);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(dev_complete_start, struct sk_buff *skb, struct net_device *dev)
{
	struct in_driver in = {.since_ns = bpf_ktime_get_boot_ns(), .queue = skb->queue_mapping, .bytes = skb->len};
	__u64 key = event_address(skb);

	bpf_probe_read_kernel_str(in.dev, sizeof(in.dev), dev->name);
	in.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	event_remember(&dev_complete_packets, &key, &in, &dev_complete_losses);
	return 0;
}

/* NETDEV_TX_BUSY: the packet is requeued and offered again. */
SEC("tp_btf/net_dev_xmit")
int BPF_PROG(dev_complete_return, struct sk_buff *skb, int rc)
{
	__u64 key = event_address(skb);
	struct in_driver *in = bpf_map_lookup_elem(&dev_complete_packets, &key);

	if (!in)
		return 0;
	if (rc == 0)
		in->returned = 1;
	else
		bpf_map_delete_elem(&dev_complete_packets, &key);
	return 0;
}

SEC("tp_btf/consume_skb")
int BPF_PROG(dev_complete_consumed, struct sk_buff *skb)
{
	return report_if_known(ctx, skb, DEV_CONSUMED);
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(dev_complete_freed, struct sk_buff *skb)
{
	return report_if_known(ctx, skb, DEV_FREED);
}

/*
 * To another interface. After the driver's function has returned, this is another packet at the same address: freeing
 * of the previous one was not seen.
 */
SEC("tp_btf/net_dev_queue")
int BPF_PROG(dev_complete_below, struct sk_buff *skb)
{
	__u64 key = event_address(skb);
	struct in_driver *in = bpf_map_lookup_elem(&dev_complete_packets, &key);

	if (!in)
		return 0;
	if (in->returned)
		bpf_map_delete_elem(&dev_complete_packets, &key);
	else
		report(ctx, skb, in, DEV_HANDED_ON);
	return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(dev_complete_backlog, struct sk_buff *skb)
{
	return report_if_known(ctx, skb, DEV_HANDED_ON);
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(dev_complete_gro, struct sk_buff *skb)
{
	return report_if_known(ctx, skb, DEV_HANDED_ON);
}
