// SPDX-License-Identifier: GPL-2.0-only
/* Events of TCP connections. */
#include "event/tcp/tcp.h"
#include "event/bpf/tcp.bpf.h"

#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS     4
#define ICSK_TIME_PROBE 5
#define SOCK_DONE       1 /* bit of skc_flags: FIN received */

/* --- tcp.state --- */

EVENT(tcp_state, struct tcp_state_event)

struct state_since {
	__u64 since_ns;
	__u32 state;
	__u32 known;
};
EVENT_SOCK_STORE(tcp_state, since, struct state_since);

static __always_inline int state_changed(void *ctx, struct sock *sk, int oldstate, int newstate, bool is_twin)
{
	struct tcp_state_event *e;
	struct state_since *since;
	__u64 now_ns = bpf_ktime_get_boot_ns(), before_ns = 0;

	if (!is_tcp(sk) || oldstate == newstate)
		return 0;
	since = event_store_get(&tcp_state_since, sk, BPF_SK_STORAGE_GET_F_CREATE);
	if (since) {
		/* The twin reported it first. */
		if (since->known && since->state == (__u32)newstate)
			return 0;
		if (since->known && since->state == (__u32)oldstate)
			before_ns = since->since_ns;
		since->since_ns = now_ns;
		since->state = (__u32)newstate;
		since->known = 1;
	} else if (is_twin) {
		/* The twin could not know that it was reported. */
		return 0;
	}
	e = tcp_state_begin();
	if (!e)
		return 0;
	if (newstate == SOCKET_SYN_SENT || newstate == SOCKET_LISTEN)
		event_set_used_sock(&tcp_state_config, &e->head, sk);
	else
		event_set_sock(&tcp_state_config, &e->head, sk);
	e->data.span_ns = before_ns ? now_ns - before_ns : EVENT_UNKNOWN64;
	e->data.oldstate = (__u8)oldstate;
	e->data.newstate = (__u8)newstate;
	return tcp_state_end(ctx, e);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_state_change, struct sock *sk, int oldstate, int newstate)
{
	return state_changed(ctx, sk, oldstate, newstate, false);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_state_change_twin, struct sock *sk, int oldstate, int newstate)
{
	return state_changed(ctx, sk, oldstate, newstate, true);
}

/* --- tcp.close: the whole life of a connection --- */

EVENT(tcp_close, struct tcp_close_event)

struct tcp_life {
	__u64 born_ns;
	__u32 reported;
	__u32 role;
};
EVENT_SOCK_STORE(tcp_close, life, struct tcp_life);

static __always_inline void set_life(struct tcp_close *data, struct sock *sk)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);

	if (!tp)
		return;
	data->tx_bytes = tp->bytes_sent - tp->bytes_retrans;
	/* The kernel counts a FIN as a byte. */
	data->rx_bytes = tp->bytes_received - (sk->__sk_common.skc_flags >> SOCK_DONE & 1);
	data->srtt_ns = srtt_ns(tp);
	data->min_rtt_ns = min_rtt_ns(tp);
	data->retransmits = tp->total_retrans;
}

static __always_inline int report_life(void *ctx, struct sock *sk, const struct tcp_life *life, int oldstate)
{
	struct tcp_close_event *e = tcp_close_begin();

	if (!e)
		return 0;
	event_set_sock(&tcp_close_config, &e->head, sk);
	e->data.tx_bytes = EVENT_UNKNOWN64;
	e->data.rx_bytes = EVENT_UNKNOWN64;
	e->data.retransmits = EVENT_UNKNOWN32;
	set_life(&e->data, sk);
	e->data.span_ns = EVENT_UNKNOWN64;
	if (life && life->born_ns) {
		e->data.span_ns = bpf_ktime_get_boot_ns() - life->born_ns;
		e->data.role = (__u8)life->role;
	}
	e->data.state = (__u8)oldstate;
	e->data.error = (__u32)sk->sk_err;
	return tcp_close_end(ctx, e);
}

static __always_inline int life_changed(void *ctx, struct sock *sk, int oldstate, int newstate, bool is_twin)
{
	struct tcp_life *life;
	__u64 flags = newstate == SOCKET_CLOSE || newstate == SOCKET_SYN_SENT || newstate == SOCKET_SYN_RECV
			      ? BPF_SK_STORAGE_GET_F_CREATE
			      : 0;

	/* Listeners are not connections, and most state changes do not matter here. */
	if (!flags || !is_tcp(sk) ||
	    (newstate == SOCKET_CLOSE && (oldstate == SOCKET_LISTEN || oldstate == SOCKET_CLOSE)))
		return 0;
	life = event_store_get(&tcp_close_life, sk, flags);
	if (newstate != SOCKET_CLOSE) {
		if (life) {
			life->born_ns = bpf_ktime_get_boot_ns();
			life->reported = 0;
			life->role = newstate == SOCKET_SYN_SENT ? TCP_ROLE_CLIENT : TCP_ROLE_SERVER;
		}
		return 0;
	}
	/* Without storage the twin could not know that it was reported. */
	if (life ? life->reported : is_twin)
		return 0;
	if (life)
		life->reported = 1;
	return report_life(ctx, sk, life, oldstate);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_close_change, struct sock *sk, int oldstate, int newstate)
{
	return life_changed(ctx, sk, oldstate, newstate, false);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(tcp_close_change_twin, struct sock *sk, int oldstate, int newstate)
{
	return life_changed(ctx, sk, oldstate, newstate, true);
}

/* --- tcp.retransmit --- */

EVENT(tcp_retransmit, struct tcp_retransmit_event)

static __always_inline __u8 retransmit_kind(const struct tcp_sock *tp, __u8 state)
{
	__u8 congestion = BPF_CORE_READ_BITFIELD(tp, inet_conn.icsk_ca_state);

	if (state == SOCKET_SYN_SENT)
		return TCP_RETRANSMIT_SYN;
	if (congestion == TCP_CA_LOSS)
		return TCP_RETRANSMIT_TIMEOUT;
	/* The probe timer may still run when ACKs show a loss; it is not set during loss recovery. */
	if (congestion != TCP_CA_RECOVERY && tp->inet_conn.icsk_pending == ICSK_TIME_PROBE)
		return TCP_RETRANSMIT_PROBE;
	return TCP_RETRANSMIT_FAST;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(tcp_retransmit_skb, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_retransmit_event *e = tcp_retransmit_begin();
	struct tcp_skb_cb *segment;
	struct tcp_sock *tp;

	if (!e)
		return 0;
	event_set_sock(&tcp_retransmit_config, &e->head, sk);
	e->data.state = sk->__sk_common.skc_state;
	e->data.bytes = skb->len;
	segment = (struct tcp_skb_cb *)skb->cb;
	e->data.seq = BPF_CORE_READ(segment, seq);
	e->data.segs = BPF_CORE_READ(segment, tcp_gso_segs);
	/* Newer kernels report the transmit error. */
	if (bpf_core_field_exists(struct trace_event_raw_tcp_retransmit_skb___error, err))
		e->data.error = (__u32) - (int)ctx[2];
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp) {
		e->data.kind = retransmit_kind(tp, e->data.state);
		e->data.cwnd = tp->snd_cwnd;
		e->data.srtt_ns = srtt_ns(tp);
	}
	return tcp_retransmit_end(ctx, e);
}

/* A request socket: the addresses are in the request, the owner is the listener's. */
SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(tcp_retransmit_synack, struct sock *listener, struct request_sock *request)
{
	struct tcp_retransmit_event *e = tcp_retransmit_begin();

	if (!e)
		return 0;
	event_set_sock(&tcp_retransmit_config, &e->head, listener);
	if (tcp_retransmit_config.needs & EVENT_NEED_ENDPOINTS)
		(void)event_set_endpoints(&e->head, &request->__req_common);
	/* Cookie of the listener: the connection has none yet. */
	e->head.cookie = 0;
	e->data.kind = TCP_RETRANSMIT_SYNACK;
	e->data.segs = 1;
	e->data.state = SOCKET_NEW_SYN_RECV;
	return tcp_retransmit_end(ctx, e);
}
