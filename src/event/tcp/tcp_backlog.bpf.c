// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcp.backlog: accept queue length of a listener, at each new connection. A connection dropped at a full queue shows
 * only in the listener's drop counter.
 */
#include "event/tcp/tcp_backlog.h"
#include "event/bpf/fd.bpf.h"
#include "event/bpf/tcp.bpf.h"

EVENT(tcp_backlog, struct tcp_backlog_event)

static __always_inline int queued(void *ctx, struct sock *sk)
{
	struct tcp_backlog_event *e;
	struct tcp_sock *tp;

	e = tcp_backlog_begin();
	if (!e)
		return 0;
	event_set_sock(&tcp_backlog_config, &e->head, sk);
	e->data.backlog = sk->sk_ack_backlog;
	e->data.backlog_max = sk->sk_max_ack_backlog;
	e->data.drops = (__u32)sk->sk_drops.counter;
	e->data.syn_backlog = EVENT_UNKNOWN32;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp)
		e->data.syn_backlog = (__u32)tp->inet_conn.icsk_accept_queue.qlen.counter;
	return tcp_backlog_end(ctx, e);
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(tcp_backlog_ready, struct sock *sk)
{
	if (sk->__sk_common.skc_state != SOCKET_LISTEN || !is_tcp(sk))
		return 0;
	return queued(ctx, sk);
}

/*
 * Before 6.3: where a connection enters the accept queue after its handshake. SYN cookies and Fast Open take another
 * path.
 */
SEC("fexit/inet_csk_complete_hashdance")
int BPF_PROG(tcp_backlog_done, struct sock *sk, struct sock *child, void *request, bool own, struct sock *queued_child)
{
	return queued_child && is_tcp(sk) ? queued(ctx, sk) : 0;
}

/*
 * Where functions cannot be traced otherwise (arm64 before 6.4): the start of what queues the connection. The owner is
 * not known.
 */
SEC("kprobe/inet_csk_reqsk_queue_add")
int BPF_KPROBE(tcp_backlog_call, struct sock *sk)
{
	struct tcp_backlog_event *e;
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;

	if (BPF_CORE_READ(sk, __sk_common.skc_state) != SOCKET_LISTEN || BPF_CORE_READ(sk, sk_protocol) != 6)
		return 0;
	e = tcp_backlog_begin();
	if (!e)
		return 0;
	event_set_found_socket(&tcp_backlog_config, &e->head, sk);
	e->data.backlog = BPF_CORE_READ(sk, sk_ack_backlog) + 1;
	e->data.backlog_max = BPF_CORE_READ(sk, sk_max_ack_backlog);
	e->data.drops = (__u32)BPF_CORE_READ(sk, sk_drops.counter);
	e->data.syn_backlog = (__u32)BPF_CORE_READ(connection, icsk_accept_queue.qlen.counter);
	return tcp_backlog_end(ctx, e);
}
