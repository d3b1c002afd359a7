/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.rx: a packet's way from its arrival into the socket. From the moment in which the stack takes a packet up until
 * its data is in a socket, one processor does nothing else: that part is kept per processor. What something puts aside
 * in between (a filter, a tunnel, a socket in use) is kept by the packet's address until it comes up again. Data in a
 * socket is kept with the socket and found again by its sequence numbers, since packets are merged there.
 */
#pragma once

#include "event/path_rx.bpf.h"

#define NET_RX_SOFTIRQ 3
/* Of enum gro_result: both it and what comes before it are merged. */
#define GRO_MERGED_FREE 1
/* What of a held packet is older than this was lost sight of: its address belongs to another packet. */
#define HELD_MAX_NS 1000000000ull

/* So many packets may have been merged into one that waited for its socket. */
#define RX_MERGED_MAX       256

#define HIDDEN_BEFORE_STACK (1u << PATH_IRQ | 1u << PATH_SOFTIRQ | 1u << PATH_GRO | 1u << PATH_BACKLOG)

/* --- arriving ------------------------------------------------------------------------------------------------------ */

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

static __always_inline void note_arrival(struct sk_buff *skb, __u32 kind, __u64 now)
{
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));

	if (!arrival)
		return;
	arrival->ns = now;
	arrival->gro_ns = 0;
	arrival->cpu = (__u16)bpf_get_smp_processor_id();
	arrival->kind = kind;
	arrival->skb = path_id(skb);
}

/* Virtual links with a poll of their own take the packet from the sender as it is. */
static __always_inline void rx_xmit(struct sk_buff *skb, struct path_mark *now)
{
	struct path_way *way = rx_held_find(path_id(skb));
	struct sock *sk = skb->sk;

	/* Nobody will ask when it came. */
	if (sk && is_whole(sk) && !path_is_sock_chosen(sk)) {
		note_arrival(skb, RX_XMIT, 0);
		return;
	}
	path_now_once(now);
	if (way && way->state == PATH_WAY_SENDING)
		path_step(way, PATH_QDISC, now, rx_counts());
	note_arrival(skb, RX_XMIT, now->ns);
}

/* The filter, as far as the packet alone decides it. */
static __always_inline bool passes_early(struct path_way *way)
{
	return event_matches(&path_rx_early, (const char *)&way->event);
}

static __always_inline bool begin_way(struct path_way *way, struct sk_buff *skb, const struct packet *packet,
				      const struct packet_tcp *tcp)
{
	path_begin(way, &path_rx_config, packet, PACKET_RX);
	way->skb = path_id(skb);
	way->address = (__u64)skb;
	way->ifindex = (__u32)skb->dev->ifindex;
	way->hash = path_packet_hash(packet);
	way->ack = tcp->ack;
	path_set_dev(way, skb->dev);
	way->event.data.bytes = skb->len;
	way->event.data.seq = tcp->seq;
	way->event.data.end_seq = tcp->seq + tcp->bytes;
	way->decided = passes_early(way);
	return way->decided;
}

static __always_inline bool reads_as_packet(struct packet *packet, struct packet_tcp *tcp, struct sk_buff *skb)
{
	return path_read_headers(packet, tcp, skb, (__u32)(skb->data - skb->head)) && path_is_chosen(packet);
}

/* Whether a packet that may be merged with another is one that was asked for. */
static __always_inline bool is_asked_for(struct rx_cpu *cpu, struct sk_buff *skb)
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
	cpu->gro_skb = is_asked_for(cpu, skb) ? path_id(skb) : 0;
	if (arrival->skb != path_id(skb) || arrival->kind != RX_XMIT) {
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

/* --- the stack takes it up ----------------------------------------------------------------------------------------- */

/* A driver polled it: it came with the interrupt before the softirq, or nobody knows when. */
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

/* Everything before the stack takes the packet up. */
static __always_inline void arrive(struct path_way *way, const struct rx_cpu *cpu, struct path_mark *mark)
{
	struct rx_arrival *arrival = rx_arrival_at(way->skb);
	struct path_counts *counts = rx_counts();
	__u64 end = mark->ns;

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
	path_step(way, arrival->kind == RX_XMIT ? PATH_GRO : PATH_BACKLOG, mark, counts);
}

static __always_inline bool is_tunnel(const struct packet *packet)
{
	return packet->proto == IPPROTO_UDP && (packet->destination_port == 4789 || packet->destination_port == 8472 ||
						packet->destination_port == 6081);
}

/* A packet that was put aside comes up again, out of a tunnel or with a filter's leave. */
static __always_inline bool comes_again(struct rx_cpu *cpu, struct sk_buff *skb)
{
	struct path_way *held = rx_held_find(path_id(skb));
	struct rx_arrival *arrival;
	struct packet_tcp tcp;
	struct packet packet;
	struct path_mark now;

	if (!held || held->state != PATH_WAY_OPEN || !held->tunnel)
		return false;
	now = path_now(PATH_SOFT);
	arrival = rx_arrival_at(path_id(skb));
	if (now.ns - held->last_ns > HELD_MAX_NS || (arrival && arrival->skb == path_id(skb) && arrival->ns)) {
		/* Another packet at the same address. */
		held->state = PATH_WAY_NONE;
		__sync_fetch_and_add(&rx_counts()->ended[PATH_UNFINISHED], 1);
		return false;
	}
	if (arrival && arrival->skb == path_id(skb))
		arrival->skb = 0;
	path_way_copy(&cpu->way, held);
	held->state = PATH_WAY_NONE;
	path_step(&cpu->way, PATH_BACKLOG, &now, rx_counts());
	if (path_read_headers(&packet, &tcp, skb, (__u32)(skb->data - skb->head))) {
		packet_set_endpoints(&cpu->way.event.head, &packet, PACKET_RX);
		cpu->way.event.data.seq = tcp.seq;
		cpu->way.event.data.end_seq = tcp.seq + tcp.bytes;
	}
	/* Now it shows what is inside. */
	if (cpu->way.tentative && !passes_early(&cpu->way)) {
		cpu->way.state = PATH_WAY_NONE;
		__sync_fetch_and_add(&rx_counts()->begun, -1);
	}
	cpu->way.tentative = 0;
	cpu->way.decided = 0;
	return true;
}

/* Packets of a flow that wait for their socket are merged there without a word: each knows the next. */
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

/* The stack has left the packet without saying what became of it. */
static __always_inline void put_aside(void *ctx, struct rx_cpu *cpu)
{
	struct path_mark now = path_now(PATH_SOFT);
	struct path_way *way = &cpu->way;
	const struct path_event *e = &way->event;

	path_step(way, PATH_IP, &now, rx_counts());
	/* Without data for anybody it was for the kernel itself: a handshake, an echo. */
	if (e->head.proto != IPPROTO_UDP && e->data.seq == e->data.end_seq && !rx_is_somewhere(way)) {
		rx_tell(ctx, way, PATH_DELIVERED);
	} else {
		__u64 number = rx_hold(way);

		if (number && e->head.proto == IPPROTO_TCP)
			link_to_last(way->hash, number);
	}
	way->state = PATH_WAY_NONE;
}

/* Loopback and virtual links hand a packet over like this, and so does a tunnel with what it has unpacked. */
static __always_inline void rx_netif_rx(void *ctx, struct sk_buff *skb)
{
	struct rx_arrival *arrival = rx_arrival_at(path_id(skb));
	struct rx_cpu *cpu = rx_this_cpu();

	if (cpu && cpu->way.state == PATH_WAY_OPEN && cpu->way.skb == path_id(skb))
		put_aside(ctx, cpu);
	/* The driver that sent it hands it over at once: it is the same moment. */
	else if (arrival && arrival->skb == path_id(skb) && arrival->kind == RX_XMIT)
		arrival->kind = RX_NETIF_RX;
	else
		note_arrival(skb, RX_NETIF_RX, path_clock());
}

SEC("tp_btf/netif_receive_skb")
int BPF_PROG(path_rx_receive, struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct packet packet;
	struct packet_tcp tcp;
	struct path_mark now;
	bool passes;

	if (!cpu)
		return 0;
	cpu->wake_sk = 0;
	cpu->queued_sk = 0;
	if (cpu->way.state == PATH_WAY_OPEN) {
		/* From a bridge's port to the bridge: the same packet. From the same interface it is one at its address. */
		if (cpu->way.skb == path_id(skb) && cpu->way.ifindex != (__u32)skb->dev->ifindex)
			return 0;
		put_aside(ctx, cpu);
	}
	cpu->way.skb = 0;
	if (comes_again(cpu, skb) || !reads_as_packet(&packet, &tcp, skb))
		return 0;
	passes = begin_way(&cpu->way, skb, &packet, &tcp);
	cpu->way.tunnel = is_tunnel(&packet);
	cpu->way.tentative = !passes;
	if (!passes && !cpu->way.tunnel) {
		cpu->way.state = PATH_WAY_NONE;
		return 0;
	}
	now = path_now(PATH_SOFT);
	arrive(&cpu->way, cpu, &now);
	return 0;
}

SEC("tp_btf/napi_poll")
int BPF_PROG(path_rx_poll)
{
	struct rx_cpu *cpu = rx_this_cpu();

	if (!cpu)
		return 0;
	cpu->wake_sk = 0;
	cpu->queued_sk = 0;
	if (cpu->way.state == PATH_WAY_OPEN)
		put_aside(ctx, cpu);
	return 0;
}

/*
 * Whether this is still the packet that was put aside: some are merged with others without a word, and their address is
 * used again.
 */
static __always_inline bool is_same(const struct path_way *way, struct sk_buff *skb)
{
	struct packet_tcp tcp;
	struct packet packet;

	if (!packet_read(&packet, skb) || packet.proto != way->event.head.proto)
		return false;
	return packet_read_tcp(&tcp, &packet, skb) ? tcp.seq == way->event.data.seq
						   : packet.source_port == way->event.head.rport;
}

/* --- into the socket ----------------------------------------------------------------------------------------------- */

/* No room is left in the socket's queue: the program takes over. */
static __always_inline void spill(void *ctx, struct rx_queue *queue, struct path_way *way)
{
	if (!*(volatile __u32 *)&path_rx_spills) {
		rx_tell(ctx, way, PATH_UNFINISHED);
		return;
	}
	if (way->event.head.proto == IPPROTO_TCP)
		way->event.data.hidden |= 1u << PATH_TRANSPORT;
	way->event.data.end = PATH_SPILLED;
	way->event.data.total_ns = way->last_ns;
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	__sync_fetch_and_add(&queue->spilled, 1);
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, 1);
	event_send(&way->event, path_event_size(&way->event), &path_rx_losses);
	way->state = PATH_WAY_NONE;
}

/* The data waits for a reader from now on. */
static __always_inline void enqueue(void *ctx, struct rx_cpu *cpu, struct sock *sk, struct path_way *way)
{
	struct rx_queue *queue = rx_queue_make(sk);
	struct path_way *slot;
	__u32 at;

	if (!queue) {
		rx_tell(ctx, way, PATH_UNFINISHED);
		return;
	}
	/* Datagrams must stay in their order. */
	if (queue->spilled && sk->sk_protocol != IPPROTO_TCP) {
		spill(ctx, queue, way);
		return;
	}
	/* The first place again, which is in the cache, rather than the next one. */
	if (queue->head == queue->tail)
		queue->head = queue->tail = 0;
	at = queue->tail;
	slot = &queue->ways[at & (RX_QUEUE_MAX - 1)];
	if (__sync_val_compare_and_swap(&slot->state, PATH_WAY_NONE, PATH_WAY_FILLING) != PATH_WAY_NONE) {
		spill(ctx, queue, way);
		return;
	}
	way->state = PATH_WAY_FILLING;
	path_way_copy(slot, way);
	way->state = PATH_WAY_NONE;
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, 1);
	queue->tail = at + 1;
	slot->state = PATH_WAY_WAITING;
	cpu->queued_sk = (__u64)sk;
	cpu->queued_skb = way->skb;
	cpu->queued_at = at;
}

/* Whether the packet has the socket's addresses; of IPv4 only, where it is a matter of a few words. */
static __always_inline bool is_of(const struct event_head *head, const struct sock_common *common)
{
	return common->skc_family == AF_INET && head->lport == common->skc_num &&
	       head->rport == bpf_ntohs(common->skc_dport) &&
	       ((const __u32 *)head->laddr.bytes)[3] == common->skc_rcv_saddr &&
	       ((const __u32 *)head->raddr.bytes)[3] == common->skc_daddr;
}

/* What the socket knows better than the packet: addresses were rewritten on the way. */
static __always_inline void set_socket(struct path_way *way, struct sock *sk)
{
	struct event_head *head = &way->event.head;
	__u64 cookie = (__u64)sk->__sk_common.skc_cookie.counter;

	if (sk->__sk_common.skc_dport && !is_of(head, &sk->__sk_common)) {
		event_set_tuple(head, sk);
		way->decided = 0;
	}
	head->cookie = cookie ?: bpf_get_socket_cookie(sk);
}

static __always_inline bool is_for(const struct path_way *way, const struct sock *sk)
{
	const struct event_head *head = &way->event.head;

	if (way->state != PATH_WAY_OPEN || sk->sk_protocol != head->proto)
		return false;
	return path_id(sk->sk_receive_queue.prev) == way->skb || head->lport == sk->__sk_common.skc_num ||
	       (!head->lport && !head->rport);
}

struct rx_merged {
	void *ctx;
	struct rx_cpu *cpu;
	struct sock *sk;
	struct path_mark now;
	__u64 next;
	__u32 first;
	__u32 end;
};

/* A packet whose data went into the one before while the socket was in use. */
static long take_merged(__u32 index, struct rx_merged *merged)
{
	struct path_way *way = rx_pool_find(merged->next);

	if (!way || way->state != PATH_WAY_OPEN || (__s32)(way->event.data.seq - merged->first) < 0 ||
	    (__s32)(way->event.data.end_seq - merged->end) > 0)
		return 1;
	merged->next = way->next;
	path_step(way, PATH_TRANSPORT, &merged->now, rx_counts());
	way->event.data.hidden |= 1u << PATH_FILTER;
	set_socket(way, merged->sk);
	if (way->event.data.seq == way->event.data.end_seq)
		rx_tell(merged->ctx, way, PATH_DELIVERED);
	else
		enqueue(merged->ctx, merged->cpu, merged->sk, way);
	return !merged->next;
}

/* Its packet came up again, now that nobody uses the socket any more, or a filter let it go. */
static __always_inline struct path_way *tcp_held(struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct path_way *way = rx_held_find(path_id(skb));

	if (!way || way->state != PATH_WAY_OPEN || !is_same(way, skb))
		return NULL;
	*now = path_now(PATH_PROCESS);
	now->note = sk->sk_lock.owned ? 1 : PATH_NO_NOTE;
	path_step(way, sk->sk_lock.owned ? PATH_TRANSPORT : PATH_FILTER, now, rx_counts());
	return way;
}

/* What of it the socket takes. */
static __always_inline void tcp_take(void *ctx, struct rx_cpu *cpu, struct sock *sk, struct path_way *way)
{
	struct tcp_sock *tp;

	way->event.data.hidden |= 1u << PATH_FILTER;
	set_socket(way, sk);
	if (way->event.data.seq == way->event.data.end_seq) {
		event_set_owner(&path_rx_config, &way->event.head, sk);
		rx_tell(ctx, way, PATH_DELIVERED);
		return;
	}
	tp = bpf_skc_to_tcp_sock(sk);
	/* Known already: TCP throws it away. */
	if (tp && (__s32)(way->event.data.end_seq - tp->rcv_nxt) <= 0)
		return;
	enqueue(ctx, cpu, sk, way);
}

/* TCP begins with a packet of a connection. */
static __always_inline void rx_tcp(void *ctx, struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct rx_merged merged = {.ctx = ctx, .cpu = cpu, .sk = sk};
	struct path_way *way;

	if (!cpu)
		return;
	way = &cpu->way;
	if (way->state == PATH_WAY_OPEN && (way->skb == path_id(skb) || is_for(way, sk))) {
		path_now_once(now);
		path_step(way, PATH_IP, now, rx_counts());
	} else {
		way = tcp_held(sk, skb, now);
		if (!way)
			return;
		/* More than came with it: others were merged into it. */
		merged.next = way->next;
		merged.first = way->event.data.end_seq;
		merged.end = way->event.data.seq + skb->len;
		merged.now = *now;
	}
	tcp_take(ctx, cpu, sk, way);
	if (merged.next)
		bpf_loop(RX_MERGED_MAX, take_merged, &merged, 0);
}

/* A datagram, or what comes with a handshake: known when its socket announces it. */
static __always_inline struct path_way *announced(struct rx_cpu *cpu, struct sock *sk, struct path_mark *now)
{
	struct path_way *way = &cpu->way;

	if (is_for(way, sk)) {
		path_step(way, PATH_IP, now, rx_counts());
		return way;
	}
	if (sk->sk_protocol == IPPROTO_TCP)
		return NULL;
	way = rx_held_find(path_id(sk->sk_receive_queue.prev));
	if (!way || way->state != PATH_WAY_OPEN)
		return NULL;
	now->context = PATH_PROCESS;
	path_step(way, PATH_FILTER, now, rx_counts());
	return way;
}

static __always_inline int announce(void *ctx, struct sock *sk)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_mark now;
	struct rx_queue *queue;
	struct path_way *way;

	if (!cpu || (cpu->way.state != PATH_WAY_OPEN && cpu->queued_sk != (__u64)sk && sk->sk_protocol != IPPROTO_UDP))
		return 0;
	now = path_now(PATH_SOFT);
	if (cpu->queued_sk == (__u64)sk) {
		queue = rx_queue_find(sk);
		if (!queue)
			return 0;
		way = &queue->ways[cpu->queued_at & (RX_QUEUE_MAX - 1)];
		cpu->queued_sk = 0;
		if (way->skb != cpu->queued_skb || way->state != PATH_WAY_WAITING)
			return 0;
		path_step(way, PATH_TRANSPORT, &now, rx_counts());
		way->ready_ns = now.ns;
	} else {
		way = announced(cpu, sk, &now);
		if (!way)
			return 0;
		set_socket(way, sk);
		way->event.data.hidden |= 1u << PATH_TRANSPORT | 1u << PATH_FILTER;
		/* A connection for whoever accepts. */
		if (sk->__sk_common.skc_state == SOCKET_LISTEN) {
			rx_tell(ctx, way, PATH_DELIVERED);
			return 0;
		}
		way->ready_ns = now.ns;
		enqueue(ctx, cpu, sk, way);
		cpu->queued_sk = 0;
	}
	cpu->wake_sk = (__u64)sk;
	cpu->wake_ns = now.ns;
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(path_rx_ready, struct sock *sk)
{
	return announce(ctx, sk);
}

/* Before Linux 6.3. */
SEC("fentry/sock_def_readable")
int BPF_PROG(path_rx_ready_call, struct sock *sk)
{
	return announce(ctx, sk);
}

/* --- ends on the way ----------------------------------------------------------------------------------------------- */

/* It left the stack of this processor: what becomes of it is a matter of another interface. */
static __always_inline void rx_forward(struct sk_buff *skb)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;
	struct path_mark now;

	if (!cpu)
		return;
	way = &cpu->way;
	if (way->state != PATH_WAY_OPEN || way->skb != path_id(skb)) {
		/* It had to wait for its neighbour's address, or for a filter. */
		way = rx_held_find(path_id(skb));
		if (!way || way->state != PATH_WAY_OPEN || !is_same(way, skb))
			return;
	}
	now = path_now(PATH_SOFT);
	path_step(way, PATH_IP, &now, rx_counts());
	way->event.data.hidden |= 1u << PATH_FILTER;
	way->state = PATH_WAY_SENDING;
	if (way == &cpu->way) {
		(void)rx_hold(way);
		way->state = PATH_WAY_NONE;
	}
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
	struct path_way *way = &cpu->way;
	__u64 id = path_id(skb);
	struct path_mark now;

	if (way->state == PATH_WAY_OPEN && way->skb == id) {
		now = path_now(PATH_SOFT);
		path_step(way, PATH_IP, &now, rx_counts());
		return way;
	}
	way = rx_held_find(id);
	if (!way)
		return NULL;
	if (way->state != PATH_WAY_SENDING && !is_same(way, skb)) {
		way->state = PATH_WAY_NONE;
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
	if (arrival->kind != RX_NETIF_RX || !reads_as_packet(&packet, &tcp, skb) ||
	    !begin_way(&cpu->spare, skb, &packet, &tcp)) {
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

	if (!sk || cpu->queued_skb != path_id(skb) || cpu->queued_sk != (__u64)sk)
		return NULL;
	queue = rx_queue_find(sk);
	if (!queue)
		return NULL;
	way = &queue->ways[cpu->queued_at & (RX_QUEUE_MAX - 1)];
	cpu->queued_sk = 0;
	return way->skb == path_id(skb) && __sync_val_compare_and_swap(&way->state, PATH_WAY_WAITING, PATH_WAY_NONE) ==
						   PATH_WAY_WAITING
		       ? way
		       : NULL;
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
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		way->event.data.reason = (__u32)ctx[2];
	rx_tell(ctx, way, PATH_DROPPED);
}
