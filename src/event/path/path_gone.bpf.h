/* SPDX-License-Identifier: GPL-2.0-only */
/* path.rx: paths that end before a socket: packets forwarded, dropped, or consumed by the kernel itself. */
#pragma once

#include "event/path/path_arrive.bpf.h"
#include "event/path/path_deliver.bpf.h"

/* The packet left this CPU's stack for another interface. */
static __always_inline void rx_forward(struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;
	struct path_mark now;

	if (!cpu)
		return;
	way = rx_current(cpu);
	if (!way || way->skb != path_id(skb)) {
		/* It waited for neighbour resolution, or for a filter. */
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

	/* A busy driver is retried. */
	if (!way || way->state != PATH_WAY_SENDING || result != 0)
		return;
	now = path_now(PATH_SOFT);
	if (way->ready_ns) {
		path_leave_queue(way, &now, rx_counts());
		way->event.data.hidden |= 1u << PATH_DRIVER;
	} else {
		path_step(way, PATH_DRIVER, &now, rx_counts());
	}
	rx_report(ctx, way, PATH_FORWARDED);
}

/* The packet is gone, at any stage. */
static __always_inline struct path_way *gone(void *ctx, struct rx_cpu *cpu, struct sk_buff *skb)
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
		rx_report(ctx, way, PATH_UNFINISHED);
		return NULL;
	}
	now = path_now(PATH_PROCESS);
	path_step(way, way->state == PATH_WAY_SENDING ? PATH_QDISC : PATH_FILTER, &now, rx_counts());
	return way;
}

/* Dropped before it entered the stack: CPU backlog full. */
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
	struct path_way *way = cpu ? gone(ctx, cpu, skb) : NULL;
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));

	if (arrival && arrival->skb == path_id(skb))
		arrival->skb = 0;
	if (way)
		rx_report(ctx, way, way->state == PATH_WAY_SENDING ? PATH_FORWARDED : PATH_DELIVERED);
}

/* TCP took it, then dropped it. */
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

/* Data of a closed socket, or a free without a drop reason. */
static __always_inline bool is_for_none(__u32 reason)
{
	return PATH_IS_REASON(reason, NOT_SPECIFIED) || PATH_IS_REASON(reason, QUEUE_PURGE);
}

/* An unread datagram is freed: its socket was closed, or its checksum failed. */
static __always_inline struct path_way *never_read(struct sk_buff *skb, __u32 reason)
{
	struct path_way *way = rx_held_find(path_id(skb));
	struct path_read info = {.reason = reason};
	struct path_read_event *e;

	if (!way || way->state != PATH_WAY_WAITING)
		return NULL;
	way->state = PATH_WAY_READING;
	info.now = path_now(PATH_PROCESS);
	(void)path_step_close(way, &info, rx_counts());
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, -1);
	if (*(volatile __u32 *)&path_rx_spills && is_for_none(reason)) {
		e = rx_message(PATH_CLOSED, way->event.head.cookie);
		if (e)
			rx_send(e, &info);
	}
	return way;
}

/* A TCP packet without data freed without a reason, or with a closed socket, did its work: mostly a FIN. */
static __always_inline bool did_its_work(const struct path_way *way)
{
	const struct path_event *e = &way->event;

	return e->head.proto == IPPROTO_TCP && e->data.seq == e->data.end_seq && is_for_none(e->data.reason);
}

static __always_inline void rx_drop(__u64 *ctx, struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	__u32 reason = path_drop_reason(ctx);
	struct path_way *way;

	if (!cpu)
		return;
	way = gone(ctx, cpu, skb);
	if (!way)
		way = never_read(skb, reason);
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
	way->event.data.reason = reason;
	rx_report(ctx, way, did_its_work(way) ? PATH_DELIVERED : PATH_DROPPED);
}
