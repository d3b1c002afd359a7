// SPDX-License-Identifier: GPL-2.0-only
/* tcp.reset: resets received and sent. */
#include "event/tcp/tcp_reset.h"
#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_reset, struct tcp_reset_event)

/* Requests of an exchange have few segments; a connection for more of them has sent more. */
#define ONE_REQUEST 2
/* Ticks of the kernel's clock: the answer is whole when nothing follows for that long. */
#define PAUSE_TICKS 2
/* So long, one to ten seconds with the usual clocks, no program waits for the rest of an answer. */
#define REST_TICKS 1000

/* A FIN that is not acknowledged is no data. */
static __always_inline __u32 unacked_bytes(struct tcp_sock *tp, __u8 state)
{
	__u32 unacked = BPF_CORE_READ(tp, snd_nxt) - BPF_CORE_READ(tp, snd_una);
	bool fin = state == SOCKET_FIN_WAIT1 || state == SOCKET_CLOSING || state == SOCKET_LAST_ACK;

	return unacked - (fin && unacked);
}

/* Times of data are in ticks: of data sent and received in the same tick, an answer is the later. */
static __always_inline __u8 after_what(struct sock *sk)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	__u8 state = sk->__sk_common.skc_state;
	__u32 sent_at, received_at, rest;
	__u64 received;

	if (state == SOCKET_SYN_SENT || state == SOCKET_SYN_RECV)
		return TCP_RESET_AFTER_SYN;
	received = BPF_CORE_READ(tp, bytes_received);
	if (!received && !BPF_CORE_READ(tp, bytes_sent))
		return TCP_RESET_AFTER_NOTHING;
	sent_at = BPF_CORE_READ(tp, lsndtime);
	received_at = BPF_CORE_READ(tp, inet_conn.icsk_ack.lrcvtime);
	if (!received || unacked_bytes(tp, state) || (__s32)(sent_at - received_at) > 0)
		return TCP_RESET_AFTER_SENDING;
	rest = (__u32)bpf_jiffies64() - received_at;
	if (rest >= REST_TICKS || (rest >= PAUSE_TICKS && BPF_CORE_READ(tp, data_segs_out) <= ONE_REQUEST))
		return TCP_RESET_AFTER_ANSWER;
	return TCP_RESET_AFTER_RECEIVING;
}

SEC("tp_btf/tcp_receive_reset")
int BPF_PROG(tcp_reset_received, struct sock *sk)
{
	struct tcp_reset_event *e = tcp_reset_begin();

	if (!e)
		return 0;
	event_set_sock(&tcp_reset_config, &e->head, sk);
	e->data.reason = EVENT_UNKNOWN32;
	e->data.dir = PACKET_RX;
	e->data.after = after_what(sk);
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
