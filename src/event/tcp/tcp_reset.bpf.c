// SPDX-License-Identifier: GPL-2.0-only
/* tcp.reset: resets received and sent. */
#include "event/tcp/tcp_reset.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_reset, struct tcp_reset_event)

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(tcp_reset_received, struct sock *sk)
{
	struct tcp_reset_event *e = tcp_reset_begin();

	if (!e)
		return 0;
	event_set_sock(&tcp_reset_config, &e->head, sk);
	e->data.reason = EVENT_UNKNOWN32;
	e->data.dir = PACKET_RX;
	e->data.state = sk->__sk_common.skc_state;
	return tcp_reset_end(ctx, e);
}

/* No connection: take the addresses from the packet that is answered. */
static __always_inline void set_answered(struct tcp_reset_event *e, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct packet packet;

	if (packet_read(&packet, skb))
		packet_set_endpoints(&e->head, &packet, PACKET_RX);
	if (dev && !e->head.netns)
		e->head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
}

SEC("tp_btf/tcp_send_reset")
int BPF_PROG(tcp_reset_sent, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_reset_event *e = tcp_reset_begin();
	bool known = false;

	if (!e)
		return 0;
	e->data.dir = PACKET_TX;
	e->data.reason = EVENT_UNKNOWN32;
	if (bpf_core_field_exists(struct trace_event_raw_tcp_send_reset___reason, reason))
		e->data.reason = (__u32)ctx[2];
	if (sk) {
		e->data.state = sk->__sk_common.skc_state;
		if (is_whole(sk)) {
			event_set_sock(&tcp_reset_config, &e->head, sk);
			/* A listener has no peer. */
			known = e->data.state != SOCKET_LISTEN;
		}
	}
	if (!known && skb)
		set_answered(e, skb);
	return tcp_reset_end(ctx, e);
}
