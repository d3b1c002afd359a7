// SPDX-License-Identifier: GPL-2.0-only
/*
 * One program where both directions pass the same hook: a second one would cost every packet of the host as much as the
 * first. The verifier prunes what a run does not need.
 */
#include "event/path/path_arrive.bpf.h"
#include "event/path/path_deliver.bpf.h"
#include "event/path/path_gone.bpf.h"
#include "event/path/path_leave.bpf.h"
#include "event/path/path_reader.bpf.h"

#define RX (path_rx_config.asked)
#define TX (path_tx_config.asked)

SEC("tp_btf/net_dev_queue")
int BPF_PROG(path_queue, struct sk_buff *skb)
{
	struct path_mark now = {};

	/* Locally generated packets did not arrive. */
	if (RX && skb->skb_iif)
		rx_forward(skb);
	if (TX && !skb->skb_iif)
		tx_queue(ctx, skb, &now);
	if (RX && !path_is_xmit_seen())
		rx_depart(skb, &now);
	if (!PATH_SEES_QUEUES)
		path_want_xmit();
	return 0;
}

SEC("tp_btf/qdisc_enqueue")
int BPF_PROG(path_enqueue, struct Qdisc *qdisc, const struct netdev_queue *txq, struct sk_buff *skb)
{
	__u64 ahead = (__u64)qdisc->q.qlen + 1;

	if (RX)
		rx_enqueue(skb, ahead);
	if (TX)
		tx_enqueue(skb, ahead);
	return 0;
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(path_xmit, struct sk_buff *skb)
{
	struct path_mark now = {};

	if (!path_is_xmit_seen())
		path_sees_xmit = 1;
	if (TX)
		tx_xmit(skb, &now);
	if (RX)
		rx_xmit(skb, &now);
	return 0;
}

SEC("tp_btf/net_dev_xmit")
int BPF_PROG(path_xmitted, struct sk_buff *skb, int result, struct net_device *dev)
{
	if (RX)
		rx_forwarded(ctx, skb, result);
	if (TX)
		tx_xmitted(ctx, skb, result, dev);
	return 0;
}

SEC("tp_btf/napi_gro_receive_entry")
int BPF_PROG(path_gro, struct sk_buff *skb)
{
	if (RX)
		(void)into_gro(skb);
	if (TX) {
		tx_taken(ctx, skb);
		packet_forget(path_id(skb));
	}
	return 0;
}

/* ACK number of the packet; 0: unreadable. Usually the header was already parsed on arrival. */
static __always_inline __u32 acknowledged(struct sk_buff *skb)
{
	struct rx_cpu *cpu = RX ? rx_this_cpu() : NULL;
	__be32 ack;

	if (cpu && cpu->ack && cpu->skb == path_id(skb))
		return cpu->ack;
	return bpf_probe_read_kernel(&ack, sizeof(ack), skb->head + skb->transport_header + 8) < 0 ? 0 : bpf_ntohl(ack);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(path_tcp, struct sock *sk, struct sk_buff *skb)
{
	struct path_mark now = {};
	__u32 ack;

	if (RX)
		rx_tcp(ctx, sk, skb, &now);
	if (TX && path_is_sock_chosen(sk) && (ack = acknowledged(skb)))
		tx_ack(ctx, sk, ack, &now);
	return 0;
}

#include "event/path/path_close.bpf.h"
#include "event/path/path_few.bpf.h"

SEC("tp_btf/consume_skb")
int BPF_PROG(path_consume, struct sk_buff *skb)
{
	if (RX)
		rx_consume(ctx, skb);
	if (TX)
		tx_consume(ctx, skb);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(path_rx_drop, struct sk_buff *skb)
{
	rx_drop(ctx, skb);
	return 0;
}
