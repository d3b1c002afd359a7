/* SPDX-License-Identifier: GPL-2.0-only */
/* path.rx: ways that end before a socket: packets that are sent on, thrown away, or taken by the kernel itself. */
#pragma once

#include "event/path_arrive.bpf.h"
#include "event/path_deliver.bpf.h"

/* It left the stack of this processor: what becomes of it is a matter of another interface. */
static __always_inline void rx_forward(struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;
	struct path_mark now;

	if (!cpu)
		return;
	way = rx_current(cpu);
	if (!way || way->skb != path_id(skb)) {
		/* It had to wait for its neighbour's address, or for a filter. */
		way = rx_held_find(path_id(skb));
		if (!way || way->state != PATH_WAY_OPEN || !is_same(way, skb))
			return;
	}
	now = path_now(PATH_SOFT);
	path_step(way, PATH_IP, &now, rx_counts());
	way->event.data.hidden |= 1u << PATH_FILTER;
	way->state = PATH_WAY_SENDING;
	rx_hold(way);
}

static __always_inline void rx_forwarded(void *ctx, struct sk_buff *skb, int result)
{
	struct path_way *way = rx_held_find(path_id(skb));
	struct path_mark now;

	/* A driver that is busy is asked again. */
	if (!way || way->state != PATH_WAY_SENDING || result != 0)
		return;
	now = path_now(PATH_SOFT);
	path_step(way, PATH_DRIVER, &now, rx_counts());
	rx_tell(ctx, way, PATH_FORWARDED);
}

/* The packet is gone, wherever it was. */
static __always_inline struct path_way *gone(struct rx_cpu *cpu, struct sk_buff *skb)
{
	struct path_way *way = rx_current(cpu);
	__u64 id = path_id(skb);
	struct path_mark now;

	if (way && way->skb == id) {
		now = path_now(PATH_SOFT);
		path_step(way, PATH_IP, &now, rx_counts());
		return way;
	}
	way = rx_held_find(id);
	/* Its data may be in a socket by now. */
	if (!way || (way->state != PATH_WAY_OPEN && way->state != PATH_WAY_SENDING))
		return NULL;
	if (way->state != PATH_WAY_SENDING && !is_same(way, skb)) {
		rx_give_back(way);
		__sync_fetch_and_add(&rx_counts()->ended[PATH_UNFINISHED], 1);
		return NULL;
	}
	now = path_now(PATH_PROCESS);
	path_step(way, way->state == PATH_WAY_SENDING ? PATH_QDISC : PATH_FILTER, &now, rx_counts());
	return way;
}

/* It was thrown away before the stack could take it up: no room in the processor's backlog. */
static __always_inline struct path_way *never_taken(struct rx_cpu *cpu, struct sk_buff *skb)
{
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));
	struct packet_tcp tcp;
	struct path_mark now;
	struct packet packet;

	if (!arrival || arrival->skb != path_id(skb))
		return NULL;
	if (arrival->kind != RX_HANDED_OVER || arrival->ifindex == (__u32)skb->dev->ifindex ||
	    !reads_as_packet(&packet, &tcp, skb) || !begin_way(&cpu->spare, skb, &packet, &tcp)) {
		arrival->skb = 0;
		return NULL;
	}
	now = path_now(PATH_SOFT);
	cpu->spare.event.head.time_ns = cpu->spare.last_ns = arrival->ns;
	arrival->skb = 0;
	__sync_fetch_and_add(&rx_counts()->begun, 1);
	path_step(&cpu->spare, PATH_BACKLOG, &now, rx_counts());
	return &cpu->spare;
}

static __always_inline void rx_consume(void *ctx, struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way = cpu ? gone(cpu, skb) : NULL;
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));

	if (arrival && arrival->skb == path_id(skb))
		arrival->skb = 0;
	if (way)
		rx_tell(ctx, way, way->state == PATH_WAY_SENDING ? PATH_FORWARDED : PATH_DELIVERED);
}

/* TCP had taken it, then found no use for it. */
static __always_inline struct path_way *unqueue(struct rx_cpu *cpu, struct sk_buff *skb, struct sock *sk)
{
	struct rx_queue *queue;
	struct path_way *way;
	__u64 number;

	if (!sk || cpu->queued_skb != path_id(skb) || cpu->queued_sk != (__u64)sk)
		return NULL;
	queue = rx_queue_find(sk);
	if (!queue)
		return NULL;
	number = cpu->queued_number;
	cpu->queued_sk = 0;
	if (__sync_val_compare_and_swap(&queue->numbers[cpu->queued_at & (RX_QUEUE_MAX - 1)], number, 0) != number)
		return NULL;
	way = rx_pool_find(number);
	return way && way->state == PATH_WAY_WAITING ? way : NULL;
}

static __always_inline void rx_drop(__u64 *ctx, struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;

	if (!cpu)
		return;
	way = gone(cpu, skb);
	if (!way)
		way = never_taken(cpu, skb);
	if (!way && bpf_core_field_exists(struct trace_event_raw_kfree_skb___socket, rx_sk)) {
		way = unqueue(cpu, skb, (struct sock *)ctx[3]);
		if (way) {
			struct path_mark now = path_now(PATH_SOFT);

			path_step(way, PATH_TRANSPORT, &now, rx_counts());
		}
	}
	if (!way)
		return;
	path_set_reason(way, ctx);
	rx_tell(ctx, way, PATH_DROPPED);
}
