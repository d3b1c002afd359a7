// SPDX-License-Identifier: GPL-2.0-only
/* Receive queues: their fill level at each arrival, and overflows. Mostly in softirqs. */
#include "event/sock/sock_queue.h"
#include "event/bpf/fd.bpf.h"

#define ENOMEM         12
#define SK_MEM_SEND    0
#define UDP_HEADER_LEN 8

/* --- sock.queued --- */

EVENT(sock_queued, struct sock_queued_event)

static __always_inline void set_queue(struct sock_queued *queue, __u32 waiting, __u32 limit)
{
	queue->recvq_bytes = waiting;
	queue->rcvbuf = limit;
	queue->full = limit ? (__u32)((__u64)waiting * 100 / limit) : EVENT_UNKNOWN32;
}

static __always_inline int queued(void *ctx, struct sock *sk)
{
	struct sock_queued_event *e;

	/* For a listener, a connection arrived. */
	if (sk->__sk_common.skc_state == SOCKET_LISTEN)
		return 0;
	e = sock_queued_begin();
	if (!e)
		return 0;
	event_set_sock(&sock_queued_config, &e->head, sk);
	set_queue(&e->data, (__u32)sk->sk_backlog.rmem_alloc.counter, (__u32)sk->sk_rcvbuf);
	return sock_queued_end(ctx, e);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(sock_queued_ready, struct sock *sk)
{
	return queued(ctx, sk);
}

/* This tracepoint exists since 6.4. */
SEC("fentry/sock_def_readable")
int BPF_PROG(sock_queued_readable, struct sock *sk)
{
	return queued(ctx, sk);
}

/* Where functions cannot be traced otherwise (arm64 before 6.4): the owner is not known. */
SEC("kprobe/sock_def_readable")
int BPF_KPROBE(sock_queued_call, struct sock *sk)
{
	struct sock_queued_event *e;

	if (BPF_CORE_READ(sk, __sk_common.skc_state) == SOCKET_LISTEN)
		return 0;
	e = sock_queued_begin();
	if (!e)
		return 0;
	event_set_found_socket(&sock_queued_config, &e->head, sk);
	set_queue(&e->data, (__u32)BPF_CORE_READ(sk, sk_backlog.rmem_alloc.counter),
		  (__u32)BPF_CORE_READ(sk, sk_rcvbuf));
	return sock_queued_end(ctx, e);
}

/* --- sock.overflow --- */

EVENT(sock_overflow, struct sock_overflow_event)

static __always_inline int overflowed(void *ctx, struct sock *sk, __u8 reason)
{
	struct sock_overflow_event *e = sock_overflow_begin();

	if (!e)
		return 0;
	event_set_sock(&sock_overflow_config, &e->head, sk);
	e->data.reason = reason;
	e->data.recvq_bytes = (__u32)sk->sk_backlog.rmem_alloc.counter;
	e->data.rcvbuf = (__u32)sk->sk_rcvbuf;
	e->data.sendq_bytes = (__u32)sk->sk_wmem_queued;
	e->data.sndbuf = (__u32)sk->sk_sndbuf;
	return sock_overflow_end(ctx, e);
}

SEC("tp_btf/sock_rcvqueue_full")
int BPF_PROG(sock_overflow_queue, struct sock *sk, struct sk_buff *skb)
{
	return overflowed(ctx, sk, SOCK_LIMIT_RECEIVE_QUEUE);
}

SEC("tp_btf/sock_exceed_buf_limit")
int BPF_PROG(sock_overflow_memory, struct sock *sk, struct proto *protocol, long allocated, int kind)
{
	return overflowed(ctx, sk, kind == SK_MEM_SEND ? SOCK_LIMIT_MEMORY_SEND : SOCK_LIMIT_MEMORY_RECEIVE);
}

static __always_inline __u8 udp_limit(int result)
{
	return result == -ENOMEM ? SOCK_LIMIT_RECEIVE_QUEUE : SOCK_LIMIT_MEMORY_RECEIVE;
}

SEC("tp_btf/udp_fail_queue_rcv_skb")
int BPF_PROG(sock_overflow_udp, int result, struct sock *sk)
{
	return overflowed(ctx, sk, udp_limit(result));
}

/* --- udp.drop --- */

EVENT(udp_drop, struct udp_drop_event)

struct udp_ports {
	__be16 source;
	__be16 dest;
	__be16 len;
};

/* The packet has the sender's address, also for unconnected sockets. */
static __always_inline void set_sender(struct udp_drop_event *e, struct sk_buff *skb)
{
	unsigned char *head = BPF_CORE_READ(skb, head);
	unsigned char *ip = head + BPF_CORE_READ(skb, network_header);
	struct udp_ports ports = {};
	__u32 six[4];
	__be32 four;

	bpf_probe_read_kernel(&ports, sizeof(ports), head + BPF_CORE_READ(skb, transport_header));
	e->head.rport = bpf_ntohs(ports.source);
	if (bpf_ntohs(ports.len) >= UDP_HEADER_LEN)
		e->data.bytes = bpf_ntohs(ports.len) - UDP_HEADER_LEN;
	if (BPF_CORE_READ(skb, protocol) == bpf_htons(0x0800)) {
		bpf_probe_read_kernel(&four, sizeof(four), ip + 12);
		event_set_v4(&e->head.raddr, four);
	} else {
		bpf_probe_read_kernel(six, sizeof(six), ip + 8);
		event_set_v6(&e->head.raddr, six);
	}
}

SEC("tp_btf/udp_fail_queue_rcv_skb")
int BPF_PROG(udp_drop_queue, int result, struct sock *sk)
{
	struct udp_drop_event *e = udp_drop_begin();

	if (!e)
		return 0;
	event_set_sock(&udp_drop_config, &e->head, sk);
	e->data.recvq_bytes = (__u32)sk->sk_backlog.rmem_alloc.counter;
	e->data.rcvbuf = (__u32)sk->sk_rcvbuf;
	e->data.reason = udp_limit(result);
	e->data.bytes = EVENT_UNKNOWN32;
	/* Since 6.10 the tracepoint also passes the packet. */
	if (bpf_core_field_exists(struct trace_event_raw_udp_fail_queue_rcv_skb___packet, family))
		set_sender(e, (struct sk_buff *)ctx[2]);
	return udp_drop_end(ctx, e);
}
