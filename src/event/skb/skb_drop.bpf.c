// SPDX-License-Identifier: GPL-2.0-only
/*
 * skb.drop: a dropped packet. The kernel reports the reason (5.17 and later) and the receiving socket (6.11 and later).
 */
#include "event/skb/skb_drop.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"
#include "event/skb/drop_counter.bpf.h"

EVENT(skb_drop, struct skb_drop_event)

/* The socket of a packet may be one that the verifier does not know: it can only be read with helpers. */
static __always_inline void set_drop_sock(struct skb_drop_event *e, struct sock *sk)
{
	__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);

	e->data.state = state;
	if (skb_drop_config.needs & EVENT_NEED_NETNS)
		e->head.netns = event_netns_of(sk);
	if (state == SOCKET_TIME_WAIT || state == SOCKET_NEW_SYN_RECV)
		return;
	event_set_owner(&skb_drop_config, &e->head, sk);
	e->head.cookie = (__u64)BPF_CORE_READ(sk, __sk_common.skc_cookie.counter);
}

/*
 * TCP reuses skb->dev for other data while a packet is in its queues: with a socket it must be the interface of
 * arrival or, of a packet that leaves, an interface in the namespace of the socket.
 */
static __always_inline void set_drop_dev(struct skb_drop_event *e, struct sk_buff *skb, bool with_sock)
{
	struct net_device *dev = BPF_CORE_READ(skb, dev);
	__u32 netns;

	if (!dev || (with_sock && skb->skb_iif && (__u32)BPF_CORE_READ(dev, ifindex) != (__u32)skb->skb_iif))
		return;
	netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	if (with_sock && (e->head.netns || !skb->skb_iif) && (!netns || netns != e->head.netns))
		return;
	bpf_probe_read_kernel_str(e->data.dev, sizeof(e->data.dev), dev->name);
	if (!with_sock)
		e->head.netns = netns;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(skb_drop_free, struct sk_buff *skb, void *location)
{
	struct skb_drop_event *e;
	struct packet_tcp tcp;
	struct packet packet;
	struct sock *sk;
	bool with_sock = false;

	e = skb_drop_begin();
	if (!e)
		return 0;
	e->data.location = (__u64)location;
	e->data.bytes = skb->len;
	e->data.dir = skb->skb_iif ? PACKET_RX : PACKET_TX;
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		e->data.reason = (__u32)ctx[2];
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___socket, rx_sk)) {
		sk = (struct sock *)ctx[3];
		if (sk) {
			set_drop_sock(e, sk);
			with_sock = true;
		}
	}
	/* A packet received over a virtual link still has its sender's socket. Its owner needs a trusted one. */
	sk = event_needs_owner(&skb_drop_config) ? skb->sk : BPF_CORE_READ(skb, sk);
	if (sk && e->data.dir == PACKET_TX && !with_sock) {
		set_drop_sock(e, sk);
		with_sock = true;
	}
	set_drop_dev(e, skb, with_sock);
	if (packet_read(&packet, skb)) {
		packet_set_endpoints(&e->head, &packet, e->data.dir);
		if (packet_read_tcp(&tcp, &packet, skb))
			e->data.flags = tcp.flags;
	}
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		e->data.counter = drop_counter(e->data.reason, skb->protocol, e->head.proto, e->data.flags);
	return skb_drop_end(ctx, e);
}
