// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.packet: TCP packets entering and leaving the stack of this host. A received packet has no socket yet, so the
 * owner of each connection is saved from what it sends.
 */
#include "event/tcp/tcp_packet.h"
#include "event/bpf/flow_owner.bpf.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_packet, struct tcp_packet_event)
FLOW_OWNERS(tcp_packet)

/* All fields from the packet itself; NULL if it is not TCP. */
static __always_inline struct tcp_packet_event *packet_begin(struct sk_buff *skb, __u32 network, __u8 dir)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(skb->head + skb->end);
	struct net_device *dev = skb->dev;
	struct tcp_packet_event *e;
	struct packet packet;
	struct packet_tcp tcp;

	if (!packet_read_at(&packet, skb, network) || !packet_read_tcp(&tcp, &packet, skb))
		return NULL;
	e = tcp_packet_begin();
	if (!e)
		return NULL;
	packet_set_endpoints(&e->head, &packet, dir);
	e->data.dir = dir;
	e->data.bytes = tcp.bytes;
	e->data.seq = tcp.seq;
	e->data.ack = tcp.ack;
	e->data.window = tcp.window;
	e->data.flags = tcp.flags;
	e->data.gso_bytes = BPF_CORE_READ(shared, gso_size);
	if (dev) {
		bpf_probe_read_kernel_str(e->data.dev, sizeof(e->data.dev), dev->name);
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	}
	return e;
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(tcp_packet_sent, struct sk_buff *skb)
{
	struct tcp_packet_event *e;
	struct sock *sk;

	/* Forwarded packets are not sent by this host. */
	if (skb->skb_iif)
		return 0;
	e = packet_begin(skb, skb->network_header, PACKET_TX);
	if (!e)
		return 0;
	sk = skb->sk;
	if (sk && is_whole(sk)) {
		event_set_owner(&tcp_packet_config, &e->head, sk);
		e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
		tcp_packet_note_owner(&e->head, sk);
	}
	return tcp_packet_end(ctx, e);
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(tcp_packet_received, struct sk_buff *skb)
{
	struct tcp_packet_event *e;

	if (BPF_CORE_READ_BITFIELD(skb, pkt_type) != PACKET_HOST)
		return 0;
	e = packet_begin(skb, (__u32)(skb->data - skb->head), PACKET_RX);
	if (!e)
		return 0;
	tcp_packet_recall_owner(&e->head);
	return tcp_packet_end(ctx, e);
}
