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
static __always_inline __u32 path_hash(const struct packet *packet)
{
	const __u32 *source = (const __u32 *)packet->source.bytes,
		    *destination = (const __u32 *)packet->destination.bytes;
	__u32 hash = 0;

	for (int i = 0; i < 4; i++)
		hash = hash * 31 + (source[i] ^ destination[i]);
	hash = hash * 31 + ((__u32)packet->source_port ^ packet->destination_port);
	hash ^= ((__u32)packet->source_port + packet->destination_port) * 0x85ebca6b;
	hash ^= hash >> 15;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 13;
}

static __always_inline bool path_is_chosen(const struct packet *packet)
{
	__u32 sample = *(volatile __u32 *)&path_sample;

	return sample <= 1 || path_hash(packet) % sample == 0;
}

/* What a packet tells at once. The rest of the head is filled when the socket is known. */
static __always_inline void path_begin(struct path_way *way, const volatile struct event_config *config,
				       const struct packet *packet, __u8 dir)
{
	struct event_head *head = &way->event.head;

	__builtin_memset(&way->event, 0, sizeof(way->event));
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
	way->event.head.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	bpf_probe_read_kernel_str(way->event.data.dev, sizeof(way->event.data.dev), dev->name);
}
