/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.rx: arrival of a packet until it enters the stack. From there until its data is in a socket (path_deliver.bpf.h)
 * or it is gone (path_gone.bpf.h) one CPU handles it without interruption: that state is per CPU. A packet held in
 * between (filter, tunnel, locked socket) is found by its address when it reappears.
 */
#pragma once

#include "event/path/path_rx.bpf.h"

#define NET_RX_SOFTIRQ 3
/* enum gro_result: this value and those below it mean merged. */
#define GRO_MERGED_FREE 1
/* A held packet older than this is lost: its address belongs to another packet. */
#define HELD_MAX_NS         1000000000ull

#define HIDDEN_BEFORE_STACK (1u << PATH_IRQ | 1u << PATH_SOFTIRQ | 1u << PATH_GRO | 1u << PATH_BACKLOG)

/* --- arriving ----------------------------------------------------------------------------------------------------- */

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(path_rx_irq)
{
	struct rx_cpu *cpu = rx_this_cpu();

	if (cpu)
		cpu->irq_ns = path_clock();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(path_rx_irq_done)
{
	struct rx_cpu *cpu = rx_this_cpu();

	if (cpu)
		cpu->irq_done_ns = path_clock();
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(path_rx_softirq, unsigned int vector)
{
	struct rx_cpu *cpu;

	if (vector != NET_RX_SOFTIRQ)
		return 0;
	cpu = rx_this_cpu();
	if (cpu)
		cpu->soft_ns = path_clock();
	return 0;
}

/* A packet is transmitted and may arrive on this same host. */
static __always_inline void note_arrival(struct sk_buff *skb, __u64 now)
{
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));
	const struct net_device *dev = skb->dev;

	if (!arrival)
		return;
	arrival->ns = now;
	arrival->gro_ns = 0;
	arrival->cpu = (__u16)bpf_get_smp_processor_id();
	arrival->kind = path_hands_over(dev) ? RX_HANDED_OVER : RX_XMIT;
	arrival->ifindex = dev->flags & IFF_LOOPBACK ? 0 : (__u32)dev->ifindex;
	arrival->skb = path_id(skb);
}

/* Virtual links with their own NAPI poll take the packet from the sender as is. */
static __always_inline void rx_depart(struct sk_buff *skb, struct path_mark *now)
{
	struct sock *sk = skb->sk;

	/* Not followed: its arrival time is not needed. */
	if (sk && is_whole(sk) && !path_is_sock_chosen(sk)) {
		note_arrival(skb, 0);
		return;
	}
	path_now_once(now);
	note_arrival(skb, now->ns);
}

/* The packet is queued first; the end of that wait is not traced yet. */
static __always_inline void rx_enqueue(struct sk_buff *skb, __u64 ahead)
{
	struct path_way *way = rx_held_find(path_id(skb));
	struct rx_arrival *arrival;

	if (way && way->state == PATH_WAY_SENDING) {
		way->ready_ns = ahead;
		path_want_xmit();
	}
	if (path_is_xmit_seen())
		return;
	arrival = rx_arrival_at(path_id(skb));
	if (!arrival || arrival->skb != path_id(skb) || !arrival->ns)
		return;
	arrival->ns = 0;
	if (arrival->kind == RX_HANDED_OVER)
		path_want_xmit();
}

static __always_inline void rx_xmit(struct sk_buff *skb, struct path_mark *now)
{
	struct path_way *way = rx_held_find(path_id(skb));

	if (way && way->state == PATH_WAY_SENDING && (way->ready_ns || !PATH_SEES_QUEUES)) {
		path_now_once(now);
		path_leave_queue(way, now, rx_counts());
	}
	rx_depart(skb, now);
}

/* The part of the filter that depends on the packet alone. */
static __always_inline bool passes_early(struct path_way *way)
{
	return event_matches(&path_rx_early, (const char *)&way->event);
}

static __always_inline void describe(struct path_way *way, struct sk_buff *skb, const struct packet *packet,
				     const struct packet_tcp *tcp)
{
	path_begin(way, &path_rx_config, packet, PACKET_RX);
	way->skb = path_id(skb);
	way->address = (__u64)skb;
	way->hash = path_packet_hash(packet);
	way->ack = tcp->ack;
	way->event.data.bytes = skb->len;
	way->event.data.seq = tcp->seq;
	way->event.data.end_seq = tcp->seq + tcp->bytes;
}

static __always_inline bool begin_way(struct path_way *way, struct sk_buff *skb, const struct packet *packet,
				      const struct packet_tcp *tcp)
{
	describe(way, skb, packet, tcp);
	way->ifindex = (__u32)skb->dev->ifindex;
	path_set_dev(way, skb->dev);
	way->decided = passes_early(way);
	return way->decided;
}

static __always_inline bool reads_as_packet(struct packet *packet, struct packet_tcp *tcp, struct sk_buff *skb)
{
	return path_read_headers(packet, tcp, skb, (__u32)(skb->data - skb->head)) && path_is_chosen(packet);
}

/* Whether a packet in GRO matches the filter. */
static __always_inline bool is_followed(struct rx_cpu *cpu, struct sk_buff *skb)
{
	struct packet_tcp tcp;
	struct packet packet;

	if (!path_rx_early.term_count && *(volatile __u32 *)&path_sample <= 1)
		return true;
	return reads_as_packet(&packet, &tcp, skb) && begin_way(&cpu->spare, skb, &packet, &tcp);
}

static __always_inline int into_gro(struct sk_buff *skb)
{
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));
	struct rx_cpu *cpu = rx_this_cpu();

	if (!arrival || !cpu)
		return 0;
	cpu->gro_skb = is_followed(cpu, skb) ? path_id(skb) : 0;
	if (arrival->skb != path_id(skb) || arrival->kind == RX_POLLED) {
		arrival->kind = RX_POLLED;
		arrival->ns = 0;
		arrival->skb = path_id(skb);
	}
	arrival->gro_ns = path_clock();
	arrival->gro_cpu = (__u16)bpf_get_smp_processor_id();
	return 0;
}

static __always_inline int out_of_gro(int result)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct rx_arrival *arrival;

	if (!cpu || !cpu->gro_skb || result > GRO_MERGED_FREE)
		return 0;
	__sync_fetch_and_add(&rx_counts()->merged, 1);
	arrival = rx_arrival_at(cpu->gro_skb);
	if (arrival && arrival->skb == cpu->gro_skb)
		arrival->skb = 0;
	return 0;
}

SEC("tp_btf/napi_gro_receive_exit")
int BPF_PROG(path_rx_gro_done, int result)
{
	return out_of_gro(result);
}

SEC("tp_btf/napi_gro_frags_exit")
int BPF_PROG(path_rx_gro_frags_done, int result)
{
	return out_of_gro(result);
}

SEC("tp_btf/napi_gro_frags_entry")
int BPF_PROG(path_rx_gro_frags, struct sk_buff *skb)
{
	return into_gro(skb);
}

/* --- entering the stack ------------------------------------------------------------------------------------------- */

/* Polled by a driver: it arrived with the interrupt before the softirq, or at an unknown time. */
static __always_inline void came_by_poll(struct path_way *way, const struct rx_cpu *cpu,
					 const struct rx_arrival *arrival, struct path_mark *mark)
{
	struct path_counts *counts = rx_counts();
	__u64 end = mark->ns, soft = cpu->soft_ns;
	bool here = arrival->gro_cpu == mark->cpu && soft && soft <= arrival->gro_ns;
	bool by_irq = here && cpu->irq_done_ns <= soft && soft - cpu->irq_done_ns < RX_IRQ_NS;

	way->event.head.time_ns = way->last_ns = by_irq ? cpu->irq_ns : here ? soft : arrival->gro_ns;
	if (by_irq) {
		mark->ns = cpu->irq_done_ns;
		mark->context = PATH_HARDIRQ;
		path_step(way, PATH_IRQ, mark, counts);
		mark->ns = soft;
		mark->context = PATH_SOFT;
		path_step(way, PATH_SOFTIRQ, mark, counts);
	} else {
		way->event.data.hidden |= 1u << PATH_IRQ | 1u << PATH_SOFTIRQ;
	}
	mark->ns = end;
	path_step(way, arrival->gro_cpu == mark->cpu ? PATH_GRO : PATH_BACKLOG, mark, counts);
}

/* All stages before the packet enters the stack. */
static __always_inline void arrive(struct path_way *way, const struct rx_cpu *cpu, struct path_mark *mark)
{
	struct rx_arrival *arrival = rx_arrival_at(way->skb);
	struct path_counts *counts = rx_counts();
	__u64 end = mark->ns;

	/* A tentative tunnel packet counts only once its inner packet matches. */
	if (!way->tentative)
		__sync_fetch_and_add(&counts->begun, 1);
	way->event.head.time_ns = way->last_ns = end;
	if (!arrival || arrival->skb != way->skb || (arrival->kind == RX_XMIT && !arrival->gro_ns) ||
	    (arrival->kind != RX_POLLED && !arrival->ns)) {
		way->event.data.hidden |= HIDDEN_BEFORE_STACK;
		return;
	}
	arrival->skb = 0;
	if (arrival->kind == RX_POLLED) {
		came_by_poll(way, cpu, arrival, mark);
		return;
	}
	way->event.head.time_ns = way->last_ns = arrival->ns;
	if (cpu->soft_ns > arrival->ns && cpu->soft_ns <= end) {
		mark->ns = cpu->soft_ns;
		path_step(way, PATH_SOFTIRQ, mark, counts);
	}
	mark->ns = end;
	path_step(way, arrival->gro_ns ? PATH_GRO : PATH_BACKLOG, mark, counts);
}

/* VXLAN and GENEVE at their usual ports, IPIP, GRE, and ESP, whose outer header shows nothing else. */
static __always_inline bool is_tunnel(const struct packet *packet)
{
	switch (packet->proto) {
	case IPPROTO_UDP:
		return packet->destination_port == 4789 || packet->destination_port == 8472 ||
		       packet->destination_port == 6081;
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_ESP:
		return true;
	default:
		return false;
	}
}

/* A held packet reappears, from a tunnel or released by a filter. */
static __always_inline bool comes_again(void *ctx, struct rx_cpu *cpu, struct sk_buff *skb)
{
	struct path_way *way = rx_held_find(path_id(skb));
	struct rx_arrival *arrival;
	struct packet_tcp tcp;
	struct packet packet;
	struct path_mark now;

	if (!way || way->state != PATH_WAY_OPEN || !way->tunnel)
		return false;
	now = path_now(PATH_SOFT);
	arrival = rx_arrival_at(path_id(skb));
	if (now.ns - way->last_ns > HELD_MAX_NS || (arrival && arrival->skb == path_id(skb) && arrival->ns)) {
		/* Another packet at the same address. */
		rx_report(ctx, way, PATH_UNFINISHED);
		return false;
	}
	if (arrival && arrival->skb == path_id(skb))
		arrival->skb = 0;
	path_step(way, PATH_BACKLOG, &now, rx_counts());
	if (path_read_headers(&packet, &tcp, skb, (__u32)(skb->data - skb->head))) {
		packet_set_endpoints(&way->event.head, &packet, PACKET_RX);
		way->event.data.seq = tcp.seq;
		way->event.data.end_seq = tcp.seq + tcp.bytes;
		cpu->ack = tcp.ack;
	}
	/* Now the inner packet and its interface are known. */
	if (way->tentative && !passes_early(way)) {
		path_set_dev(way, skb->dev);
		if (!passes_early(way)) {
			rx_give_back(way);
			return true;
		}
	}
	if (way->tentative)
		__sync_fetch_and_add(&rx_counts()->begun, 1);
	way->tentative = 0;
	way->decided = 0;
	cpu->at = way->number;
	return true;
}

/* Packets of a flow that wait for their socket may be merged there silently: each links to the next. */
static __always_inline void link_to_last(__u32 hash, __u64 number)
{
	__u32 place = hash >> (32 - RX_FLOWS_BITS);
	__u64 *last = bpf_map_lookup_elem(&path_rx_flows, &place);
	struct path_way *before;

	if (!last)
		return;
	before = rx_pool_find(*last);
	if (before && before->hash == hash)
		before->next = number;
	*last = number;
}

/* The stack returned without reporting what became of the packet. */
static __always_inline void put_aside(void *ctx, struct rx_cpu *cpu, struct path_way *way)
{
	struct path_mark now = path_now(PATH_SOFT);
	const struct path_event *e = &way->event;
	__u64 number = way->number;

	/* The user of its socket may have taken it already, on another CPU. */
	if (__sync_val_compare_and_swap(&way->state, PATH_WAY_OPEN, PATH_WAY_READING) != PATH_WAY_OPEN) {
		cpu->at = 0;
		return;
	}
	path_step(way, PATH_IP, &now, rx_counts());
	/* Without data it was for the kernel itself: handshake, echo. */
	if (e->head.proto != IPPROTO_UDP && e->data.seq == e->data.end_seq && !rx_is_somewhere(way)) {
		rx_report(ctx, way, PATH_DELIVERED);
	} else {
		rx_hold(way);
		if (e->head.proto == IPPROTO_TCP)
			link_to_last(way->hash, number);
		way->state = PATH_WAY_OPEN;
	}
	cpu->at = 0;
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(path_rx_receive, struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct packet packet;
	struct packet_tcp tcp;
	struct path_mark now;
	struct path_way *way;
	bool passes;

	if (!cpu)
		return 0;
	cpu->wake_sk = 0;
	cpu->queued_sk = 0;
	way = rx_current(cpu);
	if (way) {
		/*
		 * From a bridge port to the bridge: the same packet. On the same interface: a new packet at the same
		 * address. Decapsulated packets reappear.
		 */
		if (way->skb == path_id(skb) && way->ifindex != (__u32)skb->dev->ifindex && !way->tunnel)
			return 0;
		put_aside(ctx, cpu, way);
	}
	cpu->at = 0;
	cpu->skb = path_id(skb);
	cpu->ack = 0;
	if (comes_again(ctx, cpu, skb) || !reads_as_packet(&packet, &tcp, skb))
		return 0;
	if (path_rx_config.by_kprobe && packet.proto == IPPROTO_UDP && !is_tunnel(&packet))
		return 0;
	way = rx_pool_take();
	if (!way)
		return 0;
	cpu->ack = tcp.ack;
	passes = begin_way(way, skb, &packet, &tcp);
	way->tunnel = is_tunnel(&packet);
	way->tentative = !passes;
	if (!passes && !way->tunnel) {
		rx_give_back(way);
		return 0;
	}
	cpu->at = way->number;
	now = path_now(PATH_SOFT);
	arrive(way, cpu, &now);
	return 0;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(path_rx_poll)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;

	if (!cpu)
		return 0;
	cpu->wake_sk = 0;
	cpu->queued_sk = 0;
	way = rx_current(cpu);
	if (way)
		put_aside(ctx, cpu, way);
	return 0;
}
