/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Journeys from few hooks, for runs that follow few flows: a hook costs every packet of the host, followed or not, so
 * this is the smallest set that still locates the delay. It covers TCP, and received datagrams. The kernel's own
 * records replace the other hooks: receive timestamps (enabled by user space), the time a packet left TCP, the reader's
 * run queue delay. Other stages are not visible.
 */
#pragma once

#include "event/path/path_deliver.bpf.h"
#include "event/path/path_gone.bpf.h"
#include "event/path/path_leave.bpf.h"
#include "event/path/path_reader.bpf.h"

/* Interfaces per hash bucket of the namespace's table, at most. */
#define FEW_DEVICES_MAX 16
#define FEW_DEVICES     256

/* CLOCK_REALTIME of receive timestamps minus path_clock; user space keeps it current. */
__u64 path_real_offset_ns = 0;

/* --- arriving ----------------------------------------------------------------------------------------------------- */

/* Finds the interface by index: TCP no longer has the packet's device. */
static __always_inline void find_dev(struct path_way *way, struct net *net, __u32 ifindex)
{
	struct hlist_head *heads = net->dev_index_head;
	struct hlist_node *node = BPF_CORE_READ(heads + (ifindex & (FEW_DEVICES - 1)), first);

	for (int i = 0; i < FEW_DEVICES_MAX && node; i++) {
		struct net_device *dev = (void *)((__u64)node - bpf_core_field_offset(struct net_device, index_hlist));

		if ((__u32)BPF_CORE_READ(dev, ifindex) == ifindex) {
			BPF_CORE_READ_INTO(&way->event.data.dev, dev, name);
			return;
		}
		node = BPF_CORE_READ(node, next);
	}
}

static __always_inline void few_set_dev(struct path_way *way, struct sock *sk, const struct rx_queue *queue,
					__u32 ifindex)
{
	struct net *net = sk->__sk_common.skc_net.net;

	way->ifindex = ifindex;
	way->event.head.netns = net->ns.inum;
	if (queue && queue->ifindex == ifindex)
		__builtin_memcpy(way->event.data.dev, queue->dev, sizeof(queue->dev));
	else
		find_dev(way, net, ifindex);
}

/* State of the reader when data arrives. */
static __always_inline void few_note_reader(struct path_way *way, struct rx_queue *queue)
{
	struct task_struct *task = (void *)queue->reader_at;

	queue->ifindex = way->ifindex;
	__builtin_memcpy(queue->dev, way->event.data.dev, sizeof(queue->dev));
	way->few = 1;
	way->asleep = 0;
	way->delay_ns = 0;
	/* The task may be gone and its memory reused. */
	if (!task || (__u32)BPF_CORE_READ(task, pid) != queue->reader)
		return;
	way->event.data.reader = way->event.data.seq != way->event.data.end_seq ? queue->reader : 0;
	way->asleep = BPF_CORE_READ((struct task_struct___state *)task, __state) != 0;
	way->delay_ns = delay_of(task);
}

/* Starts at the receive timestamp; false: there is none, it starts now. */
static __always_inline bool few_arrive(struct path_way *way, const struct sk_buff *skb, const struct path_mark *now)
{
	__u64 stamp = skb->skb_mstamp_ns, arrival = stamp - *(volatile __u64 *)&path_real_offset_ns;
	bool known = stamp && now->ns - arrival <= PATH_STAMP_MAX_NS;

	__sync_fetch_and_add(&rx_counts()->begun, 1);
	way->event.head.time_ns = way->last_ns = known ? arrival : now->ns;
	way->event.data.hidden |= HIDDEN_BEFORE_STACK | 1u << PATH_FILTER | 1u << PATH_TRANSPORT | 1u << PATH_WAKEUP;
	if (!known)
		way->event.data.hidden |= 1u << PATH_IP;
	return known;
}

/* From the receive timestamp to TCP. */
static __always_inline void few_reach(struct path_way *way, struct sock *sk, const struct sk_buff *skb,
				      struct path_mark *now)
{
	if (!few_arrive(way, skb, now))
		return;
	/* The packet waited for the socket lock. */
	if (sk->sk_lock.owned) {
		now->note = 1;
		way->event.data.hidden |= 1u << PATH_IP;
		path_step(way, PATH_TRANSPORT, now, rx_counts());
		now->note = PATH_NO_NOTE;
	} else {
		path_step(way, PATH_IP, now, rx_counts());
	}
}

/* Packet length including headers. */
static __always_inline __u32 few_bytes(const struct sk_buff *skb)
{
	return (__u32)(skb->data - skb->head) - skb->network_header + skb->len;
}

/* Starts a journey for this socket; false: not followed. */
static __always_inline bool few_begin(struct path_way *way, struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct rx_queue *queue = rx_queue_find(sk);
	struct packet_tcp tcp;
	struct packet packet;

	if (!path_read_headers(&packet, &tcp, skb, skb->network_header) || packet.proto != sk->sk_protocol ||
	    !path_is_chosen(&packet))
		return false;
	/* Data merged into it while it waited is not in its header. */
	if (tcp.bytes && skb->len > packet.bytes)
		tcp.bytes += skb->len - packet.bytes;
	describe(way, skb, &packet, &tcp);
	way->event.data.bytes = few_bytes(skb);
	few_set_dev(way, sk, queue, (__u32)skb->skb_iif);
	way->decided = passes_early(way);
	if (!way->decided)
		return false;
	if (!queue)
		queue = rx_queue_make(sk);
	if (queue)
		few_note_reader(way, queue);
	few_reach(way, sk, skb, now);
	return true;
}

static __always_inline void few_receive(void *ctx, struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way;
	__u64 number;

	way = cpu ? rx_pool_take() : NULL;
	if (!way)
		return;
	number = way->number;
	cpu->queued_sk = 0;
	cpu->at = 0;
	if (!few_begin(way, sk, skb, now)) {
		rx_give_back(way);
		return;
	}
	/* From the header: its ACK number. */
	cpu->skb = way->skb;
	cpu->ack = way->ack;
	tcp_take(ctx, cpu, sk, way);
	/* Dropped as duplicate; path_few_drop_in reports it next. */
	if (way->state != PATH_WAY_OPEN || way->number != number)
		return;
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		cpu->at = number;
	else
		rx_report(ctx, way, PATH_DROPPED);
}

/* A datagram is in its socket. */
static __always_inline void few_datagram(void *ctx, struct sock *sk)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_mark now = path_now(PATH_SOFT);
	struct path_way *way;

	if (!cpu || !sk->sk_receive_queue.qlen)
		return;
	way = rx_pool_take();
	if (!way)
		return;
	if (few_begin(way, sk, sk->sk_receive_queue.prev, &now)) {
		set_socket(way, sk);
		way->ready_ns = now.ns;
		(void)enqueue(ctx, cpu, sk, way);
		cpu->queued_sk = 0;
	} else {
		rx_give_back(way);
	}
}

static __always_inline int few_announce(void *ctx, struct sock *sk)
{
	if (!path_is_sock_chosen(sk))
		return 0;
	if (is_tcp(sk))
		return announce(ctx, sk);
	if (sk->sk_protocol == IPPROTO_UDP)
		few_datagram(ctx, sk);
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(path_few_ready, struct sock *sk)
{
	return few_announce(ctx, sk);
}

/* Before Linux 6.3. */
SEC("fentry/sock_def_readable")
int BPF_PROG(path_few_ready_call, struct sock *sk)
{
	return few_announce(ctx, sk);
}

SEC("tp_btf/tcp_probe")
int BPF_PROG(path_few_tcp, struct sock *sk, struct sk_buff *skb)
{
	struct path_mark now;
	__u32 ack;

	if (!path_is_sock_chosen(sk))
		return 0;
	now = path_now(PATH_SOFT);
	if (RX)
		few_receive(ctx, sk, skb, &now);
	if (TX && (ack = acknowledged(skb)))
		tx_ack(ctx, sk, ack, &now);
	return 0;
}

/* --- leaving ------------------------------------------------------------------------------------------------------ */

SEC("tp_btf/tcp_sendmsg_locked")
int BPF_PROG(path_few_write, struct sock *sk, struct msghdr *message)
{
	struct tx_sock *own;
	struct tcp_sock *tp;

	if (!path_is_sock_chosen(sk))
		return 0;
	own = event_store_get(&path_tx_sock, sk, BPF_SK_STORAGE_GET_F_CREATE);
	tp = tcp_of(sk);
	if (!own || !tp)
		return 0;
	note_write(own, tp, tp->write_seq + (__u32)message->msg_iter.count, true);
	/* Packets are traced at the driver, and may have left TCP much earlier. */
	if (!own->sent) {
		own->sent = 1;
		own->sent_end = tp->write_seq;
	}
	note_write_hold(own, sk, tp, own->call_end);
	return 0;
}

/* First sight of an outgoing packet; NULL: not followed, or seen before. */
static __always_inline struct path_way *few_begin_out(void *ctx, struct sk_buff *skb, struct sock *sk,
						      const struct packet *packet, const struct packet_tcp *tcp)
{
	struct path_mark now = path_now(PATH_PROCESS), left = now;
	struct tx_sock *own = event_store_get(&path_tx_sock, sk, BPF_SK_STORAGE_GET_F_CREATE);
	struct path_way *way;

	/* The same packet at a stacked interface. */
	if (!own || (own->last_skb == path_id(skb) && own->last_left_ns == skb->skb_mstamp_ns))
		return NULL;
	way = begin_way_out(skb, packet, tcp);
	if (!way)
		return NULL;
	own->last_skb = path_id(skb);
	own->last_left_ns = skb->skb_mstamp_ns;
	if (skb->skb_mstamp_ns <= now.ns && now.ns - skb->skb_mstamp_ns < PATH_STAMP_MAX_NS)
		left.ns = skb->skb_mstamp_ns;
	else
		way->event.data.hidden |= 1u << PATH_QDISC;
	way->event.data.hidden |= 1u << PATH_DRIVER | 1u << PATH_COMPLETION;
	leave(ctx, way, sk, &left);
	if (left.ns != now.ns)
		path_step(way, PATH_QDISC, &now, tx_counts());
	return way;
}

/* The driver gets the packet, or it is dropped before. */
static __always_inline void few_leave(__u64 *ctx, struct sk_buff *skb, struct sock *sk, bool dropped)
{
	struct packet_tcp tcp;
	struct packet packet;
	struct path_way *way;

	/* Encapsulated: it is the payload of another packet. */
	if (!path_read_headers(&packet, &tcp, skb, skb->network_header) || packet.proto != IPPROTO_TCP)
		return;
	way = few_begin_out(ctx, skb, sk, &packet, &tcp);
	if (!way)
		return;
	way->state = PATH_WAY_SENT;
	if (dropped)
		way->event.data.reason = path_drop_reason(ctx);
	if (dropped || !tcp.bytes)
		tx_report(ctx, way, dropped ? PATH_DROPPED : PATH_DELIVERED);
}

/* Generated on this host, and not forwarded. */
static __always_inline bool few_is_out(const struct sk_buff *skb, struct sock *sk)
{
	return sk && path_is_sock_chosen(sk) && !skb->skb_iif && is_whole(sk) && is_tcp(sk);
}

SEC("tp_btf/net_dev_start_xmit")
int BPF_PROG(path_few_xmit, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (few_is_out(skb, sk))
		few_leave(ctx, skb, sk, false);
	return 0;
}

/* --- drops -------------------------------------------------------------------------------------------------------- */

/* Before the socket, while the packet still has its device. */
static __always_inline struct path_way *few_drop_on_the_way(struct sk_buff *skb, const struct net_device *dev)
{
	struct path_mark now = path_now(PATH_SOFT);
	struct packet_tcp tcp;
	struct packet packet;
	struct path_way *way;

	if ((__u32)dev->ifindex != (__u32)skb->skb_iif || !path_read_headers(&packet, &tcp, skb, skb->network_header) ||
	    !path_is_chosen(&packet))
		return NULL;
	way = rx_pool_take();
	if (!way)
		return NULL;
	if (!begin_way(way, skb, &packet, &tcp)) {
		rx_give_back(way);
		return NULL;
	}
	way->event.data.bytes = few_bytes(skb);
	if (few_arrive(way, skb, &now))
		path_step(way, PATH_IP, &now, rx_counts());
	return way;
}

/* Dropped by TCP processing. */
static __always_inline struct path_way *few_drop_in_tcp(struct sk_buff *skb, __u64 *ctx)
{
	struct rx_cpu *cpu = rx_this_cpu();
	struct path_way *way = cpu && cpu->skb == path_id(skb) ? rx_current(cpu) : NULL;

	if (way)
		cpu->at = 0;
	else if (cpu && bpf_core_field_exists(struct trace_event_raw_kfree_skb___socket, rx_sk))
		way = unqueue(cpu, skb, (struct sock *)ctx[3]);
	return way;
}

/* Two programs: one would exceed the verifier limit of Linux 6.1; a packet passes only one of them. */
SEC("tp_btf/kfree_skb")
int BPF_PROG(path_few_drop_in, struct sk_buff *skb)
{
	const struct net_device *dev = skb->dev;
	struct path_way *way;

	if (!skb->skb_iif)
		return 0;
	way = dev ? few_drop_on_the_way(skb, dev) : few_drop_in_tcp(skb, ctx);
	if (way) {
		way->event.data.reason = path_drop_reason(ctx);
		rx_report(ctx, way, PATH_DROPPED);
	}
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(path_few_drop_out, struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	if (few_is_out(skb, sk))
		few_leave(ctx, skb, sk, true);
	return 0;
}
