/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Journeys from few hooks, for runs that follow few flows: a hook costs every packet of the host, whoever is followed,
 * so these are the fewest that still tell where the time went. TCP, and datagrams that arrive. What other hooks would
 * have seen the kernel has noted itself: when a packet arrived (time stamps, which the program asks for), when it left
 * TCP, how long the reader waited for processors. The rest is not visible.
 */
#pragma once

#include "event/path/path_deliver.bpf.h"
#include "event/path/path_gone.bpf.h"
#include "event/path/path_leave.bpf.h"
#include "event/path/path_reader.bpf.h"

/* Interfaces that share a place in the namespace's table, at most. */
#define FEW_DEVICES_MAX 16
#define FEW_DEVICES     256

/* Of stamps on arrival, which are in the time of the day, less that of path_clock; the program keeps it right. */
__u64 path_real_offset_ns = 0;

/* --- arriving ----------------------------------------------------------------------------------------------------- */

/* The interface: TCP does not leave it with the packet, only its number. */
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

/* What the reader is at, when data comes for it. */
static __always_inline void few_note_reader(struct path_way *way, struct rx_queue *queue)
{
	struct task_struct *task = (void *)queue->reader_at;

	queue->ifindex = way->ifindex;
	__builtin_memcpy(queue->dev, way->event.data.dev, sizeof(queue->dev));
	way->few = 1;
	way->asleep = 0;
	way->delay_ns = 0;
	/* It may be gone, and another thing be in its place. */
	if (!task || (__u32)BPF_CORE_READ(task, pid) != queue->reader)
		return;
	way->event.data.reader = way->event.data.seq != way->event.data.end_seq ? queue->reader : 0;
	way->asleep = BPF_CORE_READ(task, __state) != 0;
	way->delay_ns = delay_of(task);
}

/* A packet begins with its stamp on arrival; false: it has none, and begins now. */
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

/* From the stamp on arrival to TCP. */
static __always_inline void few_reach(struct path_way *way, struct sock *sk, const struct sk_buff *skb,
				      struct path_mark *now)
{
	if (!few_arrive(way, skb, now))
		return;
	/* It had to wait until nobody used the socket. */
	if (sk->sk_lock.owned) {
		now->note = 1;
		way->event.data.hidden |= 1u << PATH_IP;
		path_step(way, PATH_TRANSPORT, now, rx_counts());
		now->note = PATH_NO_NOTE;
	} else {
		path_step(way, PATH_IP, now, rx_counts());
	}
}

/* With its headers, wherever its data begins by now. */
static __always_inline __u32 few_bytes(const struct sk_buff *skb)
{
	return (__u32)(skb->data - skb->head) - skb->network_header + skb->len;
}

/* A packet for this socket; false: nobody asked for it. */
static __always_inline bool few_begin(struct path_way *way, struct sock *sk, struct sk_buff *skb, struct path_mark *now)
{
	struct rx_queue *queue = rx_queue_find(sk);
	struct packet_tcp tcp;
	struct packet packet;

	if (!path_read_headers(&packet, &tcp, skb, skb->network_header) || packet.proto != sk->sk_protocol ||
	    !path_is_chosen(&packet))
		return false;
	/* What was merged into it while it waited is not in its header. */
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
	/* Out of the header: for the acknowledgement that it carries. */
	cpu->skb = way->skb;
	cpu->ack = way->ack;
	tcp_take(ctx, cpu, sk, way);
	/* It had the data already, and will say so in a moment, where it does (path_few_drop_in). */
	if (way->state != PATH_WAY_OPEN || way->number != number)
		return;
	if (bpf_core_field_exists(struct trace_event_raw_kfree_skb___reason, reason))
		cpu->at = number;
	else
		rx_tell(ctx, way, PATH_DROPPED);
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
	own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	tp = tcp_of(sk);
	if (!own || !tp)
		return 0;
	note_write(own, tp, tp->write_seq + (__u32)message->msg_iter.count, true);
	/* Packets are seen when a driver is given them, and may have left TCP long before. */
	if (!own->sent) {
		own->sent = 1;
		own->sent_end = tp->write_seq;
	}
	note_write_hold(own, sk, tp, own->call_end);
	return 0;
}

/* A packet of which the first is seen now; NULL: nobody asked for it, or it was seen before. */
static __always_inline struct path_way *few_begin_out(void *ctx, struct sk_buff *skb, struct sock *sk,
						      const struct packet *packet, const struct packet_tcp *tcp)
{
	struct path_mark now = path_now(PATH_PROCESS), left = now;
	struct tx_sock *own = bpf_sk_storage_get(&path_tx_sock, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
	struct path_way *way;

	/* The same packet at an interface that stands on another. */
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

/* A driver is given the packet, or it is thrown away before. */
static __always_inline void few_leave(__u64 *ctx, struct sk_buff *skb, struct sock *sk, bool dropped)
{
	struct packet_tcp tcp;
	struct packet packet;
	struct path_way *way;

	/* In a tunnel it is another packet's data. */
	if (!path_read_headers(&packet, &tcp, skb, skb->network_header) || packet.proto != IPPROTO_TCP)
		return;
	way = few_begin_out(ctx, skb, sk, &packet, &tcp);
	if (!way)
		return;
	way->state = PATH_WAY_SENT;
	if (dropped)
		way->event.data.reason = path_drop_reason(ctx);
	if (dropped || !tcp.bytes)
		tx_tell(ctx, way, dropped ? PATH_DROPPED : PATH_DELIVERED);
}

/* Of those that were made here, and not by another interface. */
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

/* --- thrown away -------------------------------------------------------------------------------------------------- */

/* Before a socket had it: as long as the packet knows where it came. */
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

/* TCP has begun with it and found no use for it. */
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

/* Two programs, since one would be too long for the verifier of Linux 6.1; a packet passes neither but once. */
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
		rx_tell(ctx, way, PATH_DROPPED);
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
