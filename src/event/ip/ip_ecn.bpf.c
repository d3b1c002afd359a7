// SPDX-License-Identifier: GPL-2.0-only
/*
 * ip.ecn: packets with ECN bits set. Transmitted packets are read after the qdisc, which may mark them. Packets without
 * the bits cost one read.
 */
#include "event/ip/ip_ecn.h"
#include "event/bpf/flow_owner.bpf.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(ip_ecn, struct ip_ecn_event)
FLOW_OWNERS(ip_ecn)

#define ECN_BITS 3

/* The byte with DSCP and ECN; 0 if not IP. */
static __always_inline __u8 traffic_class(struct sk_buff *skb, __u32 network)
{
	const unsigned char *ip = skb->head + network;
	__u8 bytes[2] = {};

	bpf_probe_read_kernel(bytes, sizeof(bytes), ip);
	if (skb->protocol == bpf_htons(ETH_P_IP))
		return bytes[1];
	if (skb->protocol == bpf_htons(ETH_P_IPV6))
		return (__u8)(bytes[0] << 4 | bytes[1] >> 4);
	return 0;
}

static __always_inline struct ip_ecn_event *packet_begin(struct sk_buff *skb, __u32 network,
							 const struct packet *packet, __u8 dir)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(skb->head + skb->end);
	struct ip_ecn_event *e = ip_ecn_begin();
	__u8 class = traffic_class(skb, network);
	__u16 segs;

	if (!e)
		return NULL;
	packet_set_endpoints(&e->head, packet, dir);
	packet_set_dev(&e->head, e->data.dev, skb->dev);
	segs = BPF_CORE_READ(shared, gso_segs);
	e->data.segs = segs ? segs : 1;
	e->data.bytes = packet_bytes_from(skb, network);
	e->data.ecn = class & ECN_BITS;
	e->data.dscp = class >> 2;
	e->data.dir = dir;
	return e;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(ip_ecn_received, struct sk_buff *skb)
{
	__u32 network = (__u32)(skb->data - skb->head);
	__u8 class = traffic_class(skb, network);
	struct ip_ecn_event *e;
	struct packet packet;

	if (!(class & ECN_BITS) || !packet_read_at(&packet, skb, network))
		return 0;
	e = packet_begin(skb, network, &packet, PACKET_RX);
	if (!e)
		return 0;
	ip_ecn_recall_owner(&e->head);
	return ip_ecn_end(ctx, e);
}

/* ACKs carry no marks, but identify the owner of the connection that gets marked packets. */
static __always_inline bool uses_marks(struct sock *sk)
{
	return is_tcp(sk) && BPF_CORE_READ((struct tcp_sock *)sk, ecn_flags);
}

static __always_inline void note_sender(struct sk_buff *skb, const struct packet *packet, struct sock *sk)
{
	struct event_head head = {};
	struct net_device *dev = skb->dev;

	if (!dev)
		return;
	packet_set_endpoints(&head, packet, PACKET_TX);
	head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	ip_ecn_note_owner(&head, sk);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(ip_ecn_sent, struct sk_buff *skb)
{
	__u8 class = traffic_class(skb, skb->network_header);
	struct sock *sk = skb->sk;
	struct ip_ecn_event *e;
	struct packet packet;

	if (sk && !is_whole(sk))
		sk = NULL;
	if (!(class & ECN_BITS) && (!sk || !uses_marks(sk)))
		return 0;
	if (!packet_read(&packet, skb))
		return 0;
	if (sk)
		note_sender(skb, &packet, sk);
	if (!(class & ECN_BITS))
		return 0;
	e = packet_begin(skb, skb->network_header, &packet, PACKET_TX);
	if (!e)
		return 0;
	if (sk) {
		event_set_owner(&ip_ecn_config, &e->head, sk);
		e->head.cookie = (__u64)sk->__sk_common.skc_cookie.counter;
	}
	return ip_ecn_end(ctx, e);
}
