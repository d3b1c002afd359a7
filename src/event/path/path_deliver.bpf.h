/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * path.rx: delivery into the socket. Data in a socket is tracked with the socket and identified by sequence number,
 * because packets are merged there.
 */
#pragma once

#include "event/path/path_rx.bpf.h"

/* Packets merged into one that waits for its socket, at most. */
#define RX_MERGED_MAX 256
/* Iterations to wait for another CPU that is holding a packet, which takes it less than a microsecond. */
#define RX_ASIDE_LOOKS 512

/* Whether this is still the held packet: some are merged silently, and their address is reused. */
static __always_inline bool is_same(const struct path_way *way, struct sk_buff *skb)
{
	struct packet_tcp tcp;
	struct packet packet;

	if (!packet_read(&packet, skb) || packet.proto != way->event.head.proto)
		return false;
	return packet_read_tcp(&tcp, &packet, skb) ? tcp.seq == way->event.data.seq
						   : packet.source_port == way->event.head.rport;
}

/* The socket's queue is full: user space takes over. */
static __always_inline void spill(void *ctx, struct rx_queue *queue, struct path_way *way)
{
	if (!*(volatile __u32 *)&path_rx_spills) {
		rx_report(ctx, way, PATH_UNFINISHED);
		return;
	}
	if (way->event.head.proto == IPPROTO_TCP)
		way->event.data.hidden |= 1u << PATH_TRANSPORT;
	/* The reader's run queue delay so far is not passed on. */
	if (way->few)
		way->event.data.hidden |= 1u << PATH_SCHED;
	way->event.data.end = PATH_SPILLED;
	way->event.data.total_ns = way->last_ns;
	way->event.head.time_ns = path_since_boot(way->event.head.time_ns);
	__sync_fetch_and_add(&queue->spilled, 1);
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, 1);
	event_send(&way->event, path_event_size(&way->event), &path_rx_losses);
	rx_give_back(way);
}

/*
 * A busy-polling reader on another CPU took the datagram before the socket's notification. Each side first publishes
 * its step, then checks the other's: exactly one of them finds the journey.
 */
static __always_inline bool was_read_early(struct rx_queue *queue, struct path_way *way, __u32 at)
{
	if (!__sync_fetch_and_add(&queue->early, 0))
		return false;
	if (queue->early_ns <= way->event.head.time_ns) {
		/* Datagrams of flows that are not followed. */
		queue->early = 0;
		return false;
	}
	if (__sync_val_compare_and_swap(&queue->numbers[at & (RX_QUEUE_MAX - 1)], way->number, 0) != way->number)
		return false;
	__sync_fetch_and_add(&queue->early, -1);
	return true;
}

static __always_inline void report_early(void *ctx, const struct rx_queue *queue, struct sock *sk, struct path_way *way)
{
	way->event.data.hidden |= 1u << PATH_SOCKET | 1u << PATH_COPY | 1u << PATH_RETURN;
	way->event.data.reader = queue->reader;
	event_set_owner(&path_rx_config, &way->event.head, sk);
	rx_report(ctx, way, PATH_DELIVERED);
}

/* The data waits for a reader in this queue; NULL: the journey has ended, or was spilled. */
static __always_inline struct rx_queue *enqueue(void *ctx, struct rx_cpu *cpu, struct sock *sk, struct path_way *way)
{
	struct rx_queue *queue = rx_queue_make(sk);
	__u32 at;

	if (!queue) {
		rx_report(ctx, way, PATH_UNFINISHED);
		return NULL;
	}
	/* Datagrams must stay in order. */
	if (queue->spilled && sk->sk_protocol != IPPROTO_TCP) {
		spill(ctx, queue, way);
		return NULL;
	}
	/* Reuse the first slot, which is in the cache. */
	if (queue->head == queue->tail)
		queue->head = queue->tail = 0;
	at = queue->tail;
	way->state = PATH_WAY_WAITING;
	if (__sync_val_compare_and_swap(&queue->numbers[at & (RX_QUEUE_MAX - 1)], 0, way->number) != 0) {
		spill(ctx, queue, way);
		return NULL;
	}
	if (rx_is_sampled())
		__sync_fetch_and_add(&path_rx_waiting, 1);
	queue->tail = at + 1;
	/* A closing TCP socket is traced, and its packets merge. Other sockets may hold only a clone. */
	if (sk->sk_protocol != IPPROTO_TCP && path_id(sk->sk_receive_queue.prev) == way->skb)
		rx_hold(way);
	cpu->queued_sk = (__u64)sk;
	cpu->queued_skb = way->skb;
	cpu->queued_number = way->number;
	cpu->queued_at = at;
	return queue;
}

/* Whether the packet has the socket's addresses; IPv4 only, where it is cheap. */
static __always_inline bool is_of(const struct event_head *head, const struct sock_common *common)
{
	return common->skc_family == AF_INET && head->lport == common->skc_num &&
	       head->rport == bpf_ntohs(common->skc_dport) &&
	       ((const __u32 *)head->laddr.bytes)[3] == common->skc_rcv_saddr &&
	       ((const __u32 *)head->raddr.bytes)[3] == common->skc_daddr;
}

/* Takes the endpoints from the socket: addresses may have been rewritten. */
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

/* A packet whose data was merged into its predecessor while the socket was locked. */
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
		rx_report(merged->ctx, way, PATH_DELIVERED);
	else
		(void)enqueue(merged->ctx, merged->cpu, merged->sk, way);
	return !merged->next;
}

/* A held packet reappears, now that the socket is unlocked or a filter released it. */
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

static long wait_for_hold(__u32 index, struct path_way **way)
{
	return *(volatile __u32 *)&(*way)->state != PATH_WAY_READING;
}

/* The socket was locked, but unlocked before the CPU that received the packet could hold it: that CPU still has it. */
static __always_inline struct path_way *tcp_elsewhere(const struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	__u32 zero = 0, came_on = (__u32)sk->__sk_common.skc_incoming_cpu;
	struct rx_cpu *cpu;
	struct path_way *way;

	if (!sk->sk_lock.owned || !bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem))
		return NULL;
	cpu = bpf_map_lookup_percpu_elem(&path_rx_cpus, &zero, came_on);
	if (!cpu || cpu->skb != path_id(skb))
		return NULL;
	way = rx_pool_find(cpu->at);
	if (!way || way->skb != path_id(skb))
		return NULL;
	if (way->state == PATH_WAY_READING)
		bpf_loop(RX_ASIDE_LOOKS, wait_for_hold, &way, 0);
	if (__sync_val_compare_and_swap(&way->state, PATH_WAY_OPEN, PATH_WAY_WAITING) != PATH_WAY_OPEN)
		return NULL;
	*now = path_now(PATH_PROCESS);
	path_step(way, PATH_TRANSPORT, now, rx_counts());
	return way;
}

/* The part of it that the socket accepts. */
static __always_inline void tcp_take(void *ctx, struct rx_cpu *cpu, struct sock *sk, struct path_way *way)
{
	struct tcp_sock *tp;

	way->event.data.hidden |= 1u << PATH_FILTER;
	set_socket(way, sk);
	if (way->event.data.seq == way->event.data.end_seq) {
		event_set_owner(&path_rx_config, &way->event.head, sk);
		rx_report(ctx, way, PATH_DELIVERED);
		return;
	}
	tp = tcp_of(sk);
	/* Duplicate data: TCP drops it. */
	if (tp && (__s32)(way->event.data.end_seq - tp->rcv_nxt) <= 0)
		return;
	(void)enqueue(ctx, cpu, sk, way);
}

/* TCP starts processing a packet of a connection. */
static __always_inline void rx_tcp(void *ctx, struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct rx_merged merged = {.ctx = ctx, .cpu = cpu, .sk = sk};
	struct path_way *way;

	if (!cpu)
		return;
	way = rx_current(cpu);
	if (way && (way->skb == path_id(skb) || is_for(way, sk))) {
		path_now_once(now);
		path_step(way, PATH_IP, now, rx_counts());
	} else {
		way = tcp_elsewhere(sk, skb, now);
		if (!way)
			way = tcp_held(sk, skb, now);
		if (!way)
			return;
		/* Longer than on arrival: others were merged into it. */
		merged.next = way->next;
		merged.first = way->event.data.end_seq;
		merged.end = way->event.data.seq + skb->len;
		merged.now = *now;
	}
	tcp_take(ctx, cpu, sk, way);
	if (merged.next)
		bpf_loop(RX_MERGED_MAX, take_merged, &merged, 0);
}

/* A datagram, or data with a handshake: known at the socket's notification. */
static __always_inline struct path_way *announced(struct rx_cpu *cpu, struct sock *sk, struct path_mark *now)
{
	struct path_way *way = rx_current(cpu);

	if (way && is_for(way, sk)) {
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

static __always_inline void wakes(struct rx_cpu *cpu, __u64 sk, __u64 ns)
{
	cpu->wake_sk = sk;
	cpu->wake_ns = ns;
}

/* For TCP, whose packet was queued just before. */
static __always_inline void announce_queued(struct rx_cpu *cpu, __u64 sk)
{
	struct path_mark now = path_now(PATH_SOFT);
	struct path_way *way;

	cpu->queued_sk = 0;
	way = rx_pool_find(cpu->queued_number);
	if (!way || way->state != PATH_WAY_WAITING)
		return;
	path_step(way, PATH_TRANSPORT, &now, rx_counts());
	way->ready_ns = now.ns;
	wakes(cpu, sk, now.ns);
}

static __always_inline int announce(void *ctx, struct sock *sk)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct rx_queue *queue;
	struct path_mark now;
	struct path_way *way;

	if (!cpu || (!cpu->at && cpu->queued_sk != (__u64)sk && sk->sk_protocol != IPPROTO_UDP))
		return 0;
	if (cpu->queued_sk == (__u64)sk) {
		announce_queued(cpu, (__u64)sk);
		return 0;
	}
	now = path_now(PATH_SOFT);
	way = announced(cpu, sk, &now);
	if (!way)
		return 0;
	set_socket(way, sk);
	way->event.data.hidden |= 1u << PATH_TRANSPORT | 1u << PATH_FILTER;
	/* A connection to accept. */
	if (sk->__sk_common.skc_state == SOCKET_LISTEN) {
		rx_report(ctx, way, PATH_DELIVERED);
		return 0;
	}
	way->ready_ns = now.ns;
	queue = enqueue(ctx, cpu, sk, way);
	cpu->queued_sk = 0;
	if (queue && !is_tcp(sk) && was_read_early(queue, way, cpu->queued_at))
		report_early(ctx, queue, sk, way);
	wakes(cpu, (__u64)sk, now.ns);
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

/* Where functions cannot be traced (arm64 before 6.4). */
SEC("kprobe/sock_def_readable")
int BPF_KPROBE(path_rx_ready_kprobe, struct sock *sk)
{
	struct rx_cpu *cpu = rx_this_cpu();

	if (cpu && cpu->queued_sk == (__u64)sk)
		announce_queued(cpu, (__u64)sk);
	return 0;
}
