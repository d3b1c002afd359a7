/* SPDX-License-Identifier: GPL-2.0-only */
/* Packet accessors common to interface events. */
#pragma once

#include "event/bpf/packet.bpf.h"
#include "event/bpf/tcp.bpf.h"

/* The kernel stores the queue plus one; 0: not recorded. */
static __always_inline __u32 dev_rx_queue(const struct sk_buff *skb)
{
	return skb->queue_mapping ? skb->queue_mapping - 1u : EVENT_UNKNOWN32;
}

static __always_inline __u16 dev_segs(struct sk_buff *skb)
{
	struct skb_shared_info *shared = (struct skb_shared_info *)(skb->head + skb->end);
	__u16 segs = BPF_CORE_READ(shared, gso_segs);

	return segs ? segs : 1;
}

/* Link header included, which is already pulled when a packet arrives. */
static __always_inline __u32 dev_rx_bytes(const struct sk_buff *skb)
{
	__u32 at = (__u32)(skb->data - skb->head), header = skb->mac_header;

	return skb->len + (header != 0xffff && header < at ? at - header : 0);
}

static __always_inline void dev_set_name(char *name, struct event_head *head, struct net_device *dev)
{
	bpf_probe_read_kernel_str(name, PACKET_DEV_LEN, dev->name);
	head->netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
}
