// SPDX-License-Identifier: GPL-2.0-only
/*
 * dev.queue, dev.xmit: the stack passes a packet to an interface, and its driver gets it; dev.arrive, dev.receive: the
 * driver delivers a packet, and the stack gets it. GSO and GRO happen between the two of each pair.
 */
#include "event/dev/dev_packet.h"
#include "event/bpf/dev.bpf.h"

EVENT(dev_queue, struct dev_packet_event)
EVENT(dev_xmit, struct dev_packet_event)
EVENT(dev_arrive, struct dev_packet_event)
EVENT(dev_receive, struct dev_packet_event)

static __always_inline void fill_sent(const volatile struct event_config *config, struct dev_packet_event *e,
				      struct sk_buff *skb, struct net_device *dev)
{
	struct sock *sk = skb->sk;
	struct packet packet;

	e->data.dir = PACKET_TX;
	e->data.bytes = skb->len;
	e->data.queue = skb->queue_mapping;
	e->data.segs = dev_segs(skb);
	if (dev)
		dev_set_name(e->data.dev, &e->head, dev);
	if (sk && is_whole(sk))
		event_set_owner(config, &e->head, sk);
	if (config->needs & EVENT_NEED_ENDPOINTS && packet_read(&packet, skb))
		packet_set_endpoints(&e->head, &packet, PACKET_TX);
}

static __always_inline void fill_received(const volatile struct event_config *config, struct dev_packet_event *e,
					  struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct packet packet;

	e->data.dir = PACKET_RX;
	e->data.bytes = dev_rx_bytes(skb);
	e->data.queue = dev_rx_queue(skb);
	e->data.segs = dev_segs(skb);
	if (dev)
		dev_set_name(e->data.dev, &e->head, dev);
	if (config->needs & EVENT_NEED_ENDPOINTS && packet_read_at(&packet, skb, (__u32)(skb->data - skb->head)))
		packet_set_endpoints(&e->head, &packet, PACKET_RX);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(dev_queue_sent, struct sk_buff *skb)
{
	struct dev_packet_event *e = dev_queue_begin();

	if (!e)
		return 0;
	fill_sent(&dev_queue_config, e, skb, skb->dev);
	e->data.stage = DEV_SEND;
	return dev_queue_end(ctx, e);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(dev_xmit_start, struct sk_buff *skb, struct net_device *dev)
{
	struct dev_packet_event *e = dev_xmit_begin();

	if (!e)
		return 0;
	fill_sent(&dev_xmit_config, e, skb, dev);
	e->data.stage = DEV_NIC_SEND;
	return dev_xmit_end(ctx, e);
}

static __always_inline int report_arrival(void *ctx, struct sk_buff *skb)
{
	struct dev_packet_event *e = dev_arrive_begin();

	if (!e)
		return 0;
	fill_received(&dev_arrive_config, e, skb);
	e->data.stage = DEV_NIC_RECV;
	return dev_arrive_end(ctx, e);
}

/* The functions by which drivers deliver packets; each packet takes one of them. */
SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(dev_arrive_gro, struct sk_buff *skb)
{
	return report_arrival(ctx, skb);
}

SEC("tp_btf/napi_gro_frags_entry")
int BPF_PROG(dev_arrive_frags, struct sk_buff *skb)
{
	return report_arrival(ctx, skb);
}

SEC("tp_btf/netif_receive_skb_entry")
int BPF_PROG(dev_arrive_direct, struct sk_buff *skb)
{
	return report_arrival(ctx, skb);
}

SEC("tp_btf/netif_receive_skb_list_entry")
int BPF_PROG(dev_arrive_list, struct sk_buff *skb)
{
	return report_arrival(ctx, skb);
}

SEC("tp_btf/netif_rx")
int BPF_PROG(dev_arrive_backlog, struct sk_buff *skb)
{
	return report_arrival(ctx, skb);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(dev_receive_packet, struct sk_buff *skb)
{
	struct dev_packet_event *e = dev_receive_begin();

	if (!e)
		return 0;
	fill_received(&dev_receive_config, e, skb);
	e->data.stage = DEV_RECV;
	return dev_receive_end(ctx, e);
}
