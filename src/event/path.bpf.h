/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A journey under construction. Marks on the way append steps, each from where the last one ended, so that the steps add
 * up to the whole whatever happens.
 *
 * What is kept by the address of a packet lies in plain arrays, at a place that follows from the address: a look costs
 * next to nothing, which every packet of the host pays for, and two packets that want the same place (one in
 * thousands) cost the older one its journey.
 */
#pragma once

#include "event/packet.bpf.h"
#include "event/path_steps.h"

/* One flow in so many is followed; 0 and 1: all. The program may change it at any time. */
__u32 path_sample __weak;

static __always_inline struct path_mark path_now(__u8 context)
{
	return (struct path_mark){.ns = bpf_ktime_get_boot_ns(),
				  .note = PATH_NO_NOTE,
				  .cpu = (__u16)bpf_get_smp_processor_id(),
				  .context = context};
}

/*
 * A packet's address as a number, less one that does not change: the verifier lets nobody reckon with an address, except
 * take one from another.
 */
static __always_inline __u64 path_id(const struct sk_buff *skb)
{
	__u64 id = (__u64)skb;

	asm volatile("%0 -= %1" : "+r"(id) : "r"(&path_sample));
	return id;
}

/* The place of an address or a number in a table of a power of two entries. */
static __always_inline __u32 path_place(__u64 key, __u32 bits)
{
	return (__u32)(key * 0x9e3779b97f4a7c15ull >> (64 - bits));
}

/* The same for both directions of a flow. */
static __always_inline __u32 path_hash(const struct addr *one, const struct addr *other, __u32 port, __u32 other_port)
{
	const __u64 *a = (const __u64 *)one->bytes, *b = (const __u64 *)other->bytes;
	__u64 hash = (a[0] ^ b[0]) * 31 + (a[1] ^ b[1]);

	hash = (hash ^ (port ^ other_port) ^ (__u64)(port + other_port) << 32) * 0x9e3779b97f4a7c15ull;
	return (__u32)(hash >> 32);
}

static __always_inline bool path_is_chosen(const struct packet *packet)
{
	__u32 sample = *(volatile __u32 *)&path_sample;

	return sample <= 1 ||
	       path_hash(&packet->source, &packet->destination, packet->source_port, packet->destination_port) %
			       sample ==
		       0;
}

/* The headers of most packets, with one look; the rest is left to those who know all of them. */
static __always_inline bool path_read_headers(struct packet *packet, struct packet_tcp *tcp, struct sk_buff *skb,
					      __u32 network)
{
	struct {
		struct iphdr ip;
		struct tcphdr tcp;
	} at;
	__u32 total;

	__builtin_memset(packet, 0, sizeof(*packet));
	__builtin_memset(tcp, 0, sizeof(*tcp));
	if (skb->protocol != bpf_htons(ETH_P_IP) || bpf_probe_read_kernel(&at, sizeof(at), skb->head + network) < 0 ||
	    *(const __u8 *)&at != 0x45 || at.ip.protocol != IPPROTO_TCP || at.ip.frag_off & bpf_htons(0x1fff) ||
	    !at.ip.tot_len) {
		if (!packet_read_at(packet, skb, network))
			return false;
		(void)packet_read_tcp(tcp, packet, skb);
		return true;
	}
	event_set_v4(&packet->source, at.ip.saddr);
	event_set_v4(&packet->destination, at.ip.daddr);
	packet->proto = IPPROTO_TCP;
	packet->source_port = bpf_ntohs(at.tcp.source);
	packet->destination_port = bpf_ntohs(at.tcp.dest);
	packet->transport = network + sizeof(at.ip);
	total = bpf_ntohs(at.ip.tot_len);
	packet->bytes = total - sizeof(at.ip);
	tcp->seq = bpf_ntohl(at.tcp.seq);
	tcp->bytes = packet->bytes > at.tcp.doff * 4u ? packet->bytes - at.tcp.doff * 4u : 0;
	return true;
}

/* What a packet tells at once. The rest of the head is filled when the socket is known. */
static __always_inline void path_begin(struct path_way *way, const volatile struct event_config *config,
				       const struct packet *packet, __u8 dir)
{
	struct event_head *head = &way->event.head;

	/* Steps are written one by one, and nobody looks at more of them than there are. */
	__builtin_memset(&way->event, 0, __builtin_offsetof(struct path_event, data.steps));
	head->event = config->id;
	head->uid = EVENT_UNKNOWN32;
	head->kstack_id = EVENT_STACK_NONE;
	head->ustack_id = EVENT_STACK_NONE;
	packet_set_endpoints(head, packet, dir);
	way->event.data.dir = dir;
	way->ready_ns = 0;
	way->state = PATH_WAY_OPEN;
}

static __always_inline void path_set_dev(struct path_way *way, struct net_device *dev)
{
	way->event.head.netns = dev->nd_net.net->ns.inum;
	bpf_probe_read_kernel(way->event.data.dev, sizeof(way->event.data.dev), dev->name);
}
